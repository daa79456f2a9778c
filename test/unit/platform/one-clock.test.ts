import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const SOURCE = join(import.meta.dirname, '../../../src');

/** What .oxlintrc.json cannot express. The folder is the only one in which the code may occur. */
const RULES = [
  { folder: 'platform/', code: /new Date\(\)/u, instead: '`new Date(clock.now())`' },
  { folder: 'platform/', code: /from '(node:)?timers(\/promises)?'/u, instead: '`sleep()` or `clock.schedule()`' },
  { folder: 'resources/', code: /lastTransitionTime\b/u, instead: '`updateConditions()`' },
];

it.each(RULES)('only src/$folder contains $code', async ({ folder, code, instead }) => {
  const names = await readdir(SOURCE, { recursive: true });
  const files = names.filter((name) => name.endsWith('.ts') && !name.startsWith(folder));
  expect(files.length).toBeGreaterThan(300);
  const found: string[] = [];
  for (const file of files) if (code.test(await readFile(join(SOURCE, file), 'utf8'))) found.push(file);
  expect(found, `use ${instead}`).toEqual([]);
});
