/** A compiled `*` glob; `*` matches any characters, including none. */
export interface Glob {
  readonly source: string;
  /** `any`: only stars. `exact`: no star. `prefix`: one star, at the end. `general`: everything else. */
  readonly form: 'any' | 'exact' | 'prefix' | 'general';
  /** Text before the first star; the whole text of an exact glob. */
  readonly literal: string;
  /** Of a general glob: texts between its stars, in order, without empty ones. */
  readonly inner: readonly GlobPart[];
  /** The text after the last star. */
  readonly suffix: string;
}

/** A text to search for. */
interface GlobPart {
  readonly text: string;
  /** For each prefix of `text`: length of its longest border (proper prefix that is also a suffix). Computed by the first search that needs it. */
  borders: readonly number[] | undefined;
}

const NONE: readonly GlobPart[] = [];

/** Linear in the length of `source`. */
export function compileGlob(source: string): Glob {
  const star = source.indexOf('*');
  if (star < 0) return { source, form: 'exact', literal: source, inner: NONE, suffix: '' };
  const literal = source.slice(0, star);
  const suffix = source.slice(source.lastIndexOf('*') + 1);
  const between = source
    .slice(star, source.length - suffix.length)
    .split('*')
    .filter(Boolean);
  if (between.length > 0 || suffix !== '') {
    const inner = between.length === 0 ? NONE : between.map((text) => ({ text, borders: undefined }));
    return { source, form: 'general', literal, inner, suffix };
  }
  return { source, form: literal === '' ? 'any' : 'prefix', literal, inner: NONE, suffix };
}

/** Linear in the combined length of glob and `text`, because users control both. */
export function globMatches(glob: Glob, text: string): boolean {
  switch (glob.form) {
    case 'any':
      return true;
    case 'exact':
      return glob.literal === text;
    case 'prefix':
      return text.startsWith(glob.literal);
    case 'general':
      return generalMatches(glob, text);
  }
}

/** Taking the leftmost occurrence of each part never loses a match, so there is no backtracking. */
function generalMatches({ literal, inner, suffix }: Glob, text: string): boolean {
  const end = text.length - suffix.length;
  if (literal.length > end || !text.startsWith(literal) || !text.endsWith(suffix)) return false;
  let at = literal.length;
  for (const part of inner) {
    at = endOfPart(part, text, at, end);
    if (at < 0) return false;
  }
  return true;
}

/**
 * End of the first occurrence of a part between `from` and `to`; -1 if there is none. Knuth-Morris-Pratt search, because
 * `indexOf` takes quadratic time for texts with few distinct letters.
 */
function endOfPart(part: GlobPart, text: string, from: number, to: number): number {
  const wanted = part.text;
  let matched = 0;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (matched > 0 && wanted.charCodeAt(matched) !== code) {
      const borders = (part.borders ??= bordersOf(wanted));
      do matched = borders[matched - 1]!;
      while (matched > 0 && wanted.charCodeAt(matched) !== code);
    }
    if (wanted.charCodeAt(matched) === code) matched++;
    if (matched === wanted.length) return at + 1;
  }
  return -1;
}

/** Stands for a star of an inner glob. No name contains it, so that only a star of the outer glob can match it. */
const ANYTHING = '\0';

/** Whether every text that `inner` matches is matched by `outer`, too. Exact, and linear in the length of both. */
export function globIncludes(outer: Glob, inner: Glob): boolean {
  if (outer.form === 'any') return true;
  // A name that contains the placeholder itself would match the stars of `inner`.
  if (outer.source.includes(ANYTHING)) return outer.source === inner.source;
  // A star of `outer` that matches the placeholder also matches every text in its place.
  return globMatches(outer, inner.form === 'exact' ? inner.source : inner.source.replaceAll('*', ANYTHING));
}

/** Whether a text exists that both globs match. Exact, and linear in the length of both. */
export function globsIntersect(a: Glob, b: Glob): boolean {
  if (a.form === 'exact') return globMatches(b, a.literal);
  if (b.form === 'exact') return globMatches(a, b.literal);
  // With a star in both, everything between beginning and end can follow one after the other.
  return (
    (a.literal.startsWith(b.literal) || b.literal.startsWith(a.literal)) &&
    (a.suffix.endsWith(b.suffix) || b.suffix.endsWith(a.suffix))
  );
}

function bordersOf(text: string): readonly number[] {
  const borders = [0];
  let length = 0;
  for (let at = 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (length > 0 && text.charCodeAt(length) !== code) length = borders[length - 1]!;
    if (text.charCodeAt(length) === code) length++;
    borders.push(length);
  }
  return borders;
}
