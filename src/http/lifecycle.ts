import type { Logger } from 'pino';

/** What has to be ended, in the reverse order of its beginning. */
export class Closers {
  readonly #log: Logger;
  readonly #closers: { readonly name: string; readonly close: () => unknown }[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** `close` is called once, after everything that is deferred later has ended. */
  defer(name: string, close: () => unknown): void {
    this.#closers.push({ name, close });
  }

  /** Ends everything; what fails is logged and does not keep the rest. */
  async closeAll(): Promise<void> {
    for (let next = this.#closers.pop(); next; next = this.#closers.pop()) {
      try {
        await next.close();
      } catch (error) {
        this.#log.error({ err: error, part: next.name }, 'a part did not end well');
      }
    }
  }
}

export interface EndSignals {
  /** Resolves with the name of the first signal that asks the process to end. */
  readonly ended: Promise<NodeJS.Signals>;
  /** Stops listening; signals then do what they do to any process. */
  release(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Listens for SIGINT and SIGTERM. The first one asks for a graceful end; a second one ends the process at once, by the exit code that a shell gives such an end.
 * @param exit ends the process
 */
export function endSignals(target: NodeJS.EventEmitter, exit: (code: number) => void): EndSignals {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let asked = false;
  const codes: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 };
  const onSignal = (name: NodeJS.Signals): void => {
    if (asked) exit(codes[name] ?? 1);
    asked = true;
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
