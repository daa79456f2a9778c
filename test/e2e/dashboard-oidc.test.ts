import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser, typeInto, visit, watch } from '../support/browser.ts';
import { freePorts } from '../support/kubernetes/processes.ts';
import { signingKey } from '../support/oidc-issuer.ts';
import { sharedPinot } from '../support/pinot.ts';
import { startStandalone, type Standalone } from '../support/service.ts';
import { once } from '../support/once.ts';

let browser: Browser;
let gateway: Standalone;
let issuer: Server;
/** Lifetime of the next ID token; the gateway allows a clock difference of five seconds. */
let idTokenSeconds = 3600;

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  issuer = createServer().listen(0, '127.0.0.1');
  await once(issuer, 'listening');
  const url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  const provider = new Provider(url, {
    jwks: { keys: [await signingKey('first')] },
    cookies: { keys: ['only for this test'] },
    clients: [
      {
        client_id: 'olap-warden',
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        redirect_uris: [`http://127.0.0.1:${port}/ui/signed-in`],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    pkce: { required: () => true },
    // The session contains the ID token, so the claims that the gateway reads must be in it.
    conformIdTokenClaims: false,
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    ttl: { IdToken: () => idTokenSeconds },
    features: { devInteractions: { enabled: true } },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true }),
    }),
  });
  issuer.on('request', provider.callback());
  const { controllerUrl } = await sharedPinot();
  gateway = await startStandalone({
    port,
    controllers: controllerUrl,
    'oidc-issuer': url,
    'oidc-audiences': 'olap-warden',
    'oidc-client-id': 'olap-warden',
  });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
  issuer?.close();
  issuer?.closeAllConnections();
});

const provided = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Sign in with your identity provider' }).click();

/** Signs in on the pages of the provider; the last one may ask for consent to share the address. */
async function atProvider(page: Page, login: string): Promise<void> {
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.locator('button[type=submit]', { hasText: 'Continue' }).click();
}

describe('signing in with an identity provider', () => {
  it('opens a session with a token that scripts cannot read, and returns to the previous page', async () => {
    const { page, problems } = await visit(browser, gateway.url, '/ui/access?tab=policies');
    await provided(page);
    await atProvider(page, 'ann');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(await page.locator('.who').textContent()).toBe('ann@example.com');
    expect(page.url()).toBe(`${gateway.url}/ui/access?tab=policies`);
    expect(await page.evaluate<unknown>('[document.cookie, localStorage.length, sessionStorage.length]')).toEqual([
      '',
      0,
      0,
    ]);
    expect(problems.filter((problem) => !problem.startsWith('request to'))).toEqual([]);
    await page.context().close();
  });

  it('rejects a response that this window did not request, and shows an error of the provider', async () => {
    const { page } = await visit(browser, gateway.url, '/ui/signed-in?code=stolen&state=made-up');
    expect(await page.getByRole('alert').textContent()).toContain('was not started in this browser window');
    await page.goto(`${gateway.url}/ui/signed-in?error=access_denied&error_description=Not+today`);
    await page.getByText('The identity provider rejected the sign-in: Not today').waitFor();
    expect(await page.context().cookies(gateway.url)).toEqual([]);
    await page.context().close();
  });
});

describe('an expired session of an identity provider', () => {
  const ask = (page: Page): Locator => page.getByRole('dialog', { name: 'Your session has ended' });

  beforeAll(async () => {
    const subject = { subject: 'ada@example.com', subjectType: 'user-email' };
    for (const role of ['cluster-admin', 'rbac-admin']) {
      const path = `/api/v1/rbac-manager/roles/srn2:role%23${role}/create-assignment`;
      expect((await gateway.call('POST', path, subject)).status).toBe(200);
    }
  });

  /** Signs in for a short time, on a page where `type` enters a text; resolves when the session has expired. */
  async function typedAndExpired(path: string, type: (page: Page) => Promise<void>): ReturnType<typeof visit> {
    const open = await visit(browser, gateway.url, path);
    const { page } = open;
    idTokenSeconds = 2;
    await provided(page);
    await atProvider(page, 'ada');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    idTokenSeconds = 3600;
    await type(page);
    const whoami =
      "fetch('/api/v1/rbac-manager/whoami', { headers: { 'x-olap-warden-ui': '1' } }).then((a) => a.status)";
    await expect.poll(() => page.evaluate<number>(whoami)).toBe(401);
    // The session at the provider has ended, too.
    await page.context().clearCookies({ name: /^_/ });
    return open;
  }

  it('is renewed in a separate window; the entered policy is kept and can be saved', async () => {
    const statement = { effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] };
    const typed = JSON.stringify({ version: 'v1', statements: [statement] });
    const { page, problems } = await typedAndExpired('/ui/access?tab=policies', async (where) => {
      await where.getByRole('button', { name: 'New policy' }).click();
      await where.getByRole('dialog').getByLabel('Name').fill('typed-before');
      await where.locator('.cm-content').waitFor();
      await typeInto(where.locator('.cm-content'), typed);
    });
    const dialog = page.getByRole('dialog', { name: 'New policy' });
    await dialog.getByRole('button', { name: 'Create' }).click();
    await ask(page).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');

    const [popup] = await Promise.all([page.waitForEvent('popup'), provided(page)]);
    const inWindow = watch(popup, gateway.url);
    await ask(page).getByText('Continue in the new window.').waitFor();
    await Promise.all([popup.waitForEvent('close'), atProvider(popup, 'ada')]);
    await ask(page).waitFor({ state: 'detached' });
    expect(page.url()).toBe(`${gateway.url}/ui/access?tab=policies`);
    expect(await dialog.getByLabel('Name').inputValue()).toBe('typed-before');
    expect(await dialog.locator('.cm-content').textContent()).toBe(typed);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 2, name: 'typed-before' }).waitFor();
    const stored = await gateway.call('GET', '/api/v1/rbac-manager/policies/srn2:policy%23typed-before');
    expect(await stored.json()).toMatchObject({ createdBy: 'srn2:user#ada@example.com' });
    expect(problems.filter((problem) => !problem.startsWith('request to'))).toEqual([]);
    expect(inWindow.filter((problem) => !problem.startsWith('request to'))).toEqual([]);
    await page.context().close();
  });

  it('is renewed in a new tab if the browser blocks windows; the entered query is kept and can be run', async () => {
    const typed = 'SELECT orderId FROM orders ORDER BY orderId LIMIT 3';
    const { page } = await typedAndExpired('/ui/queries', async (where) => {
      await where.locator('.cm-content').waitFor();
      await typeInto(where.locator('.cm-content'), typed);
    });
    await page.evaluate('window.open = () => null');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await provided(page);
    await ask(page).getByText('Your browser blocked the window.').waitFor();
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      ask(page).getByRole('link', { name: 'Sign in in a new tab' }).click(),
    ]);
    await atProvider(tab, 'ada');
    await ask(page).waitFor({ state: 'detached' });
    expect(await page.locator('.cm-content').textContent()).toBe(typed);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('rows 1–3 of 3').waitFor();
    await page.context().close();
  });

  it('stays expired and shows the reason if the provider rejects the sign-in', async () => {
    const { page } = await typedAndExpired('/ui/access', async (where) => {
      await where.getByRole('button', { name: 'New role' }).click();
      await where.getByLabel('Description').fill('Still here');
    });
    await page.getByLabel('Name').fill('too-late');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const [popup] = await Promise.all([page.waitForEvent('popup'), provided(page)]);
    await popup.getByRole('link', { name: /cancel/i }).click();
    expect(await popup.getByRole('alert').textContent()).toContain('The identity provider rejected the sign-in: ');
    await popup.getByRole('button', { name: 'Start again' }).click();
    await popup.locator('input[name=login]').waitFor();
    expect(await ask(page).count()).toBe(1);
    expect(await page.getByLabel('Description').inputValue()).toBe('Still here');
    await page.context().close();
  });
});
