import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { signIn, startBrowser, typeInto, visit } from '../support/browser.ts';
import { sharedPinot } from '../support/pinot.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

const RBAC = '/api/v1/rbac-manager';

let browser: Browser;
let gateway: Standalone;
let page: Page;
let problems: readonly string[];

beforeAll(async () => {
  const { controllerUrl } = await sharedPinot();
  gateway = await startStandalone({ controllers: controllerUrl });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});
afterEach(async () => {
  await page.context().close();
});

interface Stored {
  readonly policyDocument: { readonly statements: readonly Readonly<Record<string, unknown>>[] };
}

async function storedStatements(name: string): Promise<Stored['policyDocument']['statements']> {
  const response = await gateway.call('GET', `${RBAC}/policies/srn2:policy%23${name}`);
  return ((await response.json()) as Stored).policyDocument.statements;
}

async function makePolicy(name: string, ...statements: object[]): Promise<void> {
  const body = { name, policyDocument: { version: 'v1', statements } };
  expect((await gateway.call('POST', `${RBAC}/policies`, body)).status).toBe(200);
}

async function open(path: string, token = gateway.token): Promise<void> {
  ({ page, problems } = await visit(browser, gateway.url, path));
  await signIn(page, token);
}

const asForm = (within: Page | Locator = page): Promise<void> =>
  within.getByRole('button', { name: 'Form', exact: true }).click();
const asJson = (): Promise<void> => page.getByRole('button', { name: 'JSON', exact: true }).click();
const printed = (): Locator => page.locator('.printed');

/** Adds a row filter to a form. Its field gets the focus with the next frame; whoever types sees the cursor first. */
async function addFilter(dialog: Locator, number: number): Promise<void> {
  await dialog.getByRole('button', { name: 'Add a row filter' }).click();
  const field = dialog.getByLabel(`Row filter ${number}`, { exact: true });
  await expect.poll(() => field.evaluate((element) => element.matches(':focus'))).toBe(true);
}

const ORDERS = { effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] };

describe('the form of a policy', () => {
  it('makes a policy with rows, columns and masks from its choices, as the JSON beside it shows', async () => {
    await open('/ui/access?tab=policies');
    await page.getByRole('button', { name: 'New policy' }).click();
    const dialog = page.getByRole('dialog', { name: 'New policy' });
    await dialog.getByLabel('Name').fill('made-in-the-form');
    await asForm(dialog);
    await dialog.getByRole('button', { name: 'Remove srn2:table#events' }).click();
    await dialog.getByRole('textbox', { name: 'Resources' }).click();
    await page.keyboard.type('ord', { delay: 20 });
    await dialog.getByRole('button', { name: 'Add srn2:table#orders' }).waitFor();
    await page.keyboard.press('Enter');

    await addFilter(dialog, 1);
    await page.keyboard.type("status = 'PAID'", { delay: 5 });
    // Enter in a field does not create the policy.
    await page.keyboard.press('Enter');
    await addFilter(dialog, 2);
    await page.keyboard.type('city', { delay: 5 });
    await dialog.getByLabel('Insert a value of the caller into row filter 2').selectOption('subject.groups');
    await expect
      .poll(() => dialog.getByLabel('Row filter 2', { exact: true }).inputValue())
      .toBe('city IN (${subject.groups})');

    await dialog.getByLabel('Columns', { exact: true }).selectOption('all but these');
    await dialog.getByRole('textbox', { name: 'All columns but these' }).fill('pri');
    await page.keyboard.press('Enter');
    await dialog.getByRole('textbox', { name: 'Masked columns' }).fill('orderId');
    await dialog.getByRole('button', { name: 'Mask orderId' }).click();
    await dialog.getByLabel('Mask of orderId').selectOption('the number 0');

    await dialog.getByRole('button', { name: 'JSON', exact: true }).click();
    const json = dialog.locator('.cm-content');
    await json.getByText('orderId * 0').waitFor();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 2, name: 'made-in-the-form' }).waitFor();
    await page
      .getByText(/only rows where status = 'PAID' and city IN .*; without the columns price; with other values/)
      .first()
      .waitFor();
    expect(await storedStatements('made-in-the-form')).toEqual([
      {
        ...ORDERS,
        conditions: {
          rowFilters: ["status = 'PAID'", 'city IN (${subject.groups})'],
          columns: { deny: ['price'], mask: { orderId: 'orderId * 0' } },
        },
      },
    ]);
    expect(problems).toEqual([]);
  });

  it('keeps what it does not show, and says so', async () => {
    await makePolicy('with-more', ORDERS);
    await open('/ui/access?tab=policies&name=with-more');
    const editor = page.locator('.cm-content');
    await editor.waitFor();
    const statements = [
      { ...ORDERS, ticket: 'A-1' },
      { effect: 'allow', actions: 'Query', resources: ['*'] },
    ];
    await typeInto(editor, JSON.stringify({ version: 'v1', statements }));
    await asForm();
    await page.getByText('Only JSON shows the fields ticket.').waitFor();
    await page.getByText('Only JSON can edit this statement').waitFor();
    await page.getByLabel('What for').fill('why');
    await asJson();
    await editor.getByText('"why"').waitFor();
    const text = await editor.innerText();
    for (const kept of ['"ticket": "A-1"', '"actions": "Query"']) expect(text).toContain(kept);
    await typeInto(editor, '{"statements": oops');
    await asForm();
    await page.getByText('The document is not valid JSON.').waitFor();
  });

  it('shows an error of the grammar at its field while it is typed', async () => {
    await makePolicy('with-an-error', { ...ORDERS, conditions: { rowFilters: ["status = 'a'", "status = 'b'"] } });
    await open('/ui/access?tab=policies&name=with-an-error');
    await asForm();
    const second = page.getByLabel('Row filter 2', { exact: true });
    await second.fill('status IN (SELECT 1 FROM t)');
    await page.locator('.row-filter').nth(1).getByRole('alert').getByText('a row filter has no query').waitFor();
    expect(await second.getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByRole('alert').count()).toBe(1);
    await second.fill("status = 'c'");
    await page.getByRole('alert').waitFor({ state: 'detached' });
    expect(await second.getAttribute('aria-invalid')).toBe('false');
  });

  it('keeps its input after a reload, until it is saved', async () => {
    await makePolicy('typed', { ...ORDERS, conditions: { rowFilters: ["status = 'a'"] } });
    await open('/ui/access?tab=policies&name=typed');
    await asForm();
    await page.getByLabel('Row filter 1', { exact: true }).fill("status = 'kept'");
    await page.getByLabel('Query', { exact: true }).fill('SELECT count(*) FROM orders');
    await page.reload();
    await expect.poll(() => page.getByLabel('Row filter 1', { exact: true }).inputValue()).toBe("status = 'kept'");
    expect(await page.getByLabel('Query', { exact: true }).inputValue()).toBe('SELECT count(*) FROM orders');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect.poll(async () => JSON.stringify(await storedStatements('typed'))).toContain("status = 'kept'");

    await page.getByRole('button', { name: 'New policy' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('half-a-name');
    await addFilter(page.getByRole('dialog'), 1);
    await page.keyboard.type('a = 1', { delay: 5 });
    await page.reload();
    await page.getByRole('button', { name: 'New policy' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('Name').inputValue()).toBe('half-a-name');
    expect(await dialog.getByLabel('Row filter 1', { exact: true }).inputValue()).toBe('a = 1');
    await page.keyboard.press('Escape');
    await dialog.getByText('Close again to discard your input.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'New policy' }).click();
    expect(await dialog.getByLabel('Name').inputValue()).toBe('');
  });
});

describe('the preview of a policy', () => {
  const conditions = { rowFilters: ['status = ${subject.token}'], columns: { allow: ['orderId', 'status'] } };

  it('is the query that the engine gets, with other values and another text, and its first rows', async () => {
    await makePolicy('previewed', { ...ORDERS, conditions });
    await open('/ui/access?tab=policies&name=previewed');
    await asForm();
    await page.getByText(/^Refused: no statement of the policy applies/).waitFor();
    await page.getByLabel('Value of subject.token').fill("o'clock");
    await printed().getByText(`WHERE ("status" = 'o''clock') LIMIT 10`).waitFor();
    await page.getByLabel('Value of subject.token').fill('PAID');
    await printed().getByText(`SELECT "orderId", "status" FROM "orders" WHERE ("status" = 'PAID') LIMIT 10`).waitFor();
    await page.getByRole('button', { name: 'Show the first rows' }).click();
    const rows = page.getByRole('region', { name: 'First rows' }).locator('tbody tr');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(10);
    for (const text of await rows.locator('td:nth-child(2)').allInnerTexts()) expect(text).toBe('PAID');

    await page.getByLabel('Query', { exact: true }).fill('SELECT price FROM orders');
    await page.getByText(/^Refused: .*price.* is not one of the columns/).waitFor();
    expect(await rows.count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it('shows who writes policies the text but no rows that they may not read', async () => {
    const made = (await (await gateway.call('POST', `${RBAC}/service-tokens`, { description: 'writer' })).json()) as {
      bearerToken: string;
      accessKey: string;
    };
    const writes = { effect: 'allow', actions: ['GetPolicy', 'UpdatePolicy'], resources: ['srn2:policy#previewed'] };
    const sees = { effect: 'allow', actions: ['GetSchema'], resources: ['srn2:table#orders'] };
    await makePolicy('policy-writer', writes, sees);
    await gateway.call('POST', `${RBAC}/roles`, { name: 'policy-writer' });
    await gateway.call('POST', `${RBAC}/roles/srn2:role%23policy-writer/attach-policy`, {
      policySrn: 'srn2:policy#policy-writer',
    });
    await gateway.call('POST', `${RBAC}/roles/srn2:role%23policy-writer/create-assignment`, {
      subject: made.accessKey,
      subjectType: 'service-token',
    });
    await open('/ui/access?tab=policies&name=previewed', made.bearerToken);
    await asForm();
    await page.getByLabel('Value of subject.token').fill('PAID');
    await printed().getByText(`"status" = 'PAID'`).waitFor();
    await page.getByText('You may not query this table, so no rows can be shown.').waitFor();
    expect(await page.getByRole('button', { name: 'Show the first rows' }).count()).toBe(0);

    // With a part of the table, the rows are those of both conditions.
    const part = { effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] };
    await makePolicy('own-part', { ...part, conditions: { rowFilters: ["status <> 'PAID'"] } });
    await gateway.call('POST', `${RBAC}/roles/srn2:role%23policy-writer/attach-policy`, {
      policySrn: 'srn2:policy#own-part',
    });
    await page.reload();
    await page.getByRole('button', { name: 'Show the first rows' }).click();
    await page.getByText('No rows.').waitFor();
  });
});

describe('conditions in words', () => {
  it('are at a role and in a decision', async () => {
    await makePolicy('in-words', {
      ...ORDERS,
      conditions: { rowFilters: ["status = 'NEW'"], columns: { deny: ['price'] } },
    });
    await gateway.call('POST', `${RBAC}/roles`, { name: 'in-words' });
    await gateway.call('POST', `${RBAC}/roles/srn2:role%23in-words/attach-policy`, {
      policySrn: 'srn2:policy#in-words',
    });
    await gateway.call('POST', `${RBAC}/roles/srn2:role%23in-words/create-assignment`, {
      subject: 'readers',
      subjectType: 'group',
    });
    await open('/ui/access?tab=roles&name=in-words');
    await page.getByText("(only rows where status = 'NEW'; without the columns price)").waitFor();
    const question = new URLSearchParams({
      type: 'group',
      subject: 'readers',
      action: 'Query',
      resource: 'srn2:table#orders',
    });
    await page.goto(`${gateway.url}/ui/who-can?${question.toString()}`);
    await page.locator('.decision').getByText('CONDITIONAL').waitFor();
    await page.getByText("It reads only rows where status = 'NEW'; without the columns price.").waitFor();
  });
});
