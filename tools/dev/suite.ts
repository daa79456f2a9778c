// Runs the tests that a page of the documentation names in backticks, and those of the folders given: `node tools/dev/suite.ts SECURITY.md test/security`.
// The page is the list of the suite: what it claims is what runs; `-` for no page. The real parts of these tests are built first. UPDATE=1 writes the pages that the tests compare.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Paths of test files that a page names; a path may have `*`. */
export function testsOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8');
  const named = [...text.matchAll(/`(test\/[^\s`]+\.test\.ts)`/g)].map(([, path]) => path as string);
  return [...new Set(named.flatMap((path) => globSync(path, { cwd: root })))].toSorted();
}

async function main([page, ...folders]: readonly string[]): Promise<number> {
  if (page === undefined) throw new Error('usage: node tools/dev/suite.ts PAGE [FOLDER…]');
  const named = page === '-' ? [] : testsOf(page);
  const inFolders = folders.flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: root }));
  const files = [...new Set([...named, ...inFolders])].toSorted();
  process.stdout.write(`${files.length} test files\n`);
  // Files of other projects, which need no parts, are not in the list.
  for (const project of ['integration', 'e2e']) {
    const code = await run(process.execPath, [join(root, 'tools/dev/parts.ts'), '--for', project, ...files]);
    if (code !== 0) return code;
  }
  const update = process.env['UPDATE'] === '1' ? ['-u'] : [];
  return run(join(root, 'node_modules/.bin/vitest'), ['run', ...update, ...files]);
}

/** @returns the exit code; 1 when a signal ended the program */
async function run(file: string, args: readonly string[]): Promise<number> {
  // One file at a time: these tests measure times, and write their figures to the same pages.
  const env = { ...process.env, TEST_WORKERS: process.env['TEST_WORKERS'] || '1' };
  const child = spawn(file, args, { cwd: root, stdio: 'inherit', env });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
