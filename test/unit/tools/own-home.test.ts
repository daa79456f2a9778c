import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cacheFolder } from '../../../tools/cache-folder.ts';
import { ownHome, writtenTo } from '../../support/own-home.ts';

it('tests run with a home of their own, which has the parts of the user', () => {
  expect(homedir()).toMatch(/\/olap-warden-home-\w+\/home$/);
  expect(existsSync(cacheFolder())).toBe(true);
});

it('what a program writes to the home is found, unless it is a part', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-own-home-'));
  const env = { ...process.env, ...ownHome(folder, join(folder, 'parts of the user')) };
  const write = (path: string) =>
    execFileSync('sh', ['-c', `mkdir -p "$(dirname "${path}")" && touch "${path}"`], { env });
  try {
    expect(writtenTo(folder)).toEqual([]);
    write('$HOME/.cache/olap-warden/part/file');
    write('$KUBECACHEDIR/discovery');
    expect(writtenTo(folder)).toEqual([]);
    for (const path of ['$HOME/.kube/cache/http/a', '$HOME/.cache/helm/b', '$HOME/c']) write(path);
    expect(writtenTo(folder)).toEqual(['.cache/helm/b', '.kube/cache/http/a', 'c']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
