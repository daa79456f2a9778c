import { execFileSync } from 'node:child_process';
import { WAIT_LIMIT_MS } from '../limits.ts';

/** Why an example cannot run on this machine; undefined if it can. */
export function obstacle(...command: [string, ...string[]]): string | undefined {
  try {
    execFileSync(command[0], command.slice(1), { stdio: 'ignore', timeout: WAIT_LIMIT_MS });
    return undefined;
  } catch {
    return `\`${command.join(' ')}\` does not work on this machine`;
  }
}

/** The programs that the commands of the documentation call. */
export const NO_CURL = obstacle('sh', '-c', 'curl --version && jq --version');

/** For tests that mount a file system. */
export const NOT_ROOT = process.getuid?.() === 0 ? undefined : 'requires root';

/** The name of a test, with the reason if it is skipped: `make test` accepts those of `tools/dev/skips.ts`. */
export const named = (name: string, reason: string | undefined): string =>
  name + (reason ? ` (skipped: ${reason})` : '');
