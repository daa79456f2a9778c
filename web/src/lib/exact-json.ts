// JSON that keeps numbers exactly as they are written: JSON.parse alone would turn 9007199254740993 into …992.

/** A value of a row: its text and its kind. */
export interface Cell {
  readonly text: string;
  readonly kind: 'number' | 'text' | 'boolean' | 'list' | 'null';
}

/**
 * Parses a cursor response and keeps all digits of its numbers.
 * @throws {SyntaxError} when the text is not JSON
 */
export function parseExact(text: string): unknown {
  return JSON.parse(text, function (this: unknown, _key, value: unknown, context?: { source?: string }) {
    if (typeof value === 'number' && context?.source !== undefined && String(value) !== context.source) {
      return { exact: context.source };
    }
    return value;
  } as (this: unknown, key: string, value: unknown) => unknown);
}

export function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return { text: 'null', kind: 'null' };
  if (typeof value === 'number') return { text: String(value), kind: 'number' };
  if (typeof value === 'boolean') return { text: String(value), kind: 'boolean' };
  if (typeof value === 'string') return { text: value, kind: 'text' };
  if (Array.isArray(value)) return { text: value.map((item) => cellOf(item).text).join(', '), kind: 'list' };
  if (typeof value === 'object' && 'exact' in value) return { text: String(value.exact), kind: 'number' };
  return { text: JSON.stringify(value), kind: 'text' };
}

type Rows = readonly (readonly unknown[])[];

/** Texts that a spreadsheet would execute as a formula. In a list, a minus before a digit belongs to a number. */
const FORMULA = { text: /^[=+\-@\t\r]/, list: /^(?:[=+@\t\r]|-(?!\d))/ };

/** Rows of fields, quoted as in RFC 4180. An apostrophe is put before a text that a spreadsheet would execute as a formula. */
function delimited(columns: readonly string[], rows: Rows, separator: ',' | '\t', lineEnd: string): string {
  const quoted = new RegExp(`["\\r\\n${separator}]`);
  const field = ({ text, kind }: Cell): string => {
    if (kind === 'null') return '';
    const isFormula = (kind === 'text' || kind === 'list') && FORMULA[kind].test(text);
    const safe = isFormula ? `'${text}` : text;
    return quoted.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = [columns.map((name) => field({ text: name, kind: 'text' })).join(separator)];
  for (const row of rows) lines.push(row.map((value) => field(cellOf(value))).join(separator));
  return lines.join(lineEnd) + lineEnd;
}

/** A page as a CSV file. */
export function toCsv(columns: readonly string[], rows: Rows): string {
  return delimited(columns, rows, ',', '\r\n');
}

/** A page for the clipboard, as cells of a spreadsheet. */
export function toTsv(columns: readonly string[], rows: Rows): string {
  return delimited(columns, rows, '\t', '\n');
}
