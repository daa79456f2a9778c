import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser, visit } from '../support/browser.ts';
import { freePorts } from '../support/kubernetes/processes.ts';
import { signingKey } from '../support/oidc-issuer.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

let browser: Browser;
let gateway: Standalone;
let issuer: Server;

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
    // The session holds the ID token, so what the gateway reads must stand in it.
    conformIdTokenClaims: false,
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    features: { devInteractions: { enabled: true } },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true }),
    }),
  });
  issuer.on('request', provider.callback());
  gateway = await startStandalone({
    port,
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

describe('signing in with an identity provider', () => {
  it('opens a session whose token no script sees, and comes back to where one was', async () => {
    const { page, problems } = await visit(browser, gateway.url, '/ui/access?tab=policies');
    await provided(page);
    await page.locator('input[name=login]').fill('ann');
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    // The provider's own page, which asks whether the dashboard may know the address.
    await page.locator('button[type=submit]', { hasText: 'Continue' }).click();
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

  it('takes no answer that this window did not ask for, and shows what the provider refused', async () => {
    const { page } = await visit(browser, gateway.url, '/ui/signed-in?code=stolen&state=made-up');
    expect(await page.getByRole('alert').textContent()).toContain('was not begun in this browser window');
    await page.goto(`${gateway.url}/ui/signed-in?error=access_denied&error_description=Not+today`);
    await page.getByText('The identity provider refused: Not today').waitFor();
    expect(await page.context().cookies(gateway.url)).toEqual([]);
    await page.context().close();
  });
});
