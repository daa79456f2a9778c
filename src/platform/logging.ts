import { pino, type DestinationStream, type Logger } from 'pino';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Where a credential could stand in a record. What is logged on purpose never holds one: this is the second line of defence. */
const SECRET_FIELDS = ['authorization', 'cookie', 'password', 'secretKey', 'bearerToken', 'token', 'set-cookie'];
const REDACTED_PATHS = SECRET_FIELDS.flatMap((field) => {
  const key = /^\w+$/.test(field) ? `.${field}` : `["${field}"]`;
  return [key.replace(/^\./, ''), `*${key}`, `*.*${key}`];
});

/** JSON lines on stdout, with a level by name and times in ISO 8601; whatever looks like a credential is blanked out. */
export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
    },
    destination,
  );
}
