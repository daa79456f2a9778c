import { execFile, type ExecFileOptions } from 'node:child_process';
import { promisify } from 'node:util';
import { WAIT_LIMIT_MS } from './limits.ts';

/** What a program printed. */
export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program to its end, for two minutes at most unless `options` has another `timeout`.
 * @throws {Error} as `execFile`, with exit code and output; after the time-out with the command
 */
export async function execute(
  file: string,
  args: readonly string[] = [],
  options: ExecFileOptions = {},
): Promise<Output> {
  const timeout = options.timeout ?? WAIT_LIMIT_MS;
  try {
    return await promisify(execFile)(file, args, { ...options, timeout, encoding: 'utf8' });
  } catch (error) {
    const { killed, signal } = error as { killed?: boolean; signal?: string };
    if (killed !== true || signal !== (options.killSignal ?? 'SIGTERM')) throw error;
    throw new Error(`not within ${timeout / 1000} s: the end of \`${[file, ...args].join(' ').slice(0, 200)}\``, {
      cause: error,
    });
  }
}
