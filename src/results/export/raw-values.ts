const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Splits a JSON array into its values without parsing them, so that numbers keep every digit.
 * @param array valid JSON
 * @throws {TypeError} if it is not an array
 */
export function rawValues(array: string): string[] {
  const values: string[] = [];
  const start = afterSpace(array, 0);
  if (array.charCodeAt(start) !== OPEN_ARRAY) throw new TypeError('the value is not an array');
  let at = afterSpace(array, start + 1);
  while (array.charCodeAt(at) !== CLOSE_ARRAY) {
    const end = endOfValue(array, at);
    values.push(array.slice(at, end));
    at = afterSpace(array, end);
    if (array.charCodeAt(at) === COMMA) at = afterSpace(array, at + 1);
    else if (at >= array.length) throw new TypeError('the array is not valid JSON');
  }
  return values;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= SPACE) at++;
  return at;
}

function endOfValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === QUOTE) return afterString(text, from);
  if (first === OPEN_ARRAY || first === OPEN_OBJECT) return afterBrackets(text, from);
  let at = from;
  for (let code = first; code > SPACE && code !== COMMA && code !== CLOSE_ARRAY; code = text.charCodeAt(at)) at++;
  return at;
}

/** Offset after the closing quote. */
function afterString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

function afterBrackets(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = afterString(text, at) - 1;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) depth++;
    else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

/** The text of a JSON string; other values as they are written. */
export function textOf(raw: string): string {
  if (!isString(raw)) return raw;
  return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
}

/** @param raw JSON of a value */
export function isString(raw: string): boolean {
  return raw.charCodeAt(0) === QUOTE;
}
