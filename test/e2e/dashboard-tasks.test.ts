import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from 'vitest';
import { Clicks, startBrowser, visit, type Visit } from '../support/browser.ts';
import { sharedPinot } from '../support/pinot.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

// What people do with the dashboard, from the sign-in on, with the keys of a keyboard and counted clicks. The grant of access is in
// dashboard-roles.test.ts, and what is typed into editors in dashboard-typing.test.ts.

const SQL = 'SELECT orderId, quantity FROM orders ORDER BY orderedAt LIMIT 500000';
/** Milliseconds between two keys. */
const DELAY = { delay: 20 };

let browser: Browser;
let gateway: Standalone;
let open: Visit;
let page: Page;
let clicks: Clicks;

beforeAll(async () => {
  const { controllerUrl } = await sharedPinot();
  gateway = await startStandalone({ controllers: controllerUrl });
  await gateway.call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask&wait=true');
  browser = await startBrowser();
});
beforeEach(async () => {
  clicks = new Clicks();
  open = await visit(browser, gateway.url);
  ({ page } = open);
  await page.getByLabel('Token').waitFor();
});
afterEach(async () => {
  expect(open.problems).toEqual([]);
  await page.context().close();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** The field for the token has the focus. */
async function signInByKeys(token = gateway.token): Promise<void> {
  await page.keyboard.type(token);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

const link = (name: string) => page.getByRole('link', { name, exact: true });

describe('someone on call', () => {
  it('sees at once what fails, and is at its runbook and at all findings of its table with one click each', async () => {
    await signInByKeys();
    await page.getByRole('heading', { level: 1, name: /checks? fail/ }).waitFor();
    await clicks.on(page.locator('.check-fail .check-head').first());
    const body = page.locator('.check-body');
    expect(await body.getByRole('link', { name: 'Runbook' }).getAttribute('href')).toMatch(
      /^\/docs\/checks\/[A-Z_]+$/u,
    );
    const findings = body.locator('.finding');
    await clicks.on(findings.first().locator('.entity').getByRole('link'));
    await expect.poll(() => new URL(page.url()).pathname).toBe('/ui/cluster');
    await page.getByRole('region', { name: 'Findings', exact: true }).locator('.finding').first().waitFor();
    expect(clicks.count).toBe(2);
    await page.goBack();
    await expect.poll(() => new URL(page.url()).pathname).toBe('/ui/health');
  });
});

describe('an administrator', () => {
  it('asks who may delete a table, with 2 clicks', async () => {
    await signInByKeys();
    await clicks.on(link('Who can'));
    await clicks.on(page.getByLabel('Action to look up'));
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('DeleteTable', DELAY);
    await page.keyboard.press('Tab');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('srn2:table#orders', DELAY);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Roles that allow it' }).getByText('cluster-admin').first().waitFor();
    await page.getByRole('region', { name: 'Who may do it' }).getByText('admin@localhost').first().waitFor();
    expect(clicks.count).toBe(2);
  });
});

describe('an analyst', () => {
  it('goes to row 432,100 of 500,000 and downloads all of them, with 4 clicks', async () => {
    await signInByKeys();
    await clicks.on(link('Queries'));
    await clicks.on(page.locator('.cm-content'));
    await page.keyboard.type(SQL, DELAY);
    await page.keyboard.press('ControlOrMeta+Enter');
    await page.getByText('rows 1–100 of 500,000').waitFor();
    await clicks.on(page.getByLabel('Go to row'));
    await page.keyboard.type('432100', DELAY);
    await page.keyboard.press('Enter');
    await page.getByText('rows 432,100–432,199 of 500,000').waitFor();
    const shown = await page.locator('.grid-row[aria-rowindex]').first().locator('[role=gridcell]').first().innerText();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      clicks.on(page.getByRole('group', { name: 'Download' }).getByRole('button', { name: 'CSV', exact: true })),
    ]);
    expect(clicks.count).toBe(4);
    let lines = 0;
    let wanted = '';
    for await (const line of createInterface(createReadStream(await file.path()))) {
      // The first line has the names of the columns.
      if (lines === 432_100) wanted = line;
      lines++;
    }
    expect(lines).toBe(500_001);
    expect(wanted.split(',')[0]).toBe(shown);
  });

  it('finds the rows of an earlier visit in my results, and again after a reload, with 2 clicks', async () => {
    await gateway.call('POST', '/query/sql?doPaginate=true', { sql: 'SELECT orderId FROM orders LIMIT 4567' });
    await signInByKeys();
    await clicks.on(link('Queries'));
    const mine = page.getByRole('region', { name: 'My results' });
    await clicks.on(mine.getByRole('link', { name: /LIMIT 4567$/u }).first());
    await page.getByText('rows 1–100 of 4,567').waitFor();
    expect(clicks.count).toBe(2);
    await page.getByLabel('Go to row').press('4');
    await page.keyboard.type('321', DELAY);
    await page.keyboard.press('Enter');
    await page.getByText('rows 4,321–4,420 of 4,567').waitFor();
    await page.reload();
    await page.getByText('rows 4,321–4,420 of 4,567').waitFor();
    expect(await page.locator('.cm-content').textContent()).toContain('LIMIT 4567');
  });

  it('writes a query for one of all tables, with 3 clicks', async () => {
    await signInByKeys();
    await clicks.on(link('Queries'));
    await clicks.on(page.getByRole('searchbox', { name: 'Search tables' }));
    await page.keyboard.type('custom', DELAY);
    await expect.poll(() => page.getByRole('searchbox', { name: 'Search tables' }).inputValue()).toBe('custom');
    await clicks.on(page.getByRole('button', { name: 'customers', exact: true }));
    expect(await page.locator('.cm-content').textContent()).toBe('SELECT * FROM customers LIMIT 1000');
    expect(clicks.count).toBe(3);
  });

  it('with a role for tables only signs in without a click at the queries', async () => {
    const rbac = '/api/v1/rbac-manager';
    const made = (await (await gateway.call('POST', `${rbac}/service-tokens`, { description: 'narrow' })).json()) as {
      accessKey: string;
      bearerToken: string;
    };
    const subject = { subject: made.accessKey, subjectType: 'service-token' };
    await gateway.call('POST', `${rbac}/roles/srn2:role%23table-reader/create-assignment`, subject);
    await signInByKeys(made.bearerToken);
    await page.waitForURL('**/ui/queries');
    expect(await page.getByRole('navigation').first().innerText()).not.toContain('Health');
  });
});
