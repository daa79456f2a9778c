import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { signIn, startBrowser, typeInto, visit, type Visit } from '../support/browser.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

const RBAC = '/api/v1/rbac-manager';

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
});
afterEach(() => {
  expect(open.problems).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

const button = (name: string | RegExp, within: { getByRole: Page['getByRole'] } = page) =>
  within.getByRole('button', { name, exact: true });

/** Presses a button that takes something away, and confirms in its dialog. @param name the name to type, if the dialog asks for it */
async function confirm(label: string, name?: string): Promise<void> {
  await page.getByRole('button', { name: new RegExp(`^${label}`) }).click();
  const dialog = page.getByRole('dialog');
  if (name !== undefined) await dialog.getByRole('textbox').fill(name);
  await dialog.locator('button.danger').click();
  await dialog.waitFor({ state: 'detached' });
}

/** Creates a service token with a role by REST. @returns its bearer token */
async function tokenWith(role: string): Promise<{ bearerToken: string; accessKey: string; srn: string }> {
  const made = (await (await gateway.call('POST', `${RBAC}/service-tokens`, { description: 'test' })).json()) as {
    bearerToken: string;
    accessKey: string;
    srn: string;
  };
  const subject = { subject: made.accessKey, subjectType: 'service-token' };
  const answer = await gateway.call('POST', `${RBAC}/roles/srn2:role%23${role}/create-assignment`, subject);
  expect(answer.status).toBe(200);
  return made;
}

describe('roles', () => {
  it('creates a role; shows the error for an invalid name and keeps the input', async () => {
    await button('New role').click();
    const dialog = page.getByRole('dialog', { name: 'New role' });
    await dialog.getByLabel('Name').fill('Data Analysts');
    await dialog.getByLabel('Description').fill('Who reads');
    await button('Create', dialog).click();
    expect(await dialog.getByRole('alert').textContent()).toContain('such as `data-analysts`');
    expect(await dialog.getByLabel('Description').inputValue()).toBe('Who reads');
    await dialog.getByLabel('Name').fill('data-analysts');
    await button('Create', dialog).click();
    await page.getByRole('heading', { level: 2, name: 'data-analysts' }).waitFor();
    expect(new URL(page.url()).search).toContain('name=data-analysts');
  });

  it('finds the role by search and edits it', async () => {
    await page.getByRole('searchbox', { name: 'Search Roles' }).fill('who reads');
    await expect.poll(() => page.locator('.item').count()).toBe(1);
    await page.getByLabel('Description').fill('Who reads orders');
    await button('Save').click();
    await page.locator('.item', { hasText: 'Who reads orders' }).waitFor();
    await page.getByRole('searchbox', { name: 'Search Roles' }).fill('');
  });

  it('offers no changes of a predefined role', async () => {
    await page.locator('.item', { hasText: 'table-reader' }).click();
    await page.getByText('Predefined: it can be assigned and attached, but not changed.').waitFor();
    expect(await page.getByRole('button', { name: 'Delete the role' }).isDisabled()).toBe(true);
  });
});

describe('a dialog', () => {
  it('discards its input only when it is closed twice', async () => {
    await button('New role').click();
    const dialog = page.getByRole('dialog', { name: 'New role' });
    await dialog.getByLabel('Name').fill('half');
    await page.keyboard.press('Escape');
    await dialog.getByText('Close again to discard your input.').waitFor();
    await dialog.getByLabel('Name').fill('half-done');
    await button('Close', dialog).click();
    await dialog.getByText('Close again to discard').waitFor();
    expect(await dialog.getByLabel('Name').inputValue()).toBe('half-done');
    await button('Close', dialog).click();
    await dialog.waitFor({ state: 'detached' });
    await button('New role').click();
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });
});

describe('policies', () => {
  const editor = () => page.getByRole('dialog').locator('.cm-content');

  it('completes fields and marks JSON errors at their line during input', async () => {
    await page.getByRole('link', { name: 'Policies' }).click();
    await button('New policy').click();
    await editor().waitFor();
    await typeInto(editor(), '{\n  "version": "v1",\n  "statements": [{ "effect": "allow", "actions": ["');
    await page.keyboard.type('Que', { delay: 30 });
    await page.locator('.cm-tooltip-autocomplete').getByText('Query', { exact: true }).click();
    expect(await editor().textContent()).toContain('"Query');

    await typeInto(editor(), '{\n  "version": "v1",\n  "statements": oops\n}');
    const marker = page.locator('.cm-lint-marker-error');
    await marker.waitFor();
    await expect.poll(() => lineOf(page)).toBe(3);
  });

  it('marks an error of the gateway at the line that it names', async () => {
    const statement =
      '{\n      "effect": "allow",\n      "actions": ["Qurey"],\n      "resources": ["srn2:table#orders"]\n    }';
    await typeInto(editor(), `{\n  "version": "v1",\n  "statements": [\n    ${statement}\n  ]\n}`);
    await page.getByRole('dialog').getByLabel('Name').fill('read-orders');
    await button('Create', page.getByRole('dialog')).click();
    const alert = page.getByRole('dialog').getByRole('alert');
    await alert.waitFor();
    expect(await alert.textContent()).toContain('Qurey');
    await page.locator('.cm-lint-marker-error').waitFor();
    await expect.poll(() => lineOf(page)).toBe(6);
  });

  it('creates a policy, attaches it to a role, and edits it', async () => {
    const document = {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] }],
    };
    await typeInto(editor(), JSON.stringify(document));
    await button('Create', page.getByRole('dialog')).click();
    await page.getByRole('heading', { level: 2, name: 'read-orders' }).waitFor();

    const detail = page.getByRole('article').locator('.cm-content');
    await detail.waitFor();
    document.statements[0]?.resources.push('srn2:table#customers');
    await typeInto(detail, JSON.stringify(document));
    await button('Save').click();
    await expect
      .poll(async () => (await gateway.call('GET', `${RBAC}/policies/srn2:policy%23read-orders`)).text())
      .toContain('customers');
    await page.reload();
    await detail.getByText('srn2:table#customers').waitFor();

    await page.getByRole('link', { name: 'Roles' }).click();
    await page.locator('.item', { hasText: 'data-analysts' }).click();
    await page.getByRole('combobox', { name: 'Policy' }).selectOption('read-orders');
    await button('Attach').click();
    await page.getByRole('region', { name: 'Policies' }).getByRole('link', { name: 'read-orders' }).waitFor();
  });

  it('names the roles with a policy when it cannot be deleted', async () => {
    await page.getByRole('region', { name: 'Policies' }).getByRole('link', { name: 'read-orders' }).click();
    await confirm('Delete the policy', 'read-orders');
    expect(await page.getByRole('article').getByRole('alert').textContent()).toContain('data-analysts');
  });

  it('keeps an unsaved change while another page is shown, until it is discarded', async () => {
    const item = (name: string) => page.locator('.item', { has: page.getByText(name, { exact: true }) });
    await page.getByRole('link', { name: 'Policies' }).click();
    await item('read-orders').click();
    await page.getByRole('heading', { level: 2, name: 'read-orders' }).waitFor();
    await page.getByLabel('Description').fill('half a thought');
    await item('table-reader').click();
    await page.getByRole('heading', { level: 2, name: 'table-reader' }).waitFor();
    expect(await page.getByLabel('Description').inputValue()).not.toBe('half a thought');
    await item('read-orders').click();
    await page.getByRole('heading', { level: 2, name: 'read-orders' }).waitFor();
    expect(await page.getByLabel('Description').inputValue()).toBe('half a thought');
    await button('Discard changes').click();
    expect(await page.getByLabel('Description').inputValue()).toBe('');
    expect(await button('Save').isDisabled()).toBe(true);
  });
});

describe('a policy that is edited', () => {
  const path = `${RBAC}/policies/srn2:policy%23read-orders`;
  const article = () => page.getByRole('article');
  const saved = async (): Promise<string> => (await gateway.call('GET', path)).text();
  const open = async (): Promise<void> => {
    await page.goto(`${gateway.url}/ui/access?tab=policies&name=read-orders`);
    await article().locator('.cm-content').waitFor();
  };

  it('says what it means and which roles have it', async () => {
    await open();
    await page.getByText('Allows Query on the tables orders and customers.').waitFor();
    await page.getByRole('region', { name: 'Used by' }).getByRole('link', { name: 'data-analysts' }).click();
    await page.getByRole('heading', { level: 2, name: 'data-analysts' }).waitFor();
    await page.getByText('Allows Query on the tables orders and customers.').waitFor();
  });

  it('shows the difference before it is saved', async () => {
    await open();
    const difference = page.getByRole('region', { name: 'What Save changes' });
    expect(await difference.count()).toBe(0);
    const document = {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['Query', 'GetSize'], resources: ['srn2:table#orders'] }],
    };
    await typeInto(article().locator('.cm-content'), JSON.stringify(document));
    expect(await difference.locator('.diff-added').allInnerTexts()).toEqual([
      expect.stringContaining('"GetSize"'),
      expect.stringContaining('"resources": ["srn2:table#orders"]'),
    ]);
    expect(await difference.locator('.diff-removed').last().innerText()).toContain('customers');
    await button('Save').click();
    await difference.waitFor({ state: 'detached' });
    expect(await saved()).toContain('GetSize');
  });

  it('shows what both changed when somebody else saved it meanwhile, and overwrites only when told to', async () => {
    const before = ((await (await gateway.call('GET', path)).json()) as { description: string }).description;
    await open();
    await page.getByLabel('Description').fill('mine');
    await gateway.call('PUT', path, { description: 'theirs' });
    await button('Save').click();
    const conflict = page.getByRole('alert', { name: 'Conflict' });
    await conflict.getByText('admin@localhost changed this policy').waitFor();
    for (const [label, removed, added] of [
      ['What they changed, and saved', before, 'theirs'],
      ['What you changed', before, 'mine'],
      ['What Save mine instead would change in the saved version', 'theirs', 'mine'],
    ] as const) {
      const difference = conflict.getByRole('region', { name: label });
      expect(await difference.locator('.diff-removed').innerText()).toContain(`- ${removed}`);
      expect(await difference.locator('.diff-added').innerText()).toContain(`+ ${added}`);
    }
    expect(await button('Save').isDisabled()).toBe(true);
    expect(await saved()).toContain('theirs');
    await button('Save mine instead').click();
    await conflict.waitFor({ state: 'detached' });
    expect(await saved()).toContain('"mine"');

    await page.getByLabel('Description').fill('mine again');
    await gateway.call('PUT', path, { description: 'theirs again' });
    await button('Save').click();
    await button('Discard mine').click();
    await expect.poll(() => page.getByLabel('Description').inputValue()).toBe('theirs again');
    expect(await saved()).toContain('theirs again');
  });

  it('of a role shows both versions, too', async () => {
    const role = `${RBAC}/roles/srn2:role%23data-analysts`;
    await page.goto(`${gateway.url}/ui/access?tab=roles&name=data-analysts`);
    await page.getByLabel('Description').fill('mine');
    await gateway.call('PUT', role, { description: 'theirs' });
    await button('Save').click();
    const conflict = page.getByRole('alert', { name: 'Conflict' });
    const theirs = conflict.getByRole('region', { name: 'What they changed, and saved' });
    expect(await theirs.locator('.diff-added').innerText()).toContain('theirs');
    const own = conflict.getByRole('region', { name: 'What you changed' });
    expect(await own.locator('.diff-added').innerText()).toContain('mine');
    await button('Save mine instead').click();
    await conflict.waitFor({ state: 'detached' });
    expect(await (await gateway.call('GET', role)).text()).toContain('"mine"');
  });

  it('is copied as a call that creates it, and as a manifest', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const copied = async (label: string): Promise<string> => {
      await button(label).first().click();
      await page.getByText('Copied').waitFor();
      const text = await page.evaluate<string>('navigator.clipboard.readText()');
      await page.getByText('Copied').waitFor({ state: 'detached' });
      return text;
    };
    await open();
    expect(await copied('Copy as manifest')).toContain('kind: Policy\nmetadata:\n  name: read-orders\n');
    const curl = await copied('Copy as curl');
    expect(curl).toContain(`'${gateway.url}${RBAC}/policies'`);
    expect(curl).not.toContain(gateway.token);
    await page.goto(`${gateway.url}/ui/access?tab=roles&name=data-analysts`);
    await page.getByRole('region', { name: 'Policies' }).getByRole('link', { name: 'read-orders' }).waitFor();
    await button('Copy as manifest').last().click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toContain('policies:\n    - read-orders');
  });
});

describe('Back', () => {
  it('undoes each choice, but not each character of a search', async () => {
    const item = (name: string) => page.locator('.item', { has: page.getByText(name, { exact: true }) });
    await page.goto(`${gateway.url}/ui/access`);
    await item('data-analysts').click();
    await page.getByRole('searchbox', { name: 'Search Roles' }).pressSequentially('reader');
    await item('health-reader').click();
    await page.getByRole('heading', { level: 2, name: 'health-reader' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 2, name: 'data-analysts' }).waitFor();
    await page.goBack();
    await page.getByText('Select a role or create one.').waitFor();
  });

  it('shows the earlier question of who can', async () => {
    await page.goto(`${gateway.url}/ui/who-can`);
    await page.getByLabel('Subject', { exact: true }).fill('ada@example.com');
    await page.getByLabel('Action', { exact: true }).fill('GetHealth');
    const { cluster } = (await (await gateway.call('GET', '/ui/session')).json()) as { cluster: string };
    await page.getByLabel('Resource', { exact: true }).fill(`srn2:cluster#${cluster}`);
    await button('Check').click();
    await page.locator('.decision').waitFor();
    await page.getByLabel('Action', { exact: true }).fill('DeleteTable');
    await button('Check').click();
    await page.waitForURL(/action=DeleteTable/);
    await page.goBack();
    await expect.poll(() => page.getByLabel('Action', { exact: true }).inputValue()).toBe('GetHealth');
    await page.locator('.decision').waitFor();
    await page.goto(`${gateway.url}/ui/access`);
  });
});

/** The line with the error mark, from 1. */
async function lineOf(where: Page): Promise<number> {
  const mark = await where.locator('.cm-lint-marker-error').first().boundingBox();
  const numbers = where.locator('.cm-lineNumbers .cm-gutterElement');
  for (let index = 0; index < (await numbers.count()); index++) {
    const box = await numbers.nth(index).boundingBox();
    if (box && mark && box.height > 0 && mark.y >= box.y - 1 && mark.y < box.y + box.height)
      return Number(await numbers.nth(index).textContent());
  }
  return 0;
}

describe('assignments', () => {
  it('assigns and revokes', async () => {
    await page.getByRole('link', { name: 'Roles' }).click();
    await page.locator('.item', { hasText: 'data-analysts' }).click();
    for (const [type, subject] of [
      ['group', 'analysts'],
      ['user-email', 'ada@example.com'],
    ] as const) {
      await page.getByLabel('Subject is').selectOption(type);
      await page.getByLabel('Subject', { exact: true }).fill(subject);
      await button('Assign').click();
      await page.getByRole('region', { name: 'Assigned to' }).getByText(subject).waitFor();
    }
    await confirm('Revoke \\(ada@example.com\\)');
    await page.getByRole('region', { name: 'Assigned to' }).getByText('ada@example.com').waitFor({ state: 'detached' });
    const left = (await (
      await gateway.call('GET', `${RBAC}/roles/srn2:role%23data-analysts/assignments`)
    ).json()) as object[];
    expect(left).toMatchObject([{ subject: 'analysts', subjectType: 'group' }]);
  });
});

describe('the assignments of all roles', () => {
  const table = () => page.getByRole('region', { name: 'Who has which role' });
  const row = (name: string | RegExp) => table().getByRole('row', { name });

  it('are listed, found by subject or role, created and revoked', async () => {
    await page.getByRole('link', { name: 'Assignments' }).click();
    await row('analysts group data-analysts').waitFor();
    await page.getByLabel('Subject is').selectOption('domain');
    await page.getByLabel('Subject', { exact: true }).fill('example.org');
    await page.getByRole('combobox', { name: 'Role' }).selectOption('health-reader');
    await button('Assign').click();
    // The row contains a relative time, which depends on the load of the machine.
    await row(/^example.org domain health-reader .* admin@localhost/).waitFor();
    await page.getByRole('searchbox', { name: 'Search Assignments' }).fill('health-R');
    await row('analysts group').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toContain('search=health-R');
    await page.reload();
    await confirm('Revoke \\(health-reader from example.org\\)');
    await page.getByText('Nothing found.').waitFor();
    await page.getByRole('searchbox', { name: 'Search Assignments' }).fill('');
    await row('analysts group').getByRole('link', { name: 'data-analysts' }).click();
    await page.getByRole('heading', { level: 2, name: 'data-analysts' }).waitFor();
  });

  it('are created until a time, and shown with it', async () => {
    await page.getByRole('link', { name: 'Assignments' }).click();
    await page.getByLabel('Subject is').selectOption('group');
    await page.getByLabel('Subject', { exact: true }).fill('visitors');
    await page.getByRole('combobox', { name: 'Role' }).selectOption('health-reader');
    await page.getByLabel('Until').fill('2040-01-31T12:30');
    await page.getByLabel('Until').press('Enter');
    const visitors = row(/^visitors group health-reader/);
    await visitors.waitFor();
    expect(await visitors.textContent()).toMatch(/until 31 Jan 2040, 12:30:00 \S+ \(in [\d,]+ days\)/);
    expect(await page.getByLabel('Until').inputValue()).toBe('');
    const path = `${RBAC}/roles/srn2:role%23health-reader/assignments`;
    const listed = (await (await gateway.call('GET', path)).json()) as { subject: string; expiresAt: string }[];
    const expiry = listed.find(({ subject }) => subject === 'visitors')?.expiresAt ?? '';
    expect(Date.parse(expiry)).toBe(await page.evaluate<number>("new Date('2040-01-31T12:30').getTime()"));
    await confirm('Revoke \\(health-reader from visitors\\)');
    await visitors.waitFor({ state: 'detached' });
  });

  it('show exact times where the focus of the keyboard is', async () => {
    await page.getByRole('link', { name: 'Assignments' }).click();
    const cell =
      "[...document.querySelectorAll('tr')].find((one) => one.textContent.startsWith('analysts')).querySelector('time')";
    const exact = (): Promise<string> => page.evaluate<string>(`getComputedStyle(${cell}, '::after').content`);
    await row('analysts group').waitFor();
    await page.getByRole('searchbox', { name: 'Search Assignments' }).focus();
    expect(await exact()).toBe('none');
    for (let presses = 0; presses < 20 && (await exact()) === 'none'; presses++) await page.keyboard.press('Tab');
    expect(await exact()).toMatch(/^"\d+ \w+ 20\d\d, [\d:]+ \S+"$/u);
    await page.keyboard.press('Shift+Tab');
  });

  it('are each copied as a call and as a manifest that kubectl applies beside all others', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('link', { name: 'Assignments' }).click();
    const copy = async (name: string): Promise<string> => {
      await row('analysts group').getByRole('button', { name, exact: true }).click();
      const copied = row('analysts group').getByText('Copied');
      await copied.waitFor();
      const text = await page.evaluate<string>('navigator.clipboard.readText()');
      await copied.waitFor({ state: 'detached' });
      return text;
    };
    const curl = await copy('Copy as curl: data-analysts of analysts');
    expect(curl).toContain('/roles/srn2%3Arole%23data-analysts/create-assignment');
    expect(curl).toContain('"subject":"analysts"');
    const manifest = await copy('Copy as manifest: data-analysts of analysts');
    expect(manifest).toMatch(/kind: RoleAssignment\nmetadata:\n {2}name: data-analysts-[0-9a-f]{16}\n/u);
    expect(manifest).toContain('name: analysts');
  });

  it('show an error of the gateway next to the action', async () => {
    await page.getByRole('link', { name: 'Assignments' }).click();
    await page.getByLabel('Subject is').selectOption('service-token');
    await page.getByLabel('Subject', { exact: true }).fill('unknown');
    await page.getByRole('combobox', { name: 'Role' }).selectOption('health-reader');
    await button('Assign').click();
    expect(await page.getByRole('alert').textContent()).toContain('there is no service token with the access key');
  });
});

describe('the review of access', () => {
  const ending = () => page.getByRole('region', { name: 'Assignments that expire soon' });
  const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

  it('lists the assignments that expire within the chosen time, with a link to their decisions', async () => {
    for (const [subject, days] of [
      ['next-month', 20],
      ['next-week', 3],
      ['next-year', 300],
    ] as const) {
      const body = { subject, subjectType: 'group', expiresAt: inDays(days) };
      const answer = await gateway.call('POST', `${RBAC}/roles/srn2:role%23health-reader/create-assignment`, body);
      expect(answer.status).toBe(200);
    }
    await page.getByRole('link', { name: 'Access' }).click();
    await page.getByRole('link', { name: 'Review' }).click();
    await ending().getByRole('row', { name: 'next-week group health-reader' }).waitFor();
    const subjects = await ending().locator('tbody tr td:first-child').allTextContents();
    expect(subjects).toEqual(['next-week', 'next-month']);
    await page.getByLabel('Within').selectOption('7');
    await ending().getByText('next-month').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toContain('within=7');
    await ending().getByRole('link', { name: 'Who can' }).click();
    await page.getByRole('heading', { level: 1, name: 'Who can' }).waitFor();
    expect(await page.getByLabel('Subject', { exact: true }).inputValue()).toBe('next-week');
    expect(await page.getByLabel('Subject is').inputValue()).toBe('group');
  });

  it('says that a young record lists nothing yet', async () => {
    await page.goto(`${gateway.url}/ui/access?tab=review`);
    await page.getByText('The record is younger than 90 days: not everything can be listed yet.').waitFor();
    await page.getByRole('region', { name: 'Not used' }).getByText('Nothing found.').waitFor();
  });

  it('lists what nobody used for the chosen time, each with a link to it', async () => {
    const since = { lastUsedAt: null, unusedSince: '2026-01-01' };
    const unused = [
      { kind: 'role', role: 'data-analysts', lastUsedAt: '2026-01-31', unusedSince: '2026-02-01' },
      { kind: 'statement', policy: 'read-orders', statementIndex: 0, ...since },
      { kind: 'assignment', role: 'data-analysts', subject: 'analysts', subjectType: 'group', ...since },
      {
        kind: 'service-token',
        serviceToken: 'x',
        subject: 'x',
        subjectType: 'service-token',
        description: 'old',
        ...since,
      },
    ];
    const asked: string[] = [];
    // A real record would have to be 180 days old.
    await page.route(/access-review/, (route) => {
      asked.push(new URL(route.request().url()).search);
      return route.fulfill({
        json: { trackedSince: '2026-01-01', unusedDays: 180, complete: true, total: unused.length, unused },
      });
    });
    await page.getByLabel('For at least').selectOption('180');
    const table = page.getByRole('region', { name: 'What nobody used' });
    await table.getByRole('row', { name: 'Role data-analysts 2026-01-31 2026-02-01' }).waitFor();
    await table.getByRole('row', { name: 'Statement 1 of policy read-orders not recorded 2026-01-01' }).waitFor();
    await table.getByRole('row', { name: 'Service token x old not recorded' }).waitFor();
    expect(asked).toContain('?unusedDays=180');
    await page.getByRole('searchbox', { name: 'Search Unused access' }).fill('analysts group');
    await table.getByRole('row', { name: 'Service token' }).waitFor({ state: 'detached' });
    await table
      .getByRole('row', { name: 'Assignment analysts group' })
      .getByRole('link', { name: 'data-analysts' })
      .click();
    await page.getByRole('heading', { level: 2, name: 'data-analysts' }).waitFor();
    await page.unrouteAll();
  });
});

describe('service tokens', () => {
  let bearerToken: string;

  it('shows a new token once, with copy and download', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('link', { name: 'Service tokens' }).click();
    await button('New token').click();
    await page.getByLabel('Description').fill('nightly import');
    await button('Create', page.getByRole('dialog')).click();
    const dialog = page.getByRole('dialog', { name: 'New token' });
    bearerToken = (await dialog.locator('.secret').textContent()) ?? '';
    expect(bearerToken).toMatch(/^svc-[A-Za-z0-9]{16}-\S{20,}$/);
    await button('Copy token', dialog).click();
    await dialog.getByText('Copied').waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(bearerToken);
    const [file] = await Promise.all([page.waitForEvent('download'), button('Download', dialog).click()]);
    expect(await readFile(await file.path(), 'utf8')).toBe(`${bearerToken}\n`);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await button('I have saved it', dialog).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(bearerToken);
    await page.getByText('No roles: the token is rejected until a role is assigned.').waitFor();
  });

  it('is accepted when a role is assigned, and rejected when it is revoked', async () => {
    const status = async (): Promise<number> =>
      (await gateway.call('GET', `${RBAC}/whoami`, undefined, { authorization: `Bearer ${bearerToken}` })).status;
    expect(await status()).toBe(401);
    await page.getByLabel('Until').fill('2040-01-31T12:30');
    await page.getByRole('combobox', { name: 'Role' }).selectOption('health-reader');
    await button('Assign').click();
    await page.getByText('ACTIVE').waitFor();
    expect(await status()).toBe(200);
    const own = await gateway.call('GET', `${RBAC}/whoami`, undefined, { authorization: `Bearer ${bearerToken}` });
    const { assignments } = (await own.json()) as { assignments: { role: string; expiresAt: string }[] };
    expect(assignments).toMatchObject([{ role: 'health-reader', expiresAt: expect.stringMatching(/^2040-01-31T/) }]);
    await confirm('Revoke token', bearerToken.split('-')[1]);
    await page.getByText('Select a token or create one.').waitFor();
    expect(await status()).toBe(401);
  });
});

describe('a resource that another tool manages', () => {
  it('has a warning before an edit', async () => {
    const path = `${RBAC}/roles/srn2:role%23data-analysts`;
    const role = (await (await gateway.call('GET', path)).json()) as object;
    // Only the Kubernetes API has field managers; this gateway keeps its resources in a folder.
    await page.route(/roles\/srn2(:|%3A)role%23data-analysts$/, (route) =>
      route.fulfill({ json: { ...role, managedBy: ['argocd-controller', 'kubectl'] } }),
    );
    await page.goto(`${gateway.url}/ui/access?tab=roles&name=data-analysts`);
    expect(await page.getByRole('note').textContent()).toMatch(
      /managed by argocd-controller, kubectl, which may revert changes/,
    );
    await page.unrouteAll();
  });

  it('has a warning in the list of assignments', async () => {
    const list = (await (await gateway.call('GET', `${RBAC}/assignments`)).json()) as object[];
    await page.route(/rbac-manager\/assignments$/, (route) =>
      route.fulfill({ json: list.map((one) => Object.assign(one, { managedBy: ['argocd-controller'] })) }),
    );
    await page.goto(`${gateway.url}/ui/access?tab=assignments`);
    await page.getByRole('row', { name: 'managed by argocd-controller' }).first().waitFor();
    await page.unrouteAll();
  });
});

describe('who can do what', () => {
  it('shows the decision and marks the statement that determined it', async () => {
    await page.getByRole('link', { name: 'Who can' }).click();
    await page.getByLabel('Subject is').selectOption('group');
    await page.getByLabel('Subject', { exact: true }).fill('analysts');
    await page.getByLabel('Resource', { exact: true }).fill('srn2:table#orders');
    await button('Check').click();
    await page.locator('.decision').getByText('ALLOW').waitFor();
    expect(await page.locator('pre.deciding').textContent()).toContain('srn2:table#orders');
    expect(await page.locator('.statements').textContent()).toContain(
      'statement 1 of policy read-orders in role data-analysts',
    );
    await page.getByLabel('Resource', { exact: true }).fill('srn2:table#types');
    await button('Check').click();
    await page.locator('.decision').getByText('DENY').waitFor();
    await page.getByText('No statement matches; the default is deny.').waitFor();
  });

  it('shows which roles allow any action on any resource, and who has them until when', async () => {
    await page.getByLabel('Resource to look up').fill('srn2:table#orders');
    await button('Show').click();
    const row = page.getByRole('row', { name: 'analysts group' });
    await row.getByRole('link', { name: 'data-analysts' }).waitFor();
    await page.getByLabel('Action to look up').fill('DeleteTable');
    await page.keyboard.press('Enter');
    await row.waitFor({ state: 'detached' });
    const roles = page.getByRole('region', { name: 'Roles that allow it' });
    await roles.getByRole('row', { name: 'cluster-admin cluster-admin 1' }).waitFor();
    expect(await roles.getByRole('link', { name: 'data-analysts' }).count()).toBe(0);
  });
});

describe('a link to a question', () => {
  it('shows the answer, also for the reverse question', async () => {
    const question =
      'type=group&subject=analysts&action=Query&resource=srn2:table%23orders&whoAction=Query&whoResource=srn2:table%23orders';
    const other = await visit(browser, gateway.url, `/ui/who-can?${question}`);
    await signIn(other.page, gateway.token);
    await other.page.locator('.decision').getByText('ALLOW').waitFor();
    const row = other.page.getByRole('row', { name: 'analysts group' });
    await row.getByRole('link', { name: 'read-orders' }).waitFor();
    expect(other.problems).toEqual([]);
    await other.page.context().close();
  });
});

describe('a user without the right', () => {
  it('sees the message of the Error body next to the action', async () => {
    const policyDocument = {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['GetRole', 'CreateRole'], resources: ['srn2:role#team-a-*'] }],
    };
    await gateway.call('POST', `${RBAC}/policies`, { name: 'team-roles', policyDocument });
    await gateway.call('POST', `${RBAC}/roles`, { name: 'team-lead' });
    await gateway.call('POST', `${RBAC}/roles/srn2:role%23team-lead/attach-policy`, {
      policySrn: 'srn2:policy#team-roles',
    });
    const { bearerToken } = await tokenWith('team-lead');
    const headers = { authorization: `Bearer ${bearerToken}` };
    const answer = await gateway.call('POST', `${RBAC}/roles`, { name: 'mine' }, headers);
    const { message } = (await answer.json()) as { message: string };
    expect(answer.status).toBe(403);
    const other = await visit(browser, gateway.url, '/ui/health');
    await signIn(other.page, bearerToken);
    await other.page.getByText('for a role that allows GetHealth').waitFor();
    await other.page.getByRole('link', { name: 'Access' }).click();
    await other.page.getByText('Nothing found.').waitFor();
    await other.page.getByRole('button', { name: 'New role' }).click();
    const dialog = other.page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('mine');
    await dialog.getByRole('button', { name: 'Create' }).click();
    expect(await dialog.getByRole('alert').textContent()).toContain(message);
    await dialog.getByRole('button', { name: 'Copy the request' }).waitFor();
    expect(other.problems).toEqual([]);
    await other.page.context().close();
  });
});

describe('an expired session', () => {
  it('asks for a new sign-in and keeps all input', async () => {
    const token = await tokenWith('rbac-admin');
    const other = await visit(browser, gateway.url, '/ui/access');
    await signIn(other.page, token.bearerToken);
    await other.page.getByRole('button', { name: 'New role' }).click();
    const dialog = other.page.getByRole('dialog', { name: 'New role' });
    await dialog.getByLabel('Name').fill('typed-before');
    await dialog.getByLabel('Description').fill('Still here');
    await gateway.call('DELETE', `${RBAC}/service-tokens/${encodeURIComponent(token.srn)}`);
    await dialog.getByRole('button', { name: 'Create' }).click();
    const again = other.page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('Token').fill(gateway.token);
    await again.getByRole('button', { name: 'Sign in', exact: true }).click();
    await again.waitFor({ state: 'detached' });
    expect(await dialog.getByLabel('Description').inputValue()).toBe('Still here');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await other.page.getByRole('heading', { level: 2, name: 'typed-before' }).waitFor();
    expect(other.problems).toEqual([]);
    await other.page.context().close();
  });
});
