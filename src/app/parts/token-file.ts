import { readFile } from 'node:fs/promises';
import { TokenFileAuthenticator } from '../../access/authenticators/token-file.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Boot } from './boot.ts';

/** The authenticator of a file of tokens. @throws {Error} when the file cannot be read or is invalid */
export async function openTokenFile({ log }: Boot, path: string): Promise<TokenFileAuthenticator> {
  return TokenFileAuthenticator.open({
    read: () => readFile(path, 'utf8'),
    clock: systemClock,
    onProblem: (message) => log.error({ message }, 'token file rejected; keeping the current tokens'),
  });
}
