import { Agent, request } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { errorCode, errorMessage } from '../../src/platform/plain-error.ts';
import { sleep, systemClock } from '../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

export interface ClientLoadOptions {
  /** Requested again and again. */
  readonly url: string;
  readonly clients: number;
  /** Whether a client keeps its connection; otherwise each request has a new one. */
  readonly keepAlive: boolean;
  /** Milliseconds between the requests of a client that does not wait for responses; undefined where it waits. */
  readonly everyMs?: number;
  /** Of the server, for `https`. */
  readonly ca?: string;
}

const REFUSED = 'ECONNREFUSED';

/** Clients that send requests without a pause. Each one stops when the server refuses its connection. */
export class ClientLoad {
  /** The requests by the status of a response that arrived whole, or by the error. */
  readonly outcomes = new Map<string, number>();
  /** Resolves when all clients have stopped. */
  readonly ended: Promise<unknown>;
  readonly #options: ClientLoadOptions;
  readonly #end = systemClock.monotonic() + WAIT_LIMIT_MS;

  constructor(options: ClientLoadOptions) {
    this.#options = options;
    this.ended = Promise.all(Array.from({ length: options.clients }, () => this.#run()));
  }

  /** Requests with a whole response. */
  get served(): number {
    return this.#sum((outcome) => /^\d{3}$/.test(outcome));
  }

  /** Requests with neither a whole response nor a refused connection, by the error. */
  get failed(): readonly string[] {
    return [...this.outcomes.keys()].filter((outcome) => outcome !== REFUSED && !/^\d{3}$/.test(outcome));
  }

  #sum(isCounted: (outcome: string) => boolean): number {
    let sum = 0;
    for (const [outcome, count] of this.outcomes) if (isCounted(outcome)) sum += count;
    return sum;
  }

  async #run(): Promise<void> {
    const { url, keepAlive, everyMs, ca } = this.#options;
    const agent = url.startsWith('https:') ? new TlsAgent({ keepAlive, ca }) : new Agent({ keepAlive });
    const open = new Set<Promise<void>>();
    const refused = new AbortController();
    while (!refused.signal.aborted && systemClock.monotonic() < this.#end) {
      const sent = this.#send(agent).then((outcome) => {
        this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
        open.delete(sent);
        if (outcome === REFUSED) refused.abort();
      });
      open.add(sent);
      await (everyMs === undefined ? sent : sleep(systemClock, everyMs, undefined));
    }
    await Promise.all(open);
    agent.destroy();
  }

  #send(agent: Agent): Promise<string> {
    const { url } = this.#options;
    const { promise, resolve } = Promise.withResolvers<string>();
    const fail = (error: Error): void => resolve(String(errorCode(error) ?? errorMessage(error)));
    const send = url.startsWith('https:') ? tlsRequest : request;
    const sent = send(url, { agent, timeout: WAIT_LIMIT_MS }, (response) => {
      response.once('end', () => resolve(String(response.statusCode))).once('error', fail);
      response.resume();
    });
    sent.once('timeout', () => sent.destroy(new Error('time-out')));
    sent.on('error', fail).end();
    return promise;
  }
}
