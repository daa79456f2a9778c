const MAX_LENGTH = 400;
const MAX_INPUT = 32 * 1024;
/** A line of a stack trace, or of its omission. */
const STACK_LINE = /^(?:at |\.\.\.)/u;
/** `SQLParsingError:`, or the name of an exception's class without a message. */
const NAME_ONLY = /^[\w.$]+:?$/u;
const CAUSE = /^Caused by: /u;
/** The package of an exception's class. */
const PACKAGE = /^(?:[a-z][\w]*\.)+(?=[A-Z][\w$]*(?::|$))/u;

/**
 * The lines of an exception of the engine that tell what happened, in one line: the first line with a message, and the last cause. The
 * first line is often only the kind of the error, and the stack trace follows.
 */
export function exceptionText(message: string): string {
  const lines = message
    .slice(0, MAX_INPUT)
    .split(/[\r\n]+/u)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !STACK_LINE.test(line));
  const own = lines.filter((line) => !CAUSE.test(line)).map((line) => line.replace(PACKAGE, ''));
  const named = own.findIndex((line) => !NAME_ONLY.test(line));
  const head = named < 0 ? (own[0] ?? '') : own.slice(0, named + 1).join(' ');
  const cause =
    lines
      .findLast((line) => CAUSE.test(line))
      ?.replace(CAUSE, '')
      .replace(PACKAGE, '') ?? '';
  const isNew = cause !== '' && !head.includes(cause.replace(/^[\w$]+: /u, ''));
  const text = isNew ? `${head.slice(0, MAX_LENGTH / 2)}; caused by ${cause}` : head;
  return text.slice(0, MAX_LENGTH);
}
