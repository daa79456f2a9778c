import { pino, type Bindings, type ChildLoggerOptions, type DestinationStream, type LogFn, type Logger } from 'pino';
import { withoutCredentials } from './credentials-in-text.ts';
import { isError, PlainCopy } from './plain-copy.ts';
import { errorMessage, plainError } from './plain-error.ts';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Characters that JSON leaves as they are, and that some terminals and programs take for commands or line ends. */
const UNESCAPED = /[\u007f-\u009f\u2028\u2029]/g;
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** One record without credentials, in which the texts of callers are harmless to the terminal of a reader. */
const harmless = (record: string): string => withoutCredentials(record).replace(UNESCAPED, escaped);

/**
 * JSON lines on stdout, with named levels and ISO 8601 times. Values that look like a credential are removed. Its methods never throw: they copy
 * what they get as plain data first, and write an error line instead of a record that cannot be written.
 */
export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  const logger = pino(
    {
      level,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      // The error is plain already.
      serializers: { err: (error: unknown) => error },
      hooks: {
        streamWrite: harmless,
        logMethod(parts, method) {
          write(this, method, parts);
        },
      },
    },
    destination,
  );
  const { child: makeChild } = logger as unknown as { readonly child: MakeChild };
  // Children inherit it.
  return Object.assign(logger, {
    child(this: Logger, bindings: Bindings, options?: ChildLoggerOptions): Logger {
      try {
        return makeChild.call(this, new PlainCopy().fields(bindings), options);
      } catch (error) {
        this.error({ err: error }, 'fields of a logger could not be written to the log');
        return this;
      }
    },
  });
}

type MakeChild = (this: Logger, bindings: Bindings, options?: ChildLoggerOptions) => Logger;
type Write = (this: Logger, ...parts: unknown[]) => void;

/** Writes one record. */
function write(logger: Logger, method: LogFn, parts: readonly unknown[]): void {
  const writeParts: Write = method;
  try {
    writeParts.apply(logger, plainParts(parts));
  } catch (error) {
    try {
      writeParts.call(logger, { err: plainError(error) }, 'a record could not be written to the log');
    } catch {
      // The destination itself fails, so nothing can be reported there.
    }
  }
}

/** The arguments of a log method: optional fields or an error, the message, and values for its placeholders. */
function plainParts(parts: readonly unknown[]): unknown[] {
  const [subject, ...rest] = parts;
  const copy = new PlainCopy();
  const plain = (part: unknown): unknown => (typeof part === 'function' ? errorMessage(part) : copy.value(part));
  const texts = rest.map(plain);
  if (typeof subject !== 'object' || subject === null) return [plain(subject), ...texts];
  if (!isError(subject)) return [copy.fields(subject), ...texts];
  const err = plainError(subject);
  return [{ err }, ...(texts.length === 0 ? [err.message] : texts)];
}
