import { readFile } from 'node:fs/promises';
import { errorMessage } from '../platform/plain-error.ts';
import type { MonotonicClock } from '../platform/clock.ts';
import { EngineError } from './types.ts';

/** The gateway's own credential for Pinot. */
export interface EngineCredential {
  /** Value of the `Authorization` header; undefined if no credential is configured. Synchronous once the value is known. */
  header(): string | undefined | Promise<string | undefined>;
  /** Reports that Pinot rejected the credential: it is read again before the next use. */
  refused(): void;
}

/** A credential read from a file. */
export interface FileCredential extends EngineCredential {
  /** The file's content, at most ten seconds old. For infrequent calls, where the cached value could be very old. @throws {EngineError} if the file was never read successfully */
  current(): Promise<string>;
}

export const NO_CREDENTIAL: EngineCredential = { header: () => undefined, refused: () => undefined };

/** Maximum delay until a rotated Secret is used. */
const RE_READ_MS = 10_000;
/** A 401 may have other reasons, so not every 401 causes a read. */
const RE_READ_AFTER_REFUSAL_MS = 1_000;

/**
 * A credential kept in a file, such as a mounted Secret: `Basic …`, `Bearer …`, `user:password` (sent as Basic) or a bare token (sent as Bearer).
 * The file is read again periodically and when Pinot rejects the credential. If reading fails, the last credential stays in use.
 * @param onProblem called with a message (without the credential) when a later read fails
 */
export function credentialFromFile(
  path: string,
  clock: MonotonicClock,
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
      readAt = clock.monotonic();
      reading = undefined;
    }
  };
  const startReading = (): Promise<string> => (reading ??= read());
  const reportProblem = (error: unknown): void => onProblem(errorMessage(error));

  return {
    header() {
      if (value === undefined) return startReading();
      if (clock.monotonic() - readAt >= RE_READ_MS) startReading().catch(reportProblem);
      return value;
    },
    async current() {
      const known = value;
      if (known === undefined) return startReading();
      if (clock.monotonic() - readAt < RE_READ_MS) return known;
      return startReading().catch((error: unknown) => {
        reportProblem(error);
        return known;
      });
    },
    refused() {
      if (clock.monotonic() - readAt < RE_READ_AFTER_REFUSAL_MS) return;
      startReading().catch(reportProblem);
    },
  };
}

function authorizationOf(content: string, path: string): string {
  const text = content.trim();
  if (text === '' || /[\r\n]/.test(text)) {
    throw new EngineError(
      'bad-response',
      `the engine's credential file \`${path}\` must contain one line: \`Basic …\`, \`Bearer …\`, \`user:password\` or a token`,
    );
  }
  if (/^(?:basic|bearer) /i.test(text)) return text;
  return text.includes(':') ? `Basic ${Buffer.from(text).toString('base64')}` : `Bearer ${text}`;
}
