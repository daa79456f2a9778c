const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const PAST_END = 0x7fffffff;

let output = new Uint32Array(1024);

/**
 * Returns the offsets of the quotes and backslashes of a chunk in ascending order, followed by at least one offset past its end, so that loops
 * over them need no bound. The result is valid until the next call, which reuses its buffer.
 */
export function quotesIn(bytes: Uint8Array): Uint32Array {
  let count = 0;
  if (output.length <= bytes.length) output = new Uint32Array(bytes.length + 1);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE || byte === BACKSLASH) output[count++] = at;
  }
  output[count] = PAST_END;
  return output;
}
