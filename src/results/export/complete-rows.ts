import { QueryError } from '../errors.ts';
import { RowWalk } from '../scanner/row-walk.ts';

/** A row is held whole and converted at once. Larger ones would take the memory of the gateway, and the time of its event loop. */
const MAX_ROW_BYTES = 8 * 1024 * 1024;

/**
 * Splits rows into pieces of complete rows, each row with the comma after it. Only a row that two pieces contain is copied: the others are views of
 * the stored bytes, valid until the next piece is read.
 * @param rows stored bytes that begin with a row
 * @throws {QueryError} bad-response for bytes that are not rows of JSON, and for a row of more than MAX_ROW_BYTES
 */
export async function* completeRows(rows: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const walk = new RowWalk();
  /** The beginning of a row whose end has not arrived. */
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (const bytes of rows) {
    let first = -1;
    let last = -1;
    walk.scan(bytes, 1, (_row, offset) => {
      if (first < 0) first = offset;
      last = offset;
    });
    restBytes += first < 0 ? bytes.length : first;
    if (restBytes > MAX_ROW_BYTES) throw tooLong();
    if (first < 0) {
      // A copy, because the store may use the bytes again.
      rest.push(Buffer.from(bytes));
      continue;
    }
    if (restBytes > 0) yield Buffer.concat([...rest, bytes.subarray(0, first)]);
    if (first < last) yield bytes.subarray(first, last);
    rest = [Buffer.from(bytes.subarray(last))];
    restBytes = bytes.length - last;
  }
  if (restBytes > 0) yield Buffer.concat(rest);
}

function tooLong(): QueryError {
  return new QueryError(
    'bad-response',
    `the result has a row of more than ${MAX_ROW_BYTES} bytes, which can be read only as JSON lines (\`format=jsonl\`) or in pages`,
  );
}
