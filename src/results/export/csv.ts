import { isString, rawValues, textOf } from './raw-values.ts';

const LINE_END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * CSV (RFC 4180) in UTF-8. Numbers keep the engine's spelling, arrays and objects are JSON, null is an empty field, and an empty string is
 * `""`. Downloads resume by bytes: a change of these rules needs another ETag.
 */
export function csvHeader(columnNames: readonly string[]): Buffer {
  return Buffer.from(columnNames.map(quoted).join(',') + LINE_END);
}

/** @param rows texts of JSON arrays */
export function csvRows(rows: readonly string[]): Buffer {
  let text = '';
  for (const row of rows) text += rawValues(row).map(fieldOf).join(',') + LINE_END;
  return Buffer.from(text);
}

function fieldOf(raw: string): string {
  if (isString(raw)) return raw === '""' ? raw : quoted(textOf(raw));
  return raw === 'null' ? '' : quoted(raw);
}

function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
