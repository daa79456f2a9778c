import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/documents/pages.ts';

interface Row {
  readonly path: string;
  readonly words: string;
}

/** The rows of the table of sentences about results. */
function rows(): Row[] {
  const page = readFileSync(join(ROOT, 'docs/guarantees.md'), 'utf8');
  const section = page.split('\n## Results, sentence by sentence\n')[1]?.split('\n## ')[0] ?? '';
  return section
    .split('\n')
    .slice(1)
    .filter((line) => line.startsWith('| ') && !line.startsWith('| sentence'))
    .map((line) => {
      const [, path = '', words = ''] = /\| `(test\/[^`]+)` \| (`.*`) \|$/.exec(line) ?? [];
      return { path, words: words.replaceAll(/^(`` |`)|( ``|`)$/g, '') };
    });
}

describe('the sentences about results in docs/guarantees.md', () => {
  it('name tests that exist', () => {
    const found = rows();
    expect(found.length).toBeGreaterThanOrEqual(30);
    const missing = found.filter(
      ({ path, words }) => words === '' || !readFileSync(join(ROOT, path), 'utf8').includes(words),
    );
    expect(missing).toEqual([]);
  });
});
