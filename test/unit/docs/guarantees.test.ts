import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/documents/pages.ts';

interface Row {
  readonly path: string;
  readonly words: string;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const MAP = 'test/guarantees.md';

/** The rows of the table of sentences about results. */
function rows(): Row[] {
  const section = read(MAP).split('\n## Results, sentence by sentence\n')[1]?.split('\n## ')[0] ?? '';
  return section
    .split('\n')
    .slice(1)
    .filter((line) => line.startsWith('| ') && !line.startsWith('| sentence'))
    .map((line) => {
      const [, path = '', words = ''] = /\| `(test\/[^`]+)` \| (`.*`) \|$/.exec(line) ?? [];
      return { path, words: words.replaceAll(/^(`` |`)|( ``|`)$/g, '') };
    });
}

describe('the sentences about results in test/guarantees.md', () => {
  it('name tests that exist', () => {
    const found = rows();
    expect(found.length).toBeGreaterThanOrEqual(30);
    const missing = found.filter(({ path, words }) => words === '' || !read(path).includes(words));
    expect(missing).toEqual([]);
  });
});

describe('the guarantees', () => {
  /** The cells of the rows of tables, without the targets of links, which differ between the two folders. */
  const cellsOf = (text: string): string[][] =>
    text
      .split('\n')
      .filter((line) => line.startsWith('| ') && !line.startsWith('| guarantee'))
      .map((line) =>
        line
          .replaceAll(/\]\([^)]*\)/g, ']')
          .slice(2, -2)
          .split(' | '),
      );

  it('have tests, and the same sentences on the page for users and beside the tests', () => {
    const forUsers = read('docs/guarantees.md').split('\n## What does not hold\n')[0]!;
    const beside = cellsOf(read(MAP).split('\n## Results, sentence by sentence\n')[0]!);
    expect(beside.map(([sentence]) => sentence)).toEqual(cellsOf(forUsers).map(([sentence]) => sentence));
    expect(beside.length).toBeGreaterThan(25);
    const tests = beside.flatMap(([, cell = '']) => [...cell.matchAll(/`(test\/[^`]+)`/g)].map(([, path]) => path!));
    expect(tests.length).toBeGreaterThan(beside.length);
    expect(tests.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
