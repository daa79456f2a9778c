/** What a command uses of its process. Passed in, so that tests can run commands. */
export interface CommandContext {
  /** Arguments after the command's name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

/** Exit codes: 0 success, 1 failure (or a failed check), 2 usage error. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
