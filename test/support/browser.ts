import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  chromium,
  type Browser,
  type BrowserContextOptions,
  type Locator,
  type Page,
  type Response,
} from 'playwright-core';
import { installed } from '../../tools/pinot/jvm.ts';
import { boundCalls } from './browser-limits.ts';
import { WAIT_LIMIT_MS } from './limits.ts';
import { tryBrowser, unusable } from './try-browser.ts';
import { until } from './until.ts';

/** No requests to the vendor, and no features that a container lacks. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

/** A headless Chromium that has shown a page; close it. @throws {Error} with the reason if it does not work */
export async function startBrowser(): Promise<Browser> {
  const program = await installed('browser');
  // It writes settings and reports of crashes to the home.
  const home = await mkdtemp(join(tmpdir(), 'olap-warden-browser-'));
  const removeHome = (): void => rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  const env = { ...process.env, HOME: home };
  const launched = chromium.launch({ executablePath: program, args: FLAGS, env, timeout: WAIT_LIMIT_MS });
  const browser = await launched.catch((error: unknown) => {
    removeHome();
    throw unusable(program, error);
  });
  browser.once('disconnected', removeHome);
  try {
    await tryBrowser(program, async (url, expression) => {
      const page = await browser.newPage();
      boundCalls(browser, page);
      await page.goto(url);
      const shown = await page.evaluate(expression);
      await page.close();
      return shown;
    });
  } catch (error) {
    await browser.close().catch(() => undefined);
    throw error;
  }
  return browser;
}

export interface Visit {
  readonly page: Page;
  /** Problems on any page: requests to another origin, violations of the content security policy, errors of scripts. */
  readonly problems: readonly string[];
}

/** @returns the problems on the page, filled while they occur */
export function watch(page: Page, gatewayUrl: string): readonly string[] {
  const problems: string[] = [];
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== gatewayUrl && protocol !== 'data:' && protocol !== 'blob:')
      problems.push(`request to ${request.url()}`);
  });
  page.on('console', (message) => {
    if (/content security policy|refused to/i.test(message.text())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  return problems;
}

/** A gateway on a busy machine may be overloaded: a user loads the page again. */
function untilNotOverloaded<A extends unknown[]>(
  load: (...args: A) => Promise<Response | null>,
): (...args: A) => Promise<Response | null> {
  return async (...args) => {
    let response: Response | null = null;
    await until('a page is loaded', async () => {
      response = await load(...args);
      return response?.status() !== 503;
    });
    return response;
  };
}

/** A separate window with its own cookies, at a path of the gateway. */
export async function visit(
  browser: Browser,
  gatewayUrl: string,
  path = '/ui/',
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_LIMIT_MS);
  const problems = watch(page, gatewayUrl);
  page.goto = untilNotOverloaded(page.goto.bind(page));
  page.reload = untilNotOverloaded(page.reload.bind(page));
  await page.goto(gatewayUrl + path);
  return { page, problems };
}

/** Signs in with a token on the sign-in page; resolves when the dashboard is shown. @throws {Error} with the text of the page */
export async function signIn(page: Page, token: string): Promise<void> {
  try {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  } catch (error) {
    throw new Error(`cannot sign in; the page shows: ${await page.locator('body').innerText()}`, { cause: error });
  }
}

/** Replaces the text of an editor like a user: selects all, then types. */
export async function typeInto(editor: Locator, text: string): Promise<void> {
  await editor.click();
  await editor.press('ControlOrMeta+a');
  await editor.page().keyboard.insertText(text);
}

/** Presses controls as a user does, and counts the presses. */
export class Clicks {
  count = 0;

  async on(target: Locator): Promise<void> {
    this.count++;
    await target.click();
  }

  /** Opening a list and choosing are two clicks. */
  async select(target: Locator, value: string): Promise<void> {
    this.count += 2;
    await target.selectOption(value);
  }
}
