import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';

/** The results of the requests in a period. */
export interface TrafficResult {
  readonly answered: number;
  /** Statuses other than 200, and errors of connections, with their times. */
  readonly failures: readonly string[];
}

export interface TrafficOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Clients at the same time, half of them with a new connection for each request. */
  readonly clients: number;
  /** Between two requests of a client, milliseconds. */
  readonly pauseMs: number;
}

/** Sends the same request again and again, by clients that keep their connections and by others that do not, until it is ended. */
export class Traffic {
  readonly #options: TrafficOptions;
  readonly #running: Promise<unknown>;
  readonly #failures: string[] = [];
  #answered = 0;
  #ended = false;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#running = Promise.all(Array.from({ length: options.clients }, (_, index) => this.#client(index % 2 === 0)));
  }

  async end(): Promise<TrafficResult> {
    this.#ended = true;
    await this.#running;
    return { answered: this.#answered, failures: this.#failures };
  }

  async #client(keepsConnections: boolean): Promise<void> {
    const { url, headers, body, pauseMs } = this.#options;
    const dispatcher = new Agent({ connections: 1, pipelining: keepsConnections ? 1 : 0, headersTimeout: 20_000 });
    try {
      while (!this.#ended) {
        try {
          const answer = await request(url, { method: 'POST', headers, body, dispatcher });
          const text = await answer.body.text();
          if (answer.statusCode === 200) this.#answered++;
          else this.#fail(`${answer.statusCode} ${text.slice(0, 200)}`);
        } catch (error) {
          this.#fail(`${keepsConnections ? 'kept' : 'new'} connection: ${String(error)}`);
        }
        await sleep(pauseMs);
      }
    } finally {
      await dispatcher.destroy();
    }
  }

  #fail(what: string): void {
    this.#failures.push(`${new Date().toISOString()} ${what}`);
  }
}
