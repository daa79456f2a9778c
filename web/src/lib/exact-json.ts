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

/** RFC 4180; a text that a spreadsheet would run as a formula is set off by an apostrophe. */
export function toCsv(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const field = (cell: Cell): string => {
    const text =
      cell.kind === 'text' && /^[=+\-@\t\r]/.test(cell.text) ? `'${cell.text}` : cell.kind === 'null' ? '' : cell.text;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map((name) => field({ text: name, kind: 'text' })).join(',')];
  for (const row of rows) lines.push(row.map((value) => field(cellOf(value))).join(','));
  return `${lines.join('\r\n')}\r\n`;
}
