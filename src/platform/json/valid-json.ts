// Parts of JSON that `JsonMachine` has validated. Of other bytes they only promise to end.

/** Bytes with a meaning in JSON. */
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const POINT = 0x2e;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const LETTER_N = 0x6e;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** Offset of the first byte that is not white space. */
export function afterSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  // JSON has no other bytes up to the space outside of strings.
  while ((bytes[at] as number) <= SPACE) at++;
  return at;
}

/** Offset after a value. @param from its first byte */
export function afterValue(bytes: Uint8Array, from: number): number {
  const first = bytes[from];
  if (first === QUOTE) return afterString(bytes, from);
  return first === OPEN_ARRAY || first === OPEN_OBJECT ? afterBrackets(bytes, from) : afterLiteral(bytes, from);
}

/** Offset after a number, `true`, `false` or `null`. */
export function afterLiteral(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let at = from;
  for (; at < length; at++) {
    const byte = bytes[at] as number;
    if (byte <= SPACE || byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) break;
  }
  return at;
}

/** Offset of the first quote or backslash. */
export function afterPlainText(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let at = from;
  while (at < length && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at++;
  return at;
}

/** Offset after the closing quote. */
export function afterString(bytes: Uint8Array, from: number): number {
  let at = afterPlainText(bytes, from + 1);
  while (bytes[at] === BACKSLASH) at = afterPlainText(bytes, at + 2);
  return at + 1;
}

/** Offset after the bracket that closes the one at `from`. */
export function afterBrackets(bytes: Uint8Array, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = afterString(bytes, at) - 1;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++;
    else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && --depth === 0) return at + 1;
  }
  return bytes.length;
}

/** The text of a string. @param start after its opening quote @param end where its closing quote is */
export function tokenText(bytes: Uint8Array, start: number, end: number): string {
  const text = textAt(bytes, start, end);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

/** The characters of some bytes. */
export function textAt(bytes: Uint8Array, from: number, end: number): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return buffer.toString('utf8', from, end);
}

/** The text of a JSON string; other values as they are written. */
export function textOf(raw: string): string {
  if (raw.charCodeAt(0) !== QUOTE) return raw;
  return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
}
