import { isString, rawValues, textOf } from './raw-values.ts';

const LINE_END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * Rows as CSV (RFC 4180) in UTF-8 with a header row. Numbers keep the engine's spelling, arrays and objects are JSON, null is an empty
 * field, and an empty string is `""`.
 */
export async function* csv(
  columnNames: readonly string[],
  rows: AsyncIterable<readonly string[]>,
): AsyncIterable<Buffer> {
  yield Buffer.from(columnNames.map(quoted).join(',') + LINE_END);
  for await (const batch of rows) {
    let text = '';
    for (const row of batch) text += rawValues(row).map(fieldOf).join(',') + LINE_END;
    yield Buffer.from(text);
  }
}

function fieldOf(raw: string): string {
  if (isString(raw)) return raw === '""' ? raw : quoted(textOf(raw));
  return raw === 'null' ? '' : quoted(raw);
}

function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
