import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { WAIT_LIMIT_MS } from '../limits.ts';

export interface CommandResult {
  /** -1 when a signal ended it, which the time limit does too. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** What the command reads from its standard input; nothing by default. */
  readonly input?: string;
  /** {@link WAIT_LIMIT_MS} and what the command needs besides, by default. */
  readonly timeoutMs?: number;
  /** Besides those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end. A failure is a result. @throws {Error} if it cannot be started */
export async function runCommand(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const [file, ...args] = command;
  if (file === undefined) throw new Error('the command is empty');
  const child = spawn(file, args, {
    env: { ...process.env, ...options.env },
    timeout: options.timeoutMs ?? WAIT_LIMIT_MS + 30_000,
    killSignal: 'SIGKILL',
  });
  child.stdin.on('error', () => {}); // it may end before it has read everything; its exit code is used
  child.stdin.end(options.input ?? '');
  const closed = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? -1));
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}
