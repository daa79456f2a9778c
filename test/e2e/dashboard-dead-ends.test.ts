import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Clicks, signIn, startBrowser, typeInto, visit, type Visit } from '../support/browser.ts';
import { sharedPinot } from '../support/pinot.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

// From everything that the dashboard names or refuses, a way leads on.

const RBAC = '/api/v1/rbac-manager';

let browser: Browser;
let gateway: Standalone;
let open: Visit;
let page: Page;
let clicks: Clicks;

beforeAll(async () => {
  const { controllerUrl } = await sharedPinot();
  gateway = await startStandalone({ controllers: controllerUrl, 'ui-contact': 'the data platform team' });
  await gateway.call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask&wait=true');
  browser = await startBrowser();
});
beforeEach(async () => {
  clicks = new Clicks();
  open = await visit(browser, gateway.url, '/ui/health');
  ({ page } = open);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
});
afterEach(async () => {
  expect(open.problems).toEqual([]);
  await page.context().close();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

const button = (name: string | RegExp, within: Page | Locator = page): Locator =>
  within.getByRole('button', { name, exact: true });
const link = (name: string | RegExp, within: Page | Locator = page): Locator =>
  within.getByRole('link', { name, exact: true });
const region = (name: string): Locator => page.getByRole('region', { name, exact: true });
const show = async (path: string): Promise<void> => {
  await page.goto(`${gateway.url}/ui${path}`);
};
const clipboard = (): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');
const post = async <T>(path: string, body: object): Promise<T> => {
  const answer = await gateway.call('POST', RBAC + path, body);
  const text = await answer.text();
  expect([answer.status, text]).toEqual([200, text]);
  return (text === '' ? undefined : JSON.parse(text)) as T;
};
const allow = (actions: string[], resources: string[]): object => ({
  version: 'v1',
  statements: [{ effect: 'allow', actions, resources }],
});

/** A service token with a role that has one policy. */
async function callerWith(name: string, policyDocument: object): Promise<{ bearerToken: string; accessKey: string }> {
  await post('/policies', { name, policyDocument });
  await post('/roles', { name });
  await post(`/roles/srn2:role%23${name}/attach-policy`, { policySrn: `srn2:policy#${name}` });
  const token = await post<{ bearerToken: string; accessKey: string }>('/service-tokens', {
    description: `app ${name}`,
  });
  const subject = { subject: token.accessKey, subjectType: 'service-token' };
  await post(`/roles/srn2:role%23${name}/create-assignment`, subject);
  return token;
}

describe('a name in a finding', () => {
  it('leads to all that is known of the instance, and from there to that of its table', async () => {
    const { instances } = (await (await gateway.call('GET', '/instances')).json()) as { instances: string[] };
    const server = instances.find((name) => name.startsWith('Server_')) ?? '';
    const report = (await (await gateway.call('GET', '/clusterHealth')).json()) as { checks: { name: string }[] };
    const checks = report.checks.map((check) => ({ ...check, status: 'PASS', findings: [], findingCount: 0 }));
    const message = `the replica on ${server} of the table \`orders\` is in error`;
    const findings = [{ entityType: 'segment', entity: 'orders_0', message }];
    const failing = { ...checks[0], status: 'FAIL', findings, findingCount: 1 };
    await page.route(/clusterHealth$/, (route) =>
      route.fulfill({ json: { ...report, causes: [], checks: [failing, ...checks.slice(1)] } }),
    );
    await signIn(page, gateway.token);
    await page.getByLabel('Instance').fill(server.slice(0, -1));
    await page.locator('.check-head').first().click();
    expect(await page.locator('.check').count()).toBe(1);
    await link(server, page.locator('.finding')).click();
    const facts = page.locator('article .facts').first();
    await facts.getByText('enabled').waitFor();
    await facts.getByText('DefaultTenant_OFFLINE').waitFor();
    await region('Findings').getByText('is in error').waitFor();
    const row = region('Tables with segments on it').getByRole('row', { name: /^orders_OFFLINE/ });
    expect(Number((await row.getByRole('cell').last().textContent())?.replace(',', ''))).toBeGreaterThan(0);

    await link('orders_OFFLINE', row).click();
    await region('OFFLINE').getByText('Replicas').waitFor();
    await region('Servers with segments of it').getByRole('row', { name: server }).waitFor();
    await region('Size and replicas')
      .getByText(/B on all servers together/)
      .waitFor();
    await region('Findings').getByText('is in error').waitFor();
    await region('Who may do it').getByRole('row').nth(1).waitFor();
    await link('Query it').click();
    await expect.poll(() => page.locator('.cm-content').textContent()).toBe('SELECT * FROM orders LIMIT 100');
  });
});

describe('a refusal', () => {
  it('says whom to ask and for what, and whoever may grants it by the form, filled in, with 4 clicks', async () => {
    const { bearerToken, accessKey } = await callerWith('reads-customers', allow(['Query'], ['srn2:table#customers']));
    await signIn(page, bearerToken);
    await show('/queries');
    await page.locator('.cm-content').waitFor();
    await typeInto(page.locator('.cm-content'), 'SELECT city FROM orders LIMIT 3');
    await page.keyboard.press('ControlOrMeta+Enter');
    const alert = page.getByRole('alert');
    await alert.getByText('Ask the data platform team.').waitFor();
    expect(await link('Grant this').count()).toBe(0);
    await button('Copy the request', alert).click();
    await button('Copied', alert).waitFor();
    const request = await clipboard();
    expect(request).toMatch(
      new RegExp(
        `^Please give me \\(srn2:service-token#.+\\) a role that allows Query on srn2:table#orders \\(cluster `,
      ),
    );
    const form = /https?:\S+$/.exec(request)?.[0] ?? '';

    const administrator = await visit(browser, gateway.url, form.slice(form.indexOf('/ui/')));
    page = administrator.page;
    await signIn(page, gateway.token);
    await page.getByText(`Token: app reads-customers`).waitFor();
    expect(await page.getByLabel('Subject', { exact: true }).inputValue()).toBe(accessKey);
    await clicks.on(button('30 days'));
    await clicks.on(button('Grant'));
    await page.getByText(/may read orders until/).waitFor();
    expect(new URL(page.url()).search).toBe('?tab=grant');
    expect(clicks.count).toBeLessThanOrEqual(4);
    expect(administrator.problems).toEqual([]);
    const answer = await fetch(`${gateway.url}/query/sql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearerToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sql: 'SELECT city FROM orders LIMIT 3' }),
    });
    expect(answer.status).toBe(200);
  });

  it('is found in who can, and mended from there, with at most 6 clicks', async () => {
    await signIn(page, gateway.token);
    await clicks.on(link('Who can'));
    await clicks.on(page.getByLabel('Subject', { exact: true }));
    await page.keyboard.type('refused@example.com');
    await clicks.on(page.getByLabel('Resource', { exact: true }));
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('srn2:table#orders');
    await page.keyboard.press('Enter');
    await clicks.on(link('Grant this', page.locator('.decision')));
    await button('Remove orders').waitFor();
    await clicks.on(button('Friday'));
    await clicks.on(button('Grant'));
    await page.getByText('refused@example.com may read orders until').waitFor();
    expect(clicks.count).toBeLessThanOrEqual(6);
  });
});

describe('the form that grants access', () => {
  const subject = (): Locator => page.getByLabel('Subject', { exact: true });
  async function addTable(name: string): Promise<void> {
    await page.getByRole('textbox', { name: 'Tables' }).fill(name);
    await page.keyboard.press('Enter');
    await button(`Remove ${name}`).waitFor();
  }

  it('marks a subject and a table that nobody knows before it grants anything', async () => {
    await signIn(page, gateway.token);
    await show('/access?tab=grant');
    await subject().fill('mispelt@example.com');
    await addTable('ordres');
    await page.getByText('mispelt@example.com has no role yet: check the spelling.').waitFor();
    await page.getByText('You see no table ordres.').waitFor();
  });

  it('adds a second table to the role of the first one, after it has shown what changes', async () => {
    await signIn(page, gateway.token);
    await show('/access?tab=grant');
    await subject().fill('eve@example.com');
    await addTable('orders');
    await button('Grant').click();
    await page.getByText('eve@example.com may read orders').waitFor();
    await button('Grant other access').click();
    await subject().fill('eve@example.com');
    await addTable('customers');
    await page.getByText('exists: Grant extends it').waitFor();
    await region('What Grant changes in the policy').getByText('srn2:table#customers').first().waitFor();
    await button('Friday').click();
    await button('Grant').click();
    await page.getByText('eve@example.com may read customers until').waitFor();
    const held = await gateway.call('GET', `${RBAC}/assignments?subject=eve@example.com&subjectType=user-email`);
    const assignments = (await held.json()) as { role: string; expiresAt: string | null }[];
    expect(assignments.map(({ role }) => role)).toEqual(['eve-read-orders']);
    expect(assignments[0]?.expiresAt).not.toBeNull();
    const policy = await gateway.call('GET', `${RBAC}/policies/srn2:policy%23eve-read-orders`);
    const { policyDocument } = (await policy.json()) as { policyDocument: { statements: { resources: string[] }[] } };
    expect(policyDocument.statements.map(({ resources }) => resources)).toEqual([
      ['srn2:table#orders', 'srn2:table#customers'],
    ]);
  });
});

describe('a service token', () => {
  it('is named by its description in the header, and rotated with 3 clicks', async () => {
    const { bearerToken } = await callerWith('rotated', allow(['*'], ['*']));
    await signIn(page, bearerToken);
    expect(await page.locator('.who').innerText()).toBe('app rotated');
    await show('/access?tab=tokens');
    await clicks.on(page.locator('.item', { hasText: 'app rotated' }));
    await clicks.on(button('Rotate'));
    await clicks.on(button('for a day'));
    const rotated = page.getByRole('dialog', { name: 'Rotated token' });
    expect(await rotated.locator('.secret').textContent()).toMatch(/^svc-/);
    expect(clicks.count).toBe(3);
    await button('I have saved it', rotated).click();
    await page.getByText('a former secret is accepted until').waitFor();
  });
});

describe('a mute', () => {
  it('of a finding for two hours takes 3 clicks, and its field shows the time in the zone of the page', async () => {
    await signIn(page, gateway.token);
    await button('UTC').click();
    await page.locator('.check-fail .check-head').first().click();
    await clicks.on(button(/^Mute /, page.locator('.finding')).first());
    const dialog = page.getByRole('dialog', { name: 'Mute findings' });
    await expect.poll(() => page.evaluate('document.activeElement.labels?.[0]?.textContent')).toBe('Reason');
    await page.keyboard.type('known');
    await clicks.on(button('2 hours', dialog));
    await dialog.getByText(/time zone UTC$/).waitFor();
    const shown = await dialog.getByLabel('Until').inputValue();
    expect(Math.abs(Date.parse(`${shown}Z`) - Date.now() - 7_200_000)).toBeLessThan(120_000);
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/mutes'));
    await clicks.on(button('Mute', dialog));
    expect(((await sent).postDataJSON() as { until: string }).until).toBe(`${shown}:00.000Z`);
    await dialog.waitFor({ state: 'detached' });
    expect(clicks.count).toBe(3);
  });

  it('of a whole server is offered at its cause and on its page', async () => {
    const report = (await (await gateway.call('GET', '/clusterHealth')).json()) as object;
    const entity = 'Server_10.0.0.1_8098';
    const cause = {
      ...{ id: `server/${entity}`, kind: 'instance-disabled', entityType: 'server', entity, severity: 'warning' },
      ...{ since: new Date().toISOString(), message: `server \`${entity}\` is disabled`, checks: [], findingCount: 7 },
    };
    await page.route(/clusterHealth$/, (route) => route.fulfill({ json: { ...report, causes: [cause] } }));
    await signIn(page, gateway.token);
    await button(`Mute this server ${entity}`, region('Causes')).click();
    const dialog = page.getByRole('dialog', { name: 'Mute findings' });
    expect(await dialog.getByLabel('Entity').inputValue()).toBe(entity);
    expect(await dialog.getByLabel('Check').inputValue()).toBe('');
  });
});

describe('what a caller may not do', () => {
  const tabs = (): Promise<string[]> =>
    page.getByRole('navigation', { name: 'Kinds' }).getByRole('link').allTextContents();

  it('is not offered to who only reads roles', async () => {
    const { bearerToken } = await callerWith('auditor', allow(['GetRole', 'GetAssignment'], ['srn2:role#*']));
    await signIn(page, bearerToken);
    await show('/access?tab=roles&name=auditor');
    await page.getByRole('heading', { name: 'auditor' }).waitFor();
    expect(await tabs()).toEqual(['Roles', 'Assignments', 'Review']);
    for (const name of ['New role', 'Save', 'Attach', 'Assign', 'Delete the role', /^Revoke/])
      expect([name, await button(name).count()]).toEqual([name, 0]);
  });

  it('is not proposed to who administers the roles of a team: names begin as they must', async () => {
    const { bearerToken } = await callerWith('team-lead', allow(['GetRole', 'CreateRole'], ['srn2:role#team-a-*']));
    await signIn(page, bearerToken);
    await show('/access');
    await button('New role').click();
    const dialog = page.getByRole('dialog', { name: 'New role' });
    await dialog.getByText('You may create team-a-*.').waitFor();
    expect(await dialog.getByLabel('Name').inputValue()).toBe('team-a-');
    await dialog.getByLabel('Name').press('End');
    await page.keyboard.type('readers');
    await button('Create', dialog).click();
    await page.getByRole('heading', { name: 'team-a-readers' }).waitFor();
  });
});

describe('with 5,001 policies', () => {
  it('one is found by typing, and attached', async () => {
    await post('/roles', { name: 'many' });
    const others = Array.from({ length: 5000 }, (_, index) => ({
      ...{ name: `policy-${index}`, srn: `srn2:policy#policy-${index}`, description: '' },
    }));
    const known = [...others, { name: 'table-reader', srn: 'srn2:policy#table-reader', description: '' }];
    await page.route(/rbac-manager\/policies$/, (route) => route.fulfill({ json: known }));
    await signIn(page, gateway.token);
    await show('/access?tab=roles&name=many');
    const field = region('Policies').getByLabel('Policy');
    await field.fill('table-read');
    expect(await button('Attach').isDisabled()).toBe(true);
    expect(await region('Policies').locator('option').count()).toBe(1);
    await field.fill('table-reader');
    await button('Attach').click();
    await link('table-reader', region('Policies')).waitFor();
    expect(await field.inputValue()).toBe('');
  });
});

describe('the layout', () => {
  /** By how many pixels a table is wider than its place. */
  const overflow =
    "Math.max(0, ...[...document.querySelectorAll('.table-scroll')].map((one) => one.scrollWidth - one.clientWidth))";

  it('has the actions of long mutes in view on a laptop, and tabs that do not move', async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    const mute = {
      ...{
        id: 'm',
        check: 'INSTANCE_ASSIGNMENT_CHECK',
        entity: `Server_${'very-long-name.'.repeat(5)}example.com_8098`,
      },
      ...{
        reason: 'accepted until the disks of the whole row are replaced '.repeat(3),
        author: 'srn2:user#ada@example.com',
      },
      ...{ until: new Date(Date.now() + 3_600_000).toISOString(), findingCount: 12, active: true },
    };
    await page.route(/clusterHealth\/mutes$/, (route) => route.fulfill({ json: [mute] }));
    await signIn(page, gateway.token);
    await page.getByText('1 mute', { exact: true }).click();
    const remove = await button(/^Remove/).boundingBox();
    expect((remove?.x ?? 1440) + (remove?.width ?? 0)).toBeLessThanOrEqual(1440);
    expect(await page.evaluate<number>(overflow)).toBe(0);
    const tabs = page.getByRole('navigation', { name: 'Kinds' }).getByRole('link');
    const places = (): Promise<number[]> =>
      tabs.evaluateAll((links) => links.map((one) => (one as unknown as { offsetLeft: number }).offsetLeft));
    await show('/access?tab=roles');
    await tabs.last().waitFor();
    const before = await places();
    await tabs.last().click();
    await page.getByText('Expires soon').waitFor();
    expect(await places()).toEqual(before);
  });

  it('of a phone has a low header, messages of failing checks, and a chosen role in view', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await signIn(page, gateway.token);
    const failing = page.locator('.check-fail .check-message').first();
    await failing.waitFor();
    expect(
      await page.locator('header.bar').evaluate((bar) => (bar as unknown as { offsetHeight: number }).offsetHeight),
    ).toBeLessThan(120);
    const shown = await failing.evaluate((message) => {
      const { scrollWidth, clientWidth } = message as unknown as { scrollWidth: number; clientWidth: number };
      return scrollWidth <= clientWidth;
    });
    expect(shown).toBe(true);
    await show('/access?tab=roles');
    await page.locator('.item', { hasText: 'cluster-admin' }).click();
    const heading = page.getByRole('heading', { level: 2, name: 'cluster-admin' });
    await heading.waitFor();
    await expect.poll(async () => (await heading.boundingBox())?.y).toBeLessThan(844 / 2);
  });
});
