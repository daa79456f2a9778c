import { damaged, QueryError } from '../errors.ts';
import { ROW_KERNEL } from '../scanner/kernel.ts';

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const COMMA = 0x2c;

/**
 * Rows as JSON lines. Each byte of the rows becomes one byte of a line: the comma between two rows becomes a line feed. The last line has no
 * line feed.
 * @param rows stored bytes that begin with a row
 */
export async function* jsonLines(rows: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  const walk = ROW_KERNEL.walk();
  /** Held back, because the comma before the first row of the next piece may be at its end. */
  let before: Buffer | undefined;
  for await (const piece of rows) {
    // A copy, because the store may still use the bytes.
    const bytes = Buffer.from(piece);
    replaceLineBreaks(bytes);
    const held = before;
    walk.scan(bytes, 1, (row, offset) => {
      if (row > 0 && !endLine(bytes, offset) && (held === undefined || !endLine(held, held.length)))
        throw damaged('a comma between two rows is missing');
    });
    if (before !== undefined) yield before;
    before = bytes;
  }
  if (before !== undefined) yield before;
}

/** Replaces the comma before `end` by a line feed. @returns false if there is only white space before it */
function endLine(bytes: Buffer, end: number): boolean {
  let at = end - 1;
  while (at >= 0 && (bytes[at] === SPACE || bytes[at] === TAB)) at--;
  if (at < 0 || bytes[at] !== COMMA) return false;
  bytes[at] = LINE_FEED;
  return true;
}

/** Line breaks in stored rows are white space between values, because JSON does not allow them in strings. */
function replaceLineBreaks(bytes: Buffer): void {
  for (const byte of [LINE_FEED, CARRIAGE_RETURN]) {
    for (let at = bytes.indexOf(byte); at >= 0; at = bytes.indexOf(byte, at + 1)) bytes[at] = SPACE;
  }
}

/** A row is held whole and converted at once. Larger ones would take the memory of the gateway, and the time of its event loop. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/**
 * Splits JSON lines into pieces of complete lines, each without its last line feed. Only a line that two pieces contain is copied.
 * @param lines from `jsonLines`
 * @throws {QueryError} bad-answer for a line of more than MAX_LINE_BYTES
 */
export async function* completeLines(lines: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  /** The beginning of a row whose end has not arrived. */
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const bytes of lines) {
    const first = bytes.indexOf(LINE_FEED);
    restBytes += first < 0 ? bytes.length : first;
    if (restBytes > MAX_LINE_BYTES) throw tooLong();
    if (first < 0) {
      rest.push(bytes);
      continue;
    }
    const last = bytes.lastIndexOf(LINE_FEED);
    yield Buffer.concat([...rest, bytes.subarray(0, first)]);
    if (first < last) yield bytes.subarray(first + 1, last);
    rest = [bytes.subarray(last + 1)];
    restBytes = bytes.length - last - 1;
  }
  const last = Buffer.concat(rest);
  if (last.length > 0) yield last;
}

function tooLong(): QueryError {
  return new QueryError(
    'bad-answer',
    `the result has a row of more than ${MAX_LINE_BYTES} bytes, which can be read only as JSON lines (\`format=jsonl\`) or in pages`,
  );
}
