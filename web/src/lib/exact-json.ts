// JSON for people who look at numbers: every scalar of a row is kept as it was written, since JSON.parse would turn
// 9007199254740993 into …992.

/** A value of a row: what to show, and whether it is a number, a text, a list or absent. */
export interface Cell {
  readonly text: string;
  readonly kind: 'number' | 'text' | 'boolean' | 'list' | 'null';
}

/**
 * Parses a cursor response with the digits of its rows untouched.
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

/** What a spreadsheet would run as a formula; in a list a minus before a digit is a number's. */
const FORMULA = { text: /^[=+\-@\t\r]/, list: /^(?:[=+@\t\r]|-(?!\d))/ };

/** Rows of fields, quoted as in RFC 4180; a text that a spreadsheet would run as a formula is set off by an apostrophe. */
function delimited(columns: readonly string[], rows: Rows, separator: ',' | '\t', lineEnd: string): string {
  const quoted = new RegExp(`["\\r\\n${separator}]`);
  const field = ({ text, kind }: Cell): string => {
    if (kind === 'null') return '';
    const runs = (kind === 'text' || kind === 'list') && FORMULA[kind].test(text);
    const safe = runs ? `'${text}` : text;
    return quoted.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = [columns.map((name) => field({ text: name, kind: 'text' })).join(separator)];
  for (const row of rows) lines.push(row.map((value) => field(cellOf(value))).join(separator));
  return lines.join(lineEnd) + lineEnd;
}

/** A page as a file. */
export function toCsv(columns: readonly string[], rows: Rows): string {
  return delimited(columns, rows, ',', '\r\n');
}

/** A page for the clipboard: a spreadsheet takes it as cells. */
export function toTsv(columns: readonly string[], rows: Rows): string {
  return delimited(columns, rows, '\t', '\n');
}
