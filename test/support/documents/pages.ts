import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../../..');

/** A page of the documentation: its path from the root of the repository, and its text. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** All pages: Markdown that is in the repository. */
export const PAGES: readonly Page[] = [
  '*.md',
  'docs/**/*.md',
  'bench/*.md',
  'test/*.md',
  'charts/**/*.md',
  '.github/**/*.md',
]
  .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

/** The pages without the changelog, which also names what does not exist any more. */
export const CURRENT_PAGES = PAGES.filter(({ path }) => path !== 'CHANGELOG.md');

/** What a pattern's first group matches in the current pages, as `<text> (<path>)` where `isKnown` does not hold. */
export function unknown(pattern: RegExp, isKnown: (text: string) => boolean): string[] {
  return CURRENT_PAGES.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)]
      .map(([, found]) => found ?? '')
      .filter((found) => !isKnown(found))
      .map((found) => `${found} (${path})`),
  );
}
