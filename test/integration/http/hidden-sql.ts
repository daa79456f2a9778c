/**
 * Characters whose UTF-8 bytes, decoded in another character set, include the following backslash as a second byte: `X\u0027` in UTF-8 then contains no
 * quote.
 */
export const SHIFT_JIS = '\u00c1';
export const GBK = '\u3042';
export const BIG5 = '\u3924';

/** A JSON body whose SQL names `readable` in UTF-8, and `secret` in the character set in which `character` includes the following backslash. */
export function hidden(character: string, readable: string, secret: string): Buffer {
  return Buffer.from(`{"sql":"SELECT '${character}\\u0027, note, ', note FROM ${secret} -- ' FROM ${readable}"}`);
}
