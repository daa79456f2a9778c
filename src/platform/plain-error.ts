import { isError, PlainCopy, type PlainError } from './plain-copy.ts';

export { isError };

/**
 * What was thrown, as data: type, message, code, status, stack and causes, limited in length and number, without credentials. For the log; it
 * never throws.
 * @param thrown of any type
 */
export function plainError(thrown: unknown): PlainError {
  // Only an error within another one is text.
  return new PlainCopy().error(thrown) as PlainError;
}

/**
 * One text that says what was thrown, for a message, a condition or an Event. Where the error has no message, it is its code or its type. Never
 * throws; limited in length, without credentials.
 * @param thrown of any type
 */
export function errorMessage(thrown: unknown): string {
  return new PlainCopy().message(thrown);
}

/**
 * What was thrown, as an error that can be tested with `instanceof` and whose usual fields can be read. Anything else, such as undefined or a
 * Proxy, is wrapped.
 */
export function asError(thrown: unknown): Error {
  if (isReadable(thrown)) return thrown;
  const { message, code, stack, status } = plainError(thrown);
  return Object.assign(new Error(message), {
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status }),
    ...(stack !== undefined && { stack }),
  });
}

const USUAL_FIELDS = ['name', 'code', 'statusCode', 'stack', 'cause'] as const;

function isReadable(thrown: unknown): thrown is Error {
  // Those of fastify are instances of Error, but not made by its constructor.
  if (!isError(thrown)) return false;
  try {
    for (const field of USUAL_FIELDS) void (thrown as unknown as Record<string, unknown>)[field];
    return typeof thrown.message === 'string' && (thrown as unknown) instanceof Error;
  } catch {
    return false;
  }
}

/** The code of what was thrown, such as that of an error of the operating system; undefined without one. Never throws. */
export function errorCode(thrown: unknown): string | number | undefined {
  try {
    const { code } = (thrown ?? {}) as { code?: unknown };
    return typeof code === 'string' || typeof code === 'number' ? code : undefined;
  } catch {
    return undefined;
  }
}
