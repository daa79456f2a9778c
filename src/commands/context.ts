/** What a command gets from the process; handed in, so that tests can run commands in theirs. */
export interface CommandContext {
  /** What follows the command's name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

/** Exit codes: 0 all is well, 1 it went wrong (or a check failed), 2 it was called wrongly. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
