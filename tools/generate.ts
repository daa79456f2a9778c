// Writes all generated files (`make generate`). With --check it lists the files that are out of date and exits 1 (`make verify`).
// To add a generator, add a function in tools/generate/ and an entry in tools/generate/generators.ts.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { generateCheckFiles } from './generate/check-files.ts';
import type { Generator } from './generate/generator.ts';
import { generateNeverMatching } from './generate/never-matching.ts';

/** Write sources that the other generators import or copy. */
const FIRST: readonly Generator[] = [generateCheckFiles, generateNeverMatching];

async function current(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** @returns paths of the files that were out of date */
async function generate(generators: readonly Generator[], root: string, write: boolean): Promise<string[]> {
  const stale: string[] = [];
  for (const generator of generators) {
    for (const [path, content] of await generator(root)) {
      const file = join(root, path);
      if ((await current(file)) === content) continue;
      stale.push(path);
      if (!write) continue;
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
  }
  return stale;
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const root = resolve(import.meta.dirname, '..');
const stale = await generate(FIRST, root, !values.check);
const { GENERATORS } = await import('./generate/generators.ts');
stale.push(...(await generate(GENERATORS, root, !values.check)));
if (values.check && stale.length > 0) {
  process.stderr.write(`out of date: ${stale.join(', ')}\nrun \`make generate\` and commit the changes\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(stale.length > 0 ? `wrote ${stale.join(', ')}\n` : 'everything is up to date\n');
}
