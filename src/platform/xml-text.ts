/** Escapes text for XML 1.0, which does not allow most control characters even as references. */
export function xmlText(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const allowed = text.replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/gu, '\uFFFD');
  return allowed.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
