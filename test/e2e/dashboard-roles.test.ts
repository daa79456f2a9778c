import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signIn, startBrowser, visit } from '../support/browser.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

const RBAC = '/api/v1/rbac-manager';

let browser: Browser;
let gateway: Standalone;

beforeAll(async () => {
  gateway = await startStandalone({
    environment: 'production',
    cluster: 'pinot-eu1',
    'ui-colour': 'red',
    'ui-contact': 'the data platform team',
  });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

const assignment = async (verb: 'create' | 'delete', role: string, accessKey: string): Promise<void> => {
  const subject = { subject: accessKey, subjectType: 'service-token' };
  const answer = await gateway.call('POST', `${RBAC}/roles/srn2:role%23${role}/${verb}-assignment`, subject);
  expect(answer.status).toBe(200);
};

/** Creates a service token with roles. */
async function tokenWith(...roles: string[]): Promise<{ bearerToken: string; accessKey: string }> {
  const made = (await (await gateway.call('POST', `${RBAC}/service-tokens`, { description: 'narrow' })).json()) as {
    bearerToken: string;
    accessKey: string;
  };
  for (const role of roles) await assignment('create', role, made.accessKey);
  return made;
}

/** The denied calls of a page, filled while they occur. */
function deniedCalls(page: Page): readonly string[] {
  const denied: string[] = [];
  page.on('response', (response) => {
    if (response.status() === 403) denied.push(response.url());
  });
  return denied;
}

describe('with a role that only reads tables', () => {
  it('lands on the queries, shows no other page, and asks for nothing that is denied', async () => {
    const { bearerToken } = await tokenWith('table-reader');
    const { page, problems } = await visit(browser, gateway.url);
    const denied = deniedCalls(page);
    await signIn(page, bearerToken);
    await page.waitForURL('**/ui/queries');
    await page.getByRole('heading', { level: 1, name: 'Queries' }).waitFor();
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    expect(await links.allTextContents()).toEqual(['Access', 'Queries']);
    await page.locator('.cm-content').waitFor();
    await links.first().click();
    await page.getByText('Nothing found.').waitFor();
    expect(denied).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('explains at a forbidden page what is missing and whom to ask', async () => {
    const { bearerToken, accessKey } = await tokenWith('table-reader');
    const { page } = await visit(browser, gateway.url, '/ui/health?status=FAIL');
    const denied = deniedCalls(page);
    await signIn(page, bearerToken);
    await page.getByRole('heading', { level: 1, name: 'Your roles do not include the page Health' }).waitFor();
    expect((await page.locator('main').innerText()).replaceAll('\n', ' ')).toContain(
      'Ask the data platform team for a role that allows GetHealth on the cluster pinot-eu1 in production, such as health-reader. ' +
        `You are signed in as srn2:service-token#${accessKey} with the roles table-reader.`,
    );
    expect(denied).toEqual([]);
    await page.context().close();
  });
});

describe('with a role that reads health', () => {
  it('lands on health without the button to start a run', async () => {
    const { bearerToken } = await tokenWith('health-reader');
    const { page } = await visit(browser, gateway.url);
    const denied = deniedCalls(page);
    await signIn(page, bearerToken);
    await page.waitForURL('**/ui/health');
    await page.getByRole('region', { name: 'State of the cluster' }).waitFor();
    expect(await page.getByRole('button', { name: 'Run now' }).count()).toBe(0);
    expect(denied).toEqual([]);
    await page.context().close();
  });

  it('stops polling when the role is revoked', async () => {
    const { bearerToken, accessKey } = await tokenWith('health-reader', 'table-reader');
    const { page } = await visit(browser, gateway.url, '/docs');
    await page.clock.install();
    await page.goto(`${gateway.url}/ui/`);
    const denied = deniedCalls(page);
    await signIn(page, bearerToken);
    await page.getByRole('region', { name: 'State of the cluster' }).waitFor();
    await assignment('delete', 'health-reader', accessKey);
    const refused = page.waitForResponse((response) => response.status() === 403);
    await page.clock.runFor(2000);
    await refused;
    await page.getByRole('alert').waitFor();
    expect(denied.length).toBeGreaterThan(0);
    const polls: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/clusterHealth')) polls.push(request.url());
    });
    await page.clock.runFor(60_000);
    // The requests of a page are reported in order.
    await page.evaluate('fetch("/docs")');
    expect(polls).toEqual([]);
    await page.context().close();
  });
});

describe('the header', () => {
  it('names the environment and the cluster, in the colour of the settings', async () => {
    const { page } = await visit(browser, gateway.url);
    await signIn(page, gateway.token);
    expect(await page.locator('.where').innerText()).toBe('production · pinot-eu1');
    await expect.poll(() => page.title()).toBe('Health · production · olap-warden');
    const colour = "getComputedStyle(document.querySelector('.where')).backgroundColor";
    expect(await page.evaluate<string>(colour)).toBe('rgb(179, 38, 30)');
    await page.context().close();
  });
});
