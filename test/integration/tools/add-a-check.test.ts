import { existsSync, globSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TEST_LIMIT_MS } from '../../support/limits.ts';
import { execute as run } from '../../support/execute.ts';

// The worked example "Add a health check" of CONTRIBUTING, as it stands there, on a copy of the repository.
const ROOT = resolve(import.meta.dirname, '../../..');

let copy: string;
let files: ReadonlyMap<string, string>;

/** The files of the example: its code blocks, by the path in their first lines. */
async function exampleFiles(): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const [, chapter = ''] = text.split(/^## Add a health check$/m);
  const [recipe = ''] = chapter.split(/^## /m);
  const blocks = [...recipe.matchAll(/^ {3}```\w+\n {3}(?:\/\/|<!--) (\S+).*\n([^]*?)^ {3}```$/gm)];
  return new Map(blocks.map(([, path = '', body = '']) => [path, body.replaceAll(/^ {3}/gm, '')]));
}

const node = (...args: string[]) =>
  run(process.execPath, args, { cwd: copy, timeout: TEST_LIMIT_MS, maxBuffer: 64 * 1024 * 1024 });

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'olap-warden-add-a-check-'));
  const { stdout } = await run('git', ['-c', 'safe.directory=*', 'ls-files', '-co', '--exclude-standard'], {
    cwd: ROOT,
  });
  for (const path of stdout.split('\n').filter((path) => path !== '' && existsSync(join(ROOT, path)))) {
    await cp(join(ROOT, path), join(copy, path), { verbatimSymlinks: true });
  }
  for (const path of globSync('{.,web}/node_modules', { cwd: ROOT })) {
    await symlink(join(ROOT, path), join(copy, path));
  }
  files = await exampleFiles();
});
afterAll(() => rm(copy, { recursive: true, force: true }));

it('adds a check by one file, its test and its page', async () => {
  const paths = [...files.keys()];
  expect(paths).toEqual([
    expect.stringMatching(/^src\/health\/checks\/[a-z-]+\.ts$/),
    expect.stringMatching(/^test\/unit\/health\/checks\/cases-[a-z-]+\.ts$/),
    expect.stringMatching(/^docs\/checks\/[A-Z_]+_CHECK\.md$/),
  ]);
  // That all files are up to date is no matter of this test.
  await node('tools/generate.ts');
  for (const [path, content] of files) {
    expect(existsSync(join(copy, path)), path).toBe(false);
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await writeFile(join(copy, path), content);
  }
  const generated = await node('tools/generate.ts');
  expect(generated.stdout.trim().replace('wrote ', '').split(', ')).toEqual([
    'src/health/check-files.ts',
    'charts/olap-warden/files/alerts.yaml',
    'docs/commands.md',
    'docs/checks/README.md',
    'charts/olap-warden/values.schema.json',
  ]);
  await node('tools/generate.ts', '--check');
  // Only what the example concerns: the whole repository takes minutes on a busy machine.
  const types = { extends: './tsconfig.json', include: ['src/health', 'test/unit/health', 'tools/generate.ts'] };
  await writeFile(join(copy, 'tsconfig.example.json'), JSON.stringify(types));
  await node('node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.example.json');
  const sources = paths.filter((path) => path.endsWith('.ts'));
  await node('node_modules/.bin/oxfmt', '--check', ...sources);
  await node('node_modules/.bin/oxlint', '--deny-warnings', ...sources);
  // Those that concern every check.
  const tested = [
    ...['checks', 'recorded', 'runbooks'].map((name) => `test/unit/health/checks/${name}.test.ts`),
    ...[
      'test/unit/health/run/evaluation.test.ts',
      'test/unit/health/settings.test.ts',
      'test/unit/docs',
      'test/unit/pinot/recorded/health.test.ts',
    ],
  ];
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--reporter', 'verbose'];
  const { stdout } = await node(...vitest, ...tested);
  expect(stdout).toContain('FEW_BROKERS_CHECK');
});
