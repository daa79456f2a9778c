import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { signIn, startBrowser, typeInto, visit, type Visit } from '../support/browser.ts';
import { sharedPinot } from '../support/pinot.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

const SQL = 'SELECT orderId, city FROM orders ORDER BY orderedAt LIMIT 2500';

let browser: Browser;
let gateway: Standalone;
let open: Visit;
let page: Page;

beforeAll(async () => {
  const { controllerUrl } = await sharedPinot();
  gateway = await startStandalone({ controllers: controllerUrl });
  browser = await startBrowser();
  open = await visit(browser, gateway.url, '/ui/queries');
  ({ page } = open);
  await signIn(page, gateway.token);
  await page.locator('.cm-content').waitFor();
});
afterEach(() => {
  expect(open.problems).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
const rows = (text: string): Promise<void> => page.getByText(text, { exact: true }).waitFor();
const firstCell = (): Promise<string | null> =>
  page.locator('.grid-row[aria-rowindex]').first().locator('[role=gridcell]').first().textContent();
const editor = () => page.locator('.cm-content');

/** Holds the requests of a path until the returned function is called. */
async function hold(path: RegExp): Promise<() => Promise<void>> {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(path, async (route) => {
    await held;
    await route.continue().catch(() => undefined);
  });
  return async () => {
    release();
    await page.unroute(path);
  };
}

describe('the address of a result', () => {
  it('shows the same rows after a reload, and in another browser', async () => {
    await typeInto(editor(), SQL);
    await press('Run');
    await rows('rows 1–100 of 2,500');
    await page.getByLabel('Go to row').fill('1234');
    await page.keyboard.press('Enter');
    await rows('rows 1,234–1,333 of 2,500');
    const first = await firstCell();
    const address = page.url();
    expect(new URL(address).searchParams.get('row')).toBe('1234');
    await page.reload();
    await rows('rows 1,234–1,333 of 2,500');
    expect(await firstCell()).toBe(first);
    expect(await editor().textContent()).toBe(SQL);

    const other = await visit(browser, gateway.url, address.slice(gateway.url.length));
    await signIn(other.page, gateway.token);
    await other.page.getByText('rows 1,234–1,333 of 2,500').waitFor();
    await other.page.context().close();
  });

  it('shows a message when the result is no longer stored', async () => {
    await page.goto(`${gateway.url}/ui/queries?result=${'0'.repeat(20)}`);
    await page.getByRole('region', { name: 'SQL' }).getByRole('alert').waitFor();
  });
});

describe('the stored results', () => {
  it('are listed newest first, with links to their rows', async () => {
    for (const limit of [11, 12, 13])
      await gateway.call('POST', '/query/sql?doPaginate=true', { sql: `SELECT * FROM orders LIMIT ${limit}` });
    await page.goto(`${gateway.url}/ui/queries`);
    const list = page.getByRole('region', { name: 'Stored results', exact: true }).last();
    await list.getByRole('row').nth(3).waitFor();
    const counts = await list.locator('tbody tr td:nth-child(2)').allTextContents();
    expect(counts.slice(0, 3)).toEqual(['13', '12', '11']);
    await list.getByRole('link').nth(1).click();
    await rows('rows 1–12 of 12');
    await page.goBack();
    await list.getByRole('link').nth(2).click();
    await rows('rows 1–11 of 11');
  });
});

describe('a running query', () => {
  it('shows no rows of the previous one, the time, and that it was cancelled', async () => {
    await typeInto(editor(), SQL);
    await press('Run');
    await rows('rows 1–100 of 2,500');
    const release = await hold(/query\/sql/);
    await press('Run');
    await page.getByRole('timer').waitFor();
    await page.getByRole('region', { name: 'Result', exact: true }).waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('timer').textContent()).toMatch(/^[1-9]\d* ms$|^\d+\.\d s$/);
    await press('Cancel');
    await page.getByText(/^The query was cancelled after [\d.]+ (ms|s)\.$/).waitFor();
    await page.getByRole('timer').waitFor({ state: 'detached' });
    await release();
    await press('Run');
    await rows('rows 1–100 of 2,500');
    expect(await page.getByText(/was cancelled/).count()).toBe(0);
  });

  it('collapses the stack trace of an error of Pinot', async () => {
    await typeInto(editor(), 'SELECT nonsense FROM orders LIMIT 5');
    await press('Run');
    const alert = page.getByRole('region', { name: 'SQL' }).getByRole('alert');
    await alert.first().waitFor();
    expect(await alert.first().innerText()).toContain('nonsense');
    expect(await alert.first().innerText()).not.toMatch(/\bat org\.apache/);
    await page.route(/query\/sql/, (route) =>
      route.fulfill({
        json: {
          exceptions: [
            {
              errorCode: 200,
              message:
                'QueryExecutionError:\njava.lang.RuntimeException: no such column\n\tat org.apache.pinot.core.Plan.run(Plan.java:7)\n\tat java.base/java.lang.Thread.run(Thread.java:829)',
            },
          ],
        },
      }),
    );
    await press('Run');
    await alert.getByText('java.lang.RuntimeException: no such column').waitFor();
    expect(await alert.innerText()).not.toContain('Plan.java');
    await alert.getByText('Stack trace').click();
    expect(await alert.innerText()).toContain('at org.apache.pinot.core.Plan.run(Plan.java:7)');
    await page.unroute(/query\/sql/);
  });
});

describe('a query that the gateway runs by itself', () => {
  /** Lets the state of each query be `state` until the returned function is called. */
  async function keepState(state: string, rowsSoFar: number): Promise<() => Promise<void>> {
    await page.route(/\/query\/[0-9a-f-]{20,}$/, async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const status = (await (await route.fetch()).json()) as object;
      return route.fulfill({ json: { ...status, state, numRowsResultSet: rowsSoFar } });
    });
    await page.route(/\/query\/[0-9a-f-]{20,}\/results/, (route) =>
      route.fulfill({ status: 409, json: { message: 'the query is running' } }),
    );
    await page.route(/query\/sql/, async (route) => {
      const response = await route.fetch();
      const status = (await response.json()) as object;
      await route.fulfill({ status: 202, json: { ...status, state: 'queued', numRowsResultSet: 0 } });
    });
    return () => page.unrouteAll({ behavior: 'ignoreErrors' });
  }

  it('shows its state and the rows so far, and goes on after a reload', async () => {
    const release = await keepState('storing', 1234);
    await page.goto(`${gateway.url}/ui/queries`);
    await editor().waitFor();
    await typeInto(editor(), SQL);
    await press('Run');
    await page.getByText('The rows of the query arrive.').waitFor();
    await page.getByText('1,234 rows so far').waitFor();
    const id = new URL(page.url()).searchParams.get('result');
    expect(id).toMatch(/^[0-9a-f-]{20,}$/);
    await page.reload();
    await page.getByText('1,234 rows so far').waitFor();
    expect(new URL(page.url()).searchParams.get('result')).toBe(id);
    await release();
    await rows('rows 1–100 of 2,500');
  });

  it('is cancelled at the gateway, not only in the page', async () => {
    const release = await keepState('running', 0);
    await press('Run');
    await page.waitForURL(/result=/);
    const cancelled = page.waitForRequest((request) => request.method() === 'DELETE');
    const id = new URL(page.url()).searchParams.get('result');
    await page.getByRole('region', { name: 'SQL' }).getByRole('button', { name: 'Cancel' }).click();
    expect(new URL((await cancelled).url()).pathname).toBe(`/query/${id}`);
    await page.getByText(/^The query was cancelled after/).waitFor();
    await release();
  });
});

describe('my results', () => {
  const table = () => page.getByRole('region', { name: 'My results', exact: true }).last();

  it('show the query, newest first, and lead to the rows', async () => {
    for (const limit of [21, 22])
      await gateway.call('POST', '/query/sql?doPaginate=true', { sql: `SELECT city FROM orders LIMIT ${limit}` });
    await gateway.call('POST', '/query/sql?doPaginate=true&async=true', { sql: 'SELECT nonsense FROM orders' });
    await page.goto(`${gateway.url}/ui/queries`);
    const failed = table()
      .getByRole('row', { name: /nonsense.* failed/ })
      .first();
    await failed.waitFor();
    const [first, second] = [table().getByRole('row').nth(2), table().getByRole('row').nth(3)];
    expect(await first.textContent()).toMatch(/LIMIT 22.*done.*22.*ago|LIMIT 22.*done.*22.*just now/);
    expect(await second.textContent()).toContain('LIMIT 21');
    await second.getByRole('link').click();
    await rows('rows 1–21 of 21');
    expect(await editor().textContent()).toContain('LIMIT 21');
    await page.goBack();
    await first.getByRole('link').click();
    await rows('rows 1–22 of 22');
    await first.getByRole('button', { name: /^Delete/ }).click();
    await page.getByRole('dialog', { name: 'Delete?' }).locator('button.danger').click();
    await table()
      .getByRole('link', { name: /LIMIT 22/ })
      .waitFor({ state: 'detached' });
  });

  it('show why a query failed, and open its text again', async () => {
    await page.goto(`${gateway.url}/ui/queries`);
    const failed = table()
      .getByRole('row', { name: /nonsense.* failed/ })
      .first();
    await failed.getByRole('button', { name: /^SELECT/ }).click();
    await expect.poll(() => editor().textContent()).toMatch(/^SELECT "?nonsense"? FROM "?orders"?$/);
  });

  it('are those of the caller, also without the right to list all results', async () => {
    const token = (await (
      await gateway.call('POST', '/api/v1/rbac-manager/service-tokens', { description: 'narrow' })
    ).json()) as { bearerToken: string; accessKey: string };
    await gateway.call('POST', '/api/v1/rbac-manager/roles/srn2:role%23table-reader/create-assignment', {
      subject: token.accessKey,
      subjectType: 'service-token',
    });
    const other = await visit(browser, gateway.url, '/ui/queries');
    await signIn(other.page, token.bearerToken);
    await other.page.getByText('No results. A query that you run appears here.').waitFor();
    const field = other.page.locator('.cm-content');
    await typeInto(field, 'SELECT city FROM orders LIMIT 7');
    await other.page.keyboard.press('ControlOrMeta+Enter');
    await other.page.getByText('rows 1–7 of 7').waitFor();
    await other.page.getByRole('row', { name: /LIMIT 7 done 7/ }).waitFor();
    expect(await other.page.getByRole('heading', { name: 'Stored results' }).count()).toBe(0);
    expect(other.problems).toEqual([]);
    await other.page.context().close();
  });
});

describe('the text of a query', () => {
  it('is not in the address, and stays as it was typed, also after a reload and on another page', async () => {
    const typed = `-- ${'a long comment '.repeat(1000)}\nselect  city from orders limit 3`;
    await page.goto(`${gateway.url}/ui/queries`);
    await editor().waitFor();
    await typeInto(editor(), typed);
    await page.keyboard.press('ControlOrMeta+Enter');
    await rows('rows 1–3 of 3');
    expect([...new URL(page.url()).searchParams.keys()].toSorted()).toEqual(['result', 'row']);
    await typeInto(editor(), 'select 1 -- not yet run');
    await page.getByRole('link', { name: 'Gateway' }).click();
    await page.getByRole('heading', { level: 1, name: 'Gateway' }).waitFor();
    await page.getByRole('link', { name: 'Queries' }).click();
    await expect.poll(() => editor().textContent()).toBe('select 1 -- not yet run');
    await page.reload();
    await expect.poll(() => editor().textContent()).toBe('select 1 -- not yet run');
    await page.getByRole('region', { name: 'My results' }).last().getByRole('link').first().click();
    await expect.poll(() => editor().textContent()).toContain('a long comment');
    // Lines that are far from view are not rendered.
    await editor().press('ControlOrMeta+End');
    await editor().getByText('select  city from orders limit 3').waitFor();
  });

  it('of many lines leaves the button and the result in view', async () => {
    await typeInto(editor(), `select city from orders limit 3${'\n-- a line'.repeat(200)}`);
    await page.keyboard.press('ControlOrMeta+Enter');
    await rows('rows 1–3 of 3');
    const box = await page.getByRole('button', { name: 'Run', exact: true }).boundingBox();
    expect(box?.y).toBeLessThan(860 - 40);
  });
});

describe('with 5,000 tables', () => {
  it('lists all with a search, and reads only the schemas that the query names', async () => {
    const names = [...Array.from({ length: 4999 }, (_, index) => `metrics_${index}`), 'orders'];
    const schemas: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/schema')) schemas.push(new URL(request.url()).pathname);
    });
    await page.route(/\/tables$/, (route) => route.fulfill({ json: { tables: names } }));
    // An unsaved text names a table.
    await page.evaluate('sessionStorage.clear()');
    await page.goto(`${gateway.url}/ui/queries`);
    await page.getByText('5,000 tables available').waitFor();
    expect(schemas).toEqual([]);
    const list = page.getByRole('region', { name: 'Tables', exact: true });
    expect(await list.getByRole('listitem').count()).toBeLessThan(60);
    await list.evaluate((element) => {
      const box = element as unknown as { scrollTop: number; scrollHeight: number };
      box.scrollTop = box.scrollHeight;
    });
    await list.getByRole('button', { name: 'orders', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Search tables' }).fill('_4321');
    await list.getByRole('button', { name: 'metrics_4321', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Search tables' }).fill('orders');
    await list.getByRole('button', { name: 'orders', exact: true }).click();
    await expect.poll(() => editor().textContent()).toBe('SELECT * FROM orders LIMIT 1000');
    await list.getByRole('button', { name: 'orderId', exact: true }).waitFor();
    expect(schemas).toEqual(['/tables/orders/schema']);
    await typeInto(editor(), 'SELECT  FROM orders');
    await editor().press('Home');
    for (let step = 0; step < 7; step++) await page.keyboard.press('ArrowRight');
    await page.keyboard.type('orderI', { delay: 30 });
    await page.locator('.cm-tooltip-autocomplete').getByText('orderId', { exact: true }).waitFor();
    await page.unroute(/\/tables$/);
  });
});
