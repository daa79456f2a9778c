import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { boundCalls } from '../../support/browser-limits.ts';
import { tryBrowser } from '../../support/try-browser.ts';

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

describe('the trial of a browser', () => {
  it('passes when a page of a local server is shown', async () => {
    await tryBrowser('/usr/bin/good', async (url) => {
      expect(await (await fetch(url)).text()).toContain('<title>trial</title>');
      return 'trial42';
    });
  });

  it('says which browser does not load a page, and what to do', async () => {
    const hanging = tryBrowser('/usr/bin/hanging', () => new Promise(() => undefined), 20);
    await expect(hanging).rejects.toThrow(
      /^the browser `\/usr\/bin\/hanging` does not work: not within 0\.02 s: a page of http:\/\/127\.0\.0\.1:\d+\/\n.*tools\/install\.sh browser/s,
    );
  });

  it('says what a browser shows whose scripts do not run', async () => {
    const silent = tryBrowser('/usr/bin/silent', () => Promise.resolve('trial'));
    await expect(silent).rejects.toThrow('a page shows `trial` instead of `trial42`');
  });
});

describe('a browser that hangs', () => {
  /** An object as those of Playwright, which have their methods from their class. */
  function fake(properties: object = {}): object {
    const done = (): Promise<string> => Promise.resolve('done');
    const names =
      'newContext close newPage cookies clearCookies grantPermissions storageState addInitScript route unroute unrouteAll title content';
    const others =
      'setViewportSize evaluateAll count all allTextContents allInnerTexts press type insertText down up move click wheel';
    const methods = Object.fromEntries(`${names} ${others}`.split(' ').map((name) => [name, done]));
    const shared = { ...methods, evaluate: () => new Promise(() => undefined) };
    return Object.assign(Object.create(shared) as object, properties);
  }

  it('fails the call that waits for it, and says which', async () => {
    const page = fake({ context: () => context, locator: () => fake(), keyboard: fake(), mouse: fake() }) as Page;
    const context = fake();
    boundCalls(fake() as Browser, page, 20);
    await expect(page.evaluate('fetch("/tables")')).rejects.toThrow(
      'not within 0.02 s: page.evaluate(fetch("/tables")) in the browser',
    );
    expect(await page.title()).toBe('done');
  });
});
