import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generateCrds } from '../../../tools/generate/crds.ts';
import { generateFieldReference } from '../../../tools/generate/field-reference.ts';

const ROOT = join(import.meta.dirname, '../../..');

it.each([
  ['CRDs', generateCrds],
  ['field reference', generateFieldReference],
])('the committed %s are up to date with the schemas', async (_name, generate) => {
  for (const [path, content] of await generate(ROOT)) {
    expect(await readFile(join(ROOT, path), 'utf8'), `${path}: run \`make generate\``).toBe(content);
  }
});
