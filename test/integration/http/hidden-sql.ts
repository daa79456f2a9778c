/**
 * Characters whose UTF-8 bytes, read in another character set, take the backslash behind them as their second byte: what is `X\u0027` in UTF-8 holds no
 * quote there.
 */
export const SHIFT_JIS = '\u00c1';
export const GBK = '\u3042';
export const BIG5 = '\u3924';

/** A JSON body whose SQL reads `readable` in UTF-8, and `secret` in the character set that swallows the backslash behind `character`. */
export function hidden(character: string, readable: string, secret: string): Buffer {
  return Buffer.from(`{"sql":"SELECT '${character}\\u0027, note, ', note FROM ${secret} -- ' FROM ${readable}"}`);
}
