// @module-tag slow
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { execute } from '../../support/execute.ts';
import { BLOCKS } from '../../support/documents/blocks.ts';
import { ROOT } from '../../support/documents/pages.ts';
import { blocksOf } from '../../support/documents/shell-blocks.ts';

const OWN = 'test/unit/docs/access-in-git.test.ts';
const PAGE = 'docs/access-in-git.md';
let folder: string;

/** The program of this source tree, by the name that the page uses. */
const SHELL = `olap-warden() { ${JSON.stringify(process.execPath)} ${JSON.stringify(join(ROOT, 'src/main.ts'))} "$@" || true; }\n`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-access-in-git-'));
  for (const { text } of BLOCKS.filter(({ path, language }) => path === PAGE && language === 'yaml')) {
    const [, file] = /^# (\S+)\n/.exec(text) ?? [];
    await mkdir(dirname(join(folder, file!)), { recursive: true });
    await writeFile(join(folder, file!), text);
  }
  const git = (...args: string[]) =>
    execute('git', ['-C', folder, '-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args]);
  await git('init', '-q', '-b', 'main');
  await git('add', '-A');
  await git('commit', '-qm', 'access');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the pull request of the page', () => {
  it('has the outputs that it shows', async () => {
    const blocks = blocksOf(OWN);
    expect(blocks.map(({ language }) => language)).toEqual(['sh', 'console', 'sh', 'console']);
    for (const { language, text } of blocks) {
      if (language === 'sh') {
        await execute('bash', ['-euc', text], { cwd: folder });
        continue;
      }
      for (const part of text.split(/^\$ /m).slice(1)) {
        const [command = '', ...output] = part.split('\n');
        const { stdout, stderr } = await execute('bash', ['-euc', SHELL + command], { cwd: folder });
        expect({ command, stdout, stderr }).toEqual({ command, stdout: output.join('\n'), stderr: '' });
      }
    }
  });
});
