import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { signIn, startBrowser, visit, type Visit } from '../support/browser.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

const RBAC = '/api/v1/rbac-manager';
const ROLE = `${RBAC}/roles/srn2:role%23analysts`;

let browser: Browser;
let gateway: Standalone;
let open: Visit;
let page: Page;

beforeAll(async () => {
  gateway = await startStandalone();
  browser = await startBrowser();
  open = await visit(browser, gateway.url, '/ui/access');
  ({ page } = open);
  await signIn(page, gateway.token);
  await gateway.call('POST', `${RBAC}/roles`, { name: 'analysts' });
  await assign('ada@example.com');
});
afterEach(() => {
  expect(open.problems).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

async function assign(subject: string, more: object = {}): Promise<void> {
  const body = { subject, subjectType: 'user-email', ...more };
  expect((await gateway.call('POST', `${ROLE}/create-assignment`, body)).status).toBe(200);
}

const subjects = async (): Promise<{ subject: string; expiresAt?: string | null }[]> =>
  (await (await gateway.call('GET', `${ROLE}/assignments`)).json()) as { subject: string }[];
const button = (name: string | RegExp, within: Page | Locator = page): Locator =>
  within.getByRole('button', { name, exact: true });
const show = async (path: string): Promise<void> => {
  await page.goto(`${gateway.url}/ui${path}`);
};

describe('what takes something away', () => {
  it('names the consequence, and is not confirmed by a double click', async () => {
    await show('/access?tab=roles&name=analysts');
    await page.getByRole('region', { name: 'Assigned to' }).getByText('ada@example.com').waitFor();
    await button('Delete the role').dblclick();
    const dialog = page.getByRole('dialog', { name: 'Delete the role?' });
    await dialog.getByText('1 subject loses analysts: ada@example.com.').waitFor();
    expect((await gateway.call('GET', ROLE)).status).toBe(200);
    const confirm = button('Delete the role', dialog);
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel('Type analysts to confirm').fill('analyst');
    expect(await confirm.isDisabled()).toBe(true);
    await button('Cancel', dialog).click();
    await dialog.waitFor({ state: 'detached' });
  });

  it('of an assignment can be undone, with its end', async () => {
    await assign('bea@example.com', { expiresAt: '2040-01-31T12:30:00.000Z' });
    await show('/access?tab=roles&name=analysts');
    const list = page.getByRole('region', { name: 'Assigned to' });
    await button('Revoke (bea@example.com)', list).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke?' });
    await button('Revoke', dialog).click();
    await dialog.waitFor({ state: 'detached' });
    await list.getByText('bea@example.com').waitFor({ state: 'detached' });
    expect(await subjects()).toHaveLength(1);
    const notice = page.getByRole('listitem').filter({ hasText: 'bea@example.com lost the role analysts.' });
    await button('Undo', notice).click();
    await list.getByText('bea@example.com').waitFor();
    await notice.waitFor({ state: 'detached' });
    const restored = (await subjects()).find(({ subject }) => subject === 'bea@example.com');
    expect(restored?.expiresAt).toMatch(/^2040-01-31T12:30/);
  });

  it('of a policy at a role can be undone', async () => {
    await gateway.call('POST', `${ROLE}/attach-policy`, { policySrn: 'srn2:policy#table-reader' });
    await show('/access?tab=roles&name=analysts');
    const list = page.getByRole('region', { name: 'Policies' });
    await button('Detach', list).click();
    await page.getByText('This role has no policies and allows nothing.').waitFor();
    await button('Undo').click();
    await list.getByRole('link', { name: 'table-reader' }).waitFor();
  });
});

describe('typed work', () => {
  it('of a grant stays on another tab and after a reload, and goes at sign-out', async () => {
    const other = await visit(browser, gateway.url, '/ui/access?tab=grant');
    await signIn(other.page, gateway.token);
    const subject = other.page.getByLabel('Subject', { exact: true });
    await subject.fill('half a thought');
    await other.page.getByRole('link', { name: 'Roles' }).click();
    await other.page.getByText('Select a role or create one.').waitFor();
    await other.page.getByRole('link', { name: 'Grant' }).click();
    expect(await subject.inputValue()).toBe('half a thought');
    await other.page.reload();
    await subject.waitFor();
    expect(await subject.inputValue()).toBe('half a thought');
    await other.page.getByRole('button', { name: 'Sign out' }).click();
    await other.page.getByLabel('Token').waitFor();
    expect(await other.page.evaluate<number>('sessionStorage.length')).toBe(0);
    await other.page.context().close();
  });

  it('of a policy stays after a reload, with the version on which it is based', async () => {
    const statements = [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] }];
    await gateway.call('POST', `${RBAC}/policies`, { name: 'typed', policyDocument: { version: 'v1', statements } });
    await show('/access?tab=policies&name=typed');
    await page.getByLabel('Description').fill('mine');
    await gateway.call('PUT', `${RBAC}/policies/srn2:policy%23typed`, { description: 'theirs' });
    await page.reload();
    await page.getByRole('alert', { name: 'Conflict' }).waitFor();
    expect(await page.getByLabel('Description').inputValue()).toBe('mine');
    await button('Discard mine').click();
  });
});

describe('the warnings of a response', () => {
  it('are shown until they are closed', async () => {
    const statements = [{ effect: 'allow', actions: ['GetRole'], resources: ['srn2:role#analists'] }];
    const policyDocument = { version: 'v1', statements };
    const made = await gateway.call('POST', `${RBAC}/policies`, { name: 'misspelt', policyDocument });
    const { warnings = [] } = (await made.json()) as { warnings?: string[] };
    expect(warnings).toHaveLength(1);
    await show('/access?tab=policies&name=misspelt');
    await page.getByLabel('Description').fill('with a misspelt name');
    await button('Save').click();
    const notice = page.getByRole('listitem').filter({ hasText: warnings[0]?.replaceAll('`', '') ?? '' });
    await notice.waitFor();
    await page.getByRole('link', { name: 'Roles' }).click();
    await button('Close the notice', notice).click();
    await notice.waitFor({ state: 'detached' });
  });
});

describe('hidden characters', () => {
  it('of names are visible wherever the names are shown', async () => {
    await gateway.call('POST', `${ROLE}/create-assignment`, { subject: 'ana\u200Blysts\u202E', subjectType: 'group' });
    const shown = 'ana⟨U+200B⟩lysts⟨U+202E⟩';
    await show('/access?tab=roles&name=analysts');
    await page.getByRole('region', { name: 'Assigned to' }).getByText(shown).waitFor();
    await show('/access?tab=assignments');
    await page.getByRole('row', { name: `${shown} group analysts` }).waitFor();
    await show('/who-can?whoAction=Query&whoResource=srn2:table%23orders');
    await page.getByRole('row', { name: shown }).waitFor();
    expect(await page.locator('main').textContent()).not.toContain('\u202E');
  });

  it('in a token are named at the sign-in', async () => {
    const other = await visit(browser, gateway.url);
    await other.page.getByLabel('Token').fill('svc-0000\u200B-secret');
    await other.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await other.page.getByRole('alert').getByText('⟨U+200B⟩').waitFor();
    await other.page.context().close();
  });
});

describe('a response that the gateway did not mean', () => {
  const list = /rbac-manager\/roles$/;

  it.each([
    [
      'an overloaded gateway',
      { status: 503, json: { message: 'the gateway is overloaded' }, headers: { 'retry-after': '7' } },
      'the gateway is overloaded. Try again in 7 s.',
    ],
    [
      'the error page of a proxy',
      { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' },
      'it is probably from a proxy before the gateway. It says: Bad Gateway',
    ],
    [
      'a page of a proxy instead of JSON',
      { status: 200, contentType: 'text/html', body: '<title>Log in to the network</title>' },
      'The response is not JSON: it is probably from a proxy before the gateway. It says: Log in to the network',
    ],
  ])('is explained and can be repeated: %s', async (_what, response, text) => {
    await page.route(list, (route) => route.fulfill(response));
    await show('/access?tab=roles');
    const alert = page.getByRole('alert').filter({ hasText: text });
    await alert.waitFor();
    await page.unroute(list);
    await button('Try again', alert).click();
    await page.locator('.item', { hasText: 'analysts' }).waitFor();
    await alert.waitFor({ state: 'detached' });
  });
});
