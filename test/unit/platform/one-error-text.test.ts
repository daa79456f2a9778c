import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const SOURCE = join(import.meta.dirname, '../../../src');

/** What throws for some of the values that can be thrown, such as undefined. */
const UNSAFE = [
  { code: /String\((?:error|cause|reason|thrown)\)/u, instead: 'errorMessage()' },
  { code: /instanceof Error \?/u, instead: 'errorMessage()' },
  { code: /\((?:error|cause|reason|thrown) as Error\)\.(?:message|stack)/u, instead: 'errorMessage()' },
  { code: /\((?:error|cause|reason) as (?:NodeJS\.ErrnoException|\{ code\?)/u, instead: 'errorCode()' },
  { code: /\.on\('error', \(\) => undefined\)/u, instead: 'withErrorListener()' },
];

it.each(UNSAFE)('only src/platform contains $code', async ({ code, instead }) => {
  const names = await readdir(SOURCE, { recursive: true });
  const files = names.filter((name) => name.endsWith('.ts') && !name.startsWith('platform/'));
  expect(files.length).toBeGreaterThan(300);
  const found: string[] = [];
  for (const file of files) if (code.test(await readFile(join(SOURCE, file), 'utf8'))) found.push(file);
  expect(found, `use \`${instead}\``).toEqual([]);
});
