import { damaged } from '../errors.ts';
import { RowWalk } from '../scanner/row-walk.ts';

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const COMMA = 0x2c;

/** White space between two rows, in bytes, within which the comma is found. Engines write none. */
export const MAX_SPACE_BYTES = 1024 * 1024;

/**
 * Rows as JSON lines. Each byte of the rows becomes one byte of a line: the comma between two rows becomes a line feed. The last line has no
 * line feed.
 * @param rows stored bytes that begin with a row
 * @throws {QueryError} damaged where there is no comma in the MAX_SPACE_BYTES before a row
 */
export async function* jsonLines(rows: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  const walk = new RowWalk();
  /** Held back, because the comma before the next row may be at the end of the first one. The others are white space. */
  let held: Buffer[] = [];
  let spaceBytes = 0;
  for await (const piece of rows) {
    // A copy, because the store may still use the bytes.
    const bytes = Buffer.from(piece);
    replaceLineBreaks(bytes);
    walk.scan(bytes, 1, (row, offset) => {
      if (row > 0 && !endLine(held, bytes, offset)) throw damaged('a comma between two rows is missing');
    });
    const isSpace = endOfText(bytes, bytes.length) === 0;
    spaceBytes = isSpace ? spaceBytes + bytes.length : 0;
    if (!isSpace || spaceBytes > MAX_SPACE_BYTES) {
      yield* held;
      held = [];
    }
    held.push(bytes);
  }
  yield* held;
}

/** Replaces the comma before a row by a line feed. @param end start of the row in `bytes` @returns false if there is none */
function endLine(held: readonly Buffer[], bytes: Buffer, end: number): boolean {
  let from = bytes;
  let at = endOfText(from, end);
  for (let i = held.length - 1; at === 0 && i >= 0; i--) {
    from = held[i] as Buffer;
    at = endOfText(from, from.length);
  }
  if (from[at - 1] !== COMMA) return false;
  from[at - 1] = LINE_FEED;
  return true;
}

/** The offset after the last byte before `end` that is not white space; 0 where there is none. */
function endOfText(bytes: Buffer, end: number): number {
  let at = end;
  while (at > 0 && (bytes[at - 1] === SPACE || bytes[at - 1] === TAB)) at--;
  return at;
}

/** Line breaks in stored rows are white space between values, because JSON does not allow them in strings. */
function replaceLineBreaks(bytes: Buffer): void {
  for (const byte of [LINE_FEED, CARRIAGE_RETURN]) {
    for (let at = bytes.indexOf(byte); at >= 0; at = bytes.indexOf(byte, at + 1)) bytes[at] = SPACE;
  }
}
