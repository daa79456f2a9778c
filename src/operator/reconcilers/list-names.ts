/** Maximum number of names in a message. */
const MAX_NAMES = 10;

/** ``policy `a` ``, ``policies `a`, `b` and 3 more``. */
export function listNames(singular: string, plural: string, names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => `\`${name}\``);
  const more = names.length - shown.length;
  return `${names.length === 1 ? singular : plural} ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
