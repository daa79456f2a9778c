import { pino, type DestinationStream, type Logger } from 'pino';
import { withoutCredentials } from './credentials-in-text.ts';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Fields of a record that could contain a credential. Nothing logs one on purpose; this is a second safeguard. */
const SECRET_FIELDS = ['authorization', 'cookie', 'password', 'secretKey', 'bearerToken', 'token', 'set-cookie'];
const REDACTED_PATHS = SECRET_FIELDS.flatMap((field) => {
  const key = /^\w+$/.test(field) ? `.${field}` : `["${field}"]`;
  return [key.replace(/^\./, ''), `*${key}`, `*.*${key}`];
});

/** Characters that JSON leaves as they are, and that some terminals and programs take for commands or line ends. */
const UNESCAPED = /[\u007f-\u009f\u2028\u2029]/g;
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** One record without credentials, in which the texts of callers are harmless to the terminal of a reader. */
const harmless = (record: string): string => withoutCredentials(record).replace(UNESCAPED, escaped);

/** JSON lines on stdout, with named levels and ISO 8601 times. Values that look like a credential are removed. */
export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
      hooks: { streamWrite: harmless },
    },
    destination,
  );
}
