import type { Logger } from 'pino';

/** Shutdown steps, run in reverse order of registration. */
export class Closers {
  readonly #log: Logger;
  readonly #closers: { readonly name: string; readonly close: () => unknown }[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Registers a step. It runs once, after all steps registered later have finished. */
  defer(name: string, close: () => unknown): void {
    this.#closers.push({ name, close });
  }

  /** Runs all steps. A failed step is logged, and the others still run. */
  async closeAll(): Promise<void> {
    for (let next = this.#closers.pop(); next; next = this.#closers.pop()) {
      try {
        await next.close();
      } catch (error) {
        this.#log.error({ err: error, part: next.name }, 'shutdown step failed');
      }
    }
  }
}

export interface EndSignals {
  /** Resolves with the name of the first termination signal. */
  readonly ended: Promise<NodeJS.Signals>;
  /** Removes the listeners, which restores the default signal handling. */
  release(): void;
}

/** With their usual exit codes, 128 + number of the signal. */
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
const SIGNALS = Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[];

/**
 * Listens for SIGINT, SIGTERM, and SIGHUP of a terminal that was closed. The first one starts a graceful shutdown; a second one exits at once
 * with its usual code.
 * @param exit exits the process
 */
export function endSignals(target: NodeJS.EventEmitter, exit: (code: number) => void): EndSignals {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let received = false;
  const onSignal = (name: keyof typeof EXIT_CODES): void => {
    if (received) exit(EXIT_CODES[name]);
    received = true;
    resolve(name);
  };
  for (const name of SIGNALS) target.on(name, onSignal);
  return {
    ended: promise,
    release() {
      for (const name of SIGNALS) target.off(name, onSignal);
    },
  };
}
