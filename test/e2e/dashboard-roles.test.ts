import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Clicks, signIn, startBrowser, visit } from '../support/browser.ts';
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
  it('starts at the queries, shows no other page, and requests nothing that is denied', async () => {
    const { bearerToken } = await tokenWith('table-reader');
    const { page, problems } = await visit(browser, gateway.url);
    const denied = deniedCalls(page);
    await signIn(page, bearerToken);
    await page.waitForURL('**/ui/queries');
    await page.getByRole('heading', { level: 1, name: 'Queries' }).waitFor();
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    expect(await links.allTextContents()).toEqual(['Cluster', 'Queries']);
    await page.locator('.cm-content').waitFor();
    await page.goto(`${gateway.url}/ui/access`);
    await page.getByRole('heading', { level: 1, name: 'Your roles do not include the page Access' }).waitFor();
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
  it('starts at health, without the button to start a run', async () => {
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

describe('the form that grants access', () => {
  it('lets a group read a table until Friday, with a token for its app, in at most 8 clicks', async () => {
    const { page, problems } = await visit(browser, gateway.url, '/ui/access');
    await page.route(/\/tables$/, (route) => route.fulfill({ json: { tables: ['customers', 'orders'] } }));
    await signIn(page, gateway.token);
    const clicks = new Clicks();
    await clicks.on(page.getByRole('link', { name: 'Grant' }));
    await page.getByRole('heading', { name: 'Grant access to tables' }).waitFor();
    await expect
      .poll(() => page.evaluate<string>('document.activeElement.labels?.[0]?.textContent ?? ""'))
      .toBe('Subject');
    await page.keyboard.type('analysts', { delay: 20 });
    await clicks.select(page.getByLabel('Subject is'), 'group');
    await clicks.on(page.getByRole('textbox', { name: 'Tables' }));
    await page.keyboard.type('ord', { delay: 20 });
    await page.getByRole('button', { name: 'Add orders' }).waitFor();
    await page.keyboard.press('Enter');
    await clicks.on(page.getByRole('button', { name: 'Friday' }));
    await clicks.on(page.getByLabel(/Also create a service token/));
    const policy = JSON.parse((await page.locator('#grant-policy').textContent()) ?? '') as object;
    await clicks.on(page.getByRole('button', { name: 'Grant', exact: true }));
    const dialog = page.getByRole('dialog', { name: 'New token' });
    const bearer = (await dialog.locator('pre').textContent()) ?? '';
    expect(clicks.count).toBeLessThanOrEqual(8);
    await dialog.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByText('analysts may read orders until').waitFor();
    expect(problems).toEqual([]);

    // What the form showed is what exists, and both subjects have it until the end of Friday.
    const stored = await gateway.call('GET', `${RBAC}/policies/srn2:policy%23analysts-read-orders`);
    expect(((await stored.json()) as { policyDocument: object }).policyDocument).toEqual(policy);
    const assignments = (await (
      await gateway.call('GET', `${RBAC}/roles/srn2:role%23analysts-read-orders/assignments`)
    ).json()) as { subject: string; subjectType: string; expiresAt: string }[];
    expect(assignments.map(({ subjectType }) => subjectType).toSorted()).toEqual(['group', 'service-token']);
    for (const { expiresAt } of assignments) {
      const end = new Date(expiresAt);
      expect([end.getDay(), end.getHours(), end.getMinutes()]).toEqual([5, 23, 59]);
      expect(end.getTime() - Date.now()).toBeLessThan(7 * 86_400_000);
    }
    const who = await gateway.call('GET', `${RBAC}/whoami`, undefined, { authorization: `Bearer ${bearer}` });
    expect(((await who.json()) as { roles: { name: string }[] }).roles.map(({ name }) => name)).toEqual([
      'analysts-read-orders',
    ]);
    await page.context().close();
  });

  it('continues after a step that failed, and creates nothing twice', async () => {
    const { page } = await visit(browser, gateway.url, '/ui/access?tab=grant');
    await signIn(page, gateway.token);
    await page.getByLabel('Subject', { exact: true }).fill('ada@example.com');
    await page.getByRole('textbox', { name: 'Tables' }).fill('sales*');
    await page.keyboard.press('Enter');
    await page.getByLabel(/^manage/).check();
    await page.getByLabel(/^Also create a service token/).check();
    await page.route(/attach-policy$/, (route) => route.fulfill({ status: 503, json: { message: 'no contact' } }));
    await page.getByRole('button', { name: 'Grant', exact: true }).click();
    await page.getByText('no contact').waitFor();
    await page.getByText(/The policy ada-manage-sales and its role exist already/).waitFor();
    expect(await page.getByRole('textbox', { name: 'Tables' }).isDisabled()).toBe(true);
    await page.unroute(/attach-policy$/);
    // The secret of the token is shown although the form is not finished: Start again would lose it.
    await page.route(/create-assignment$/, (route) => route.fulfill({ status: 503, json: { message: 'no contact' } }));
    await page.getByRole('button', { name: 'Grant', exact: true }).click();
    const secret = page.getByRole('dialog', { name: 'New token' });
    expect(await secret.locator('.secret').textContent()).toMatch(/^svc-/);
    await secret.getByText('Assign a role to it before use.').waitFor();
    await secret.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByText(/, and the token [A-Za-z0-9]{16}\./).waitFor();
    await page.getByRole('button', { name: 'Start again' }).waitFor();
    await page.unroute(/create-assignment$/);
    await page.getByRole('button', { name: 'Grant', exact: true }).click();
    await page.getByText('ada@example.com may manage sales*').waitFor();
    const held = await gateway.call('GET', `${RBAC}/roles/srn2:role%23ada-manage-sales/policies`);
    expect(((await held.json()) as { name: string }[]).map(({ name }) => name)).toEqual(['ada-manage-sales']);
    await page.context().close();
  });
});

describe('who can', () => {
  it('decides for several subjects of one person, also from the address, and names a token by its description', async () => {
    const { page } = await visit(browser, gateway.url, '/ui/who-can');
    await signIn(page, gateway.token);
    await gateway.call('POST', `${RBAC}/roles/srn2:role%23health-reader/create-assignment`, {
      subjectType: 'group',
      subject: 'on-call',
    });
    await page.getByLabel('Subject', { exact: true }).fill('bob@example.com');
    await page.getByLabel('Action', { exact: true }).fill('GetHealth');
    await page.getByLabel('Resource', { exact: true }).fill('srn2:cluster#pinot-eu1');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('.decision').getByText('DENY').waitFor();
    await page.getByRole('button', { name: 'And another subject' }).click();
    await page.getByLabel('Subject is').selectOption('group');
    await page.getByLabel('Subject', { exact: true }).fill('on-call');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('.decision').getByText('ALLOW').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Remove user-email bob@example.com' }).waitFor();
    await page.locator('.decision').getByText('ALLOW').waitFor();

    const { accessKey } = await tokenWith('health-reader');
    await page.getByLabel('Subject is').selectOption('service-token');
    await page.getByLabel('Subject', { exact: true }).fill(accessKey);
    await page.getByText('Token: narrow').waitFor();
    await page.context().close();
  });

  it('answers who may do another action than Query on another resource than a table', async () => {
    const { page } = await visit(browser, gateway.url, '/ui/who-can');
    await signIn(page, gateway.token);
    await page.getByLabel('Action to look up').fill('DeleteTable');
    await page.getByLabel('Resource to look up').fill('srn2:table#orders');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('region', { name: 'Roles that allow it' }).getByText('cluster-admin').first().waitFor();
    await page.getByLabel('Action to look up').fill('DeleteRole');
    await page.getByLabel('Resource to look up').fill('srn2:role#analysts');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('region', { name: 'Roles that allow it' }).getByText('rbac-admin').first().waitFor();
    await page.context().close();
  });
});

describe('the controls of the header', () => {
  const theme = (page: Page): Promise<string | null> => page.locator('html').getAttribute('data-theme');

  it('keep the theme and the time zone for the next visit, and nothing else in the browser', async () => {
    const { page, problems } = await visit(browser, gateway.url, '/ui/access?tab=assignments', {
      timezoneId: 'Asia/Tokyo',
      colorScheme: 'light',
    });
    await signIn(page, gateway.token);
    const time = page.locator('tbody time').first();
    await time.waitFor();
    const local = await time.getAttribute('data-exact');
    expect(local).toMatch(/ \d\d:\d\d:\d\d GMT\+9$/);
    await page.getByRole('button', { name: 'UTC' }).click();
    await expect.poll(() => time.getAttribute('data-exact')).toMatch(/ \d\d:\d\d:\d\d UTC$/);
    await page.getByRole('button', { name: 'Use dark colours' }).click();
    await page.reload();
    await time.waitFor();
    expect(await theme(page)).toBe('dark');
    expect(await time.getAttribute('data-exact')).toMatch(/ UTC$/);
    expect(await page.evaluate<string>('JSON.stringify({ ...localStorage })')).toBe(
      JSON.stringify({ 'olap-warden-preferences': '{"theme":"dark","utc":true}' }),
    );
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('lists the shortcuts; the focus returns to where it was when a dialog closes', async () => {
    const { page } = await visit(browser, gateway.url, '/ui/access');
    await signIn(page, gateway.token);
    const opener = page.getByRole('button', { name: 'New role' });
    await opener.focus();
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await list.getByText('Run the query').waitFor();
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
    const focused = (): Promise<string> => page.evaluate<string>('document.activeElement.textContent');
    expect(await focused()).toBe('New role');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'New role' });
    await dialog.waitFor();
    // The first field has the focus, and a `?` in it is text.
    await page.keyboard.type('a?');
    expect(await dialog.getByLabel('Name').inputValue()).toBe('a?');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await focused()).toBe('New role');
    await page.keyboard.press('/');
    await page.keyboard.type('table-r');
    expect(await page.getByRole('searchbox', { name: 'Search Roles' }).inputValue()).toBe('table-r');
    await page.context().close();
  });
});
