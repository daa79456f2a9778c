import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const INSTALL = resolve(import.meta.dirname, '../../../tools/install.sh');
/** Programs that the installer itself calls. There is no `apt-get` among them. */
const NEEDED = ['bash', 'date', 'dirname', 'env', 'id'];

describe('the browser of the tests', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'olap-warden-browsers-'));
    mkdirSync(join(folder, 'bin'));
    for (const name of NEEDED) {
      const path = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
      symlinkSync(path, join(folder, 'bin', name));
    }
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const add = (...names: string[]): void => {
    for (const name of names) writeFileSync(join(folder, 'bin', name), '#!/bin/sh\n', { mode: 0o755 });
  };
  const find = (part: string, env: NodeJS.ProcessEnv = {}) => {
    const { stdout, stderr, status } = spawnSync(INSTALL, [part], {
      encoding: 'utf8',
      env: { PATH: join(folder, 'bin'), HOME: folder, ...env },
    });
    return { program: stdout.trim().replace(`${folder}/bin/`, ''), stderr, status };
  };

  it('is the one that the tests are developed with, although the user has another', () => {
    add('chromium', 'google-chrome', 'firefox');
    expect(find('browser').program).toBe('chromium');
    expect(find('firefox').program).toBe('firefox');
    add('chromium-headless-shell', 'firefox-esr');
    expect(find('browser').program).toBe('chromium-headless-shell');
    expect(find('firefox').program).toBe('firefox-esr');
  });

  it('is the one of the variable', () => {
    add('chromium-headless-shell', 'mine');
    expect(find('browser', { CHROMIUM: 'mine' }).program).toBe('mine');
    expect(find('browser', { CHROMIUM: 'no-such-program' })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('CHROMIUM=`no-such-program` is not a program') as string,
    });
  });

  it('that is missing and cannot be installed is named, with what would do', () => {
    for (const [part, text] of [
      ['browser', 'no `chromium-headless-shell` found, and none of `chromium chromium-browser google-chrome`'],
      ['firefox', 'no `firefox-esr` found, and none of `firefox`: install it, or set FIREFOX'],
    ] as const)
      expect(find(part)).toMatchObject({ status: 1, stderr: expect.stringContaining(text) as string });
  });
});
