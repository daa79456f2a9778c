import type { CheckContext } from '../app/check.ts';

/** A command after the name of another one. */
export interface Subcommand {
  readonly usage: string;
  /** @returns the exit code, or `help` for `--help` @throws {Error} usage error, or what cannot be read */
  readonly run: (context: CheckContext) => Promise<number | 'help'>;
}
