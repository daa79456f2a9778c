/** A compiled `*` glob over one text; `*` stands for any characters, also none. */
export interface Glob {
  readonly source: string;
  /** `any`: only stars. `exact`: no star. `prefix`: one star, at the end. `general`: everything else. */
  readonly form: 'any' | 'exact' | 'prefix' | 'general';
  /** The text before the first star; the whole text of an exact glob. */
  readonly literal: string;
}

export function compileGlob(source: string): Glob {
  const star = source.indexOf('*');
  if (star < 0) return { source, form: 'exact', literal: source };
  const literal = source.slice(0, star);
  const onlyStars = /^\**$/.test(source.slice(star));
  if (!onlyStars) return { source, form: 'general', literal };
  return { source, form: literal === '' ? 'any' : 'prefix', literal };
}

export function globMatches(glob: Glob, text: string): boolean {
  switch (glob.form) {
    case 'any':
      return true;
    case 'exact':
      return glob.literal === text;
    case 'prefix':
      return text.startsWith(glob.literal);
    case 'general':
      return text.startsWith(glob.literal) && wildcard(glob.source, text);
  }
}

/**
 * Wildcard matching with one point of return instead of a regular expression: a pattern is written by users, and the worst
 * case here is the product of both lengths, never exponential.
 */
function wildcard(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.length && pattern[p] === text[t]) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
