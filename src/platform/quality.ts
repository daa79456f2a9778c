const QUALITY = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * The quality of a part of `Accept` or `Accept-Encoding` (RFC 9110 section 12.4.2): 1 where none is written; 0, not accepted, for one that is not valid.
 * @param parameters after the value, trimmed and in lower case
 */
export function qualityOf(parameters: readonly string[]): number {
  const written = parameters.find((parameter) => /^q\s*(?:=|$)/.test(parameter));
  return written === undefined ? 1 : Number(QUALITY.exec(written)?.[1] ?? 0);
}
