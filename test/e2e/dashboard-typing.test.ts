import type { Browser, CDPSession, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { signIn, startBrowser, typeInto, visit, type Visit } from '../support/browser.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

/** `TYPING=long` types 1,000 characters at each speed, which takes half an hour. */
const LONG = process.env['TYPING'] === 'long';
const CHARACTERS = LONG ? 1000 : 150;
const DELAYS_MS = LONG ? [20, 50, 100, 150] : [20];
const RUNS = DELAYS_MS.flatMap((delay) => [1, 4].map((slowdown) => ({ delay, slowdown })));

let browser: Browser;
let gateway: Standalone;
let open: Visit;
let page: Page;
let protocol: CDPSession;

beforeAll(async () => {
  gateway = await startStandalone();
  browser = await startBrowser();
  open = await visit(browser, gateway.url, '/ui/queries');
  ({ page } = open);
  await signIn(page, gateway.token);
  protocol = await page.context().newCDPSession(page);
});
afterEach(async () => {
  await protocol.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  expect(open.problems).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** Words that differ, so that a lost or a repeated character is seen. Without a newline, which the editor indents. */
function sample(length: number): string {
  let text = '';
  for (let word = 0; text.length < length; word++) text += `w${word.toString(36)} `;
  return text.slice(0, length);
}

/** Presses each key of `text` with real key events. */
async function type(editor: Locator, text: string, run: { delay: number; slowdown: number }): Promise<void> {
  await typeInto(editor, '');
  await editor.press('Delete');
  await protocol.send('Emulation.setCPUThrottlingRate', { rate: run.slowdown });
  await page.keyboard.type(text, { delay: run.delay });
}

describe('typing into an editor', { timeout: 1_800_000 }, () => {
  it.each(RUNS)('loses no character of a query at $delay ms a key, processor $slowdown times as slow', async (run) => {
    const editor = page.locator('.cm-content');
    const text = sample(CHARACTERS);
    await type(editor, text, run);
    expect(await editor.textContent()).toBe(text);
  });

  it.each(RUNS)('loses no character of a policy at $delay ms a key, processor $slowdown times as slow', async (run) => {
    await page.goto(`${gateway.url}/ui/access?tab=policies`);
    await page.getByRole('button', { name: 'New policy' }).click();
    const editor = page.getByRole('dialog').locator('.cm-content');
    const text = `{"version":"v1","description":"${sample(CHARACTERS)}"}`;
    await type(editor, text, run);
    expect(await editor.textContent()).toBe(text);
  });
});

describe('the text of an editor', () => {
  it('has what was typed while the editor was loading', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const other = await visit(browser, gateway.url, '/ui/health');
    await other.page.route(/code-mirror-.*\.js/, async (route) => {
      await held;
      await route.continue();
    });
    await signIn(other.page, gateway.token);
    await other.page.getByRole('link', { name: 'Queries' }).click();
    const plain = other.page.locator('textarea');
    await plain.click();
    const text = sample(60);
    const typing = other.page.keyboard.type(text, { delay: 20 });
    await expect.poll(() => plain.inputValue()).toContain('w3');
    release();
    await typing;
    const editor = other.page.locator('.cm-content');
    await editor.waitFor();
    expect(await editor.textContent()).toBe(text);
    await other.page.context().close();
  });

  it('typed while a policy is saved is kept, and saved with the next press', async () => {
    const path = '/api/v1/rbac-manager/policies';
    const policyDocument = {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] }],
    };
    await gateway.call('POST', path, { name: 'typed', policyDocument });
    await page.goto(`${gateway.url}/ui/access?tab=policies&name=typed`);
    const editor = page.getByRole('article').locator('.cm-content');
    await editor.waitFor();
    await typeInto(editor, JSON.stringify(policyDocument));
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/policies\/.*typed$/, async (route) => {
      if (route.request().method() === 'PUT') await held;
      await route.continue();
    });
    const saving = page.waitForResponse((response) => response.request().method() === 'PUT');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await editor.press('ControlOrMeta+End');
    await page.keyboard.type('   ', { delay: 20 });
    release();
    expect((await saving).status()).toBe(200);
    const save = page.getByRole('button', { name: 'Save', exact: true, disabled: false });
    await save.waitFor();
    expect(await editor.textContent()).toBe(`${JSON.stringify(policyDocument)}   `);
    const again = page.waitForResponse((response) => response.request().method() === 'PUT');
    await save.click();
    expect((await again).status()).toBe(200);
    await page.getByRole('button', { name: 'Save', exact: true, disabled: true }).waitFor();
    await page.unroute(/policies\/.*typed$/);
  });
});
