import { readFile } from 'node:fs/promises';
import { EngineError } from './types.ts';

/** The gateway's own credential for the engine. */
export interface EngineCredential {
  /** Value of the `Authorization` header, or undefined for none; without waiting once it is known. */
  header(): string | undefined | Promise<string | undefined>;
  /** Told that the engine refused the credential: it is read again before the next use. */
  refused(): void;
}

/** A credential that is kept in a file. */
export interface FileCredential extends EngineCredential {
  /** As the file has it now, within ten seconds: for calls that are so rare that the one known would be that of the last time. @throws {EngineError} where it never could be read */
  current(): Promise<string>;
}

export const NO_CREDENTIAL: EngineCredential = { header: () => undefined, refused: () => undefined };

/** A rotated Secret is seen after this long at the latest; reading a small local file more often would gain nothing. */
const RE_READ_MS = 10_000;
/** A 401 may be about anything: it does not make every request read the file. */
const RE_READ_AFTER_REFUSAL_MS = 1_000;

/**
 * A credential kept in a file, such as a mounted Secret: `Basic …`, `Bearer …`, `user:password` (sent as Basic) or a bare token (sent as Bearer).
 * It is read again as it ages and when the engine refuses it; a file that cannot be read any more leaves the last credential in use.
 * @param now milliseconds of a clock that never goes back
 * @param onProblem told, without the credential, when a later reading fails
 */
export function credentialFromFile(
  path: string,
  now: () => number,
  onProblem: (message: string) => void = () => undefined,
): FileCredential {
  let value: string | undefined;
  let readAt = 0;
  let reading: Promise<string> | undefined;

  const read = async (): Promise<string> => {
    try {
      value = authorizationOf(await readFile(path, 'utf8'), path);
      return value;
    } finally {
      readAt = now();
      reading = undefined;
    }
  };
  const start = (): Promise<string> => (reading ??= read());
  const tell = (error: unknown): void => onProblem((error as Error).message);

  return {
    header() {
      if (value === undefined) return start();
      if (now() - readAt >= RE_READ_MS) start().catch(tell);
      return value;
    },
    async current() {
      const known = value;
      if (known === undefined) return start();
      if (now() - readAt < RE_READ_MS) return known;
      return start().catch((error: unknown) => {
        tell(error);
        return known;
      });
    },
    refused() {
      if (now() - readAt < RE_READ_AFTER_REFUSAL_MS) return;
      start().catch(tell);
    },
  };
}

function authorizationOf(content: string, path: string): string {
  const text = content.trim();
  if (text === '' || /[\r\n]/.test(text)) {
    throw new EngineError(
      'bad-answer',
      `the engine's credential file \`${path}\` must hold one line: \`Basic …\`, \`Bearer …\`, \`user:password\` or a token`,
    );
  }
  if (/^(?:basic|bearer) /i.test(text)) return text;
  return text.includes(':') ? `Basic ${Buffer.from(text).toString('base64')}` : `Bearer ${text}`;
}
