import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { signIn, startBrowser, typeInto, visit, type Visit } from '../support/browser.ts';
import { sharedPinot } from '../support/pinot.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

// What makes writing queries and reading results quick: the tree of tables, the selection, earlier queries, and the rows of a page.

let browser: Browser;
let gateway: Standalone;
let open: Visit;
let page: Page;

beforeAll(async () => {
  const { controllerUrl } = await sharedPinot();
  gateway = await startStandalone({ controllers: controllerUrl });
  browser = await startBrowser();
});
beforeEach(async () => {
  open = await visit(browser, gateway.url, '/ui/queries');
  ({ page } = open);
  await signIn(page, gateway.token);
  await editor().waitFor();
});
afterEach(async () => {
  expect(open.problems).toEqual([]);
  await page.context().close();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

const editor = (): Locator => page.locator('.cm-content');
const text = (): Promise<string | null> => editor().textContent();
const button = (name: string | RegExp, within: Page | Locator = page): Locator =>
  within.getByRole('button', { name, exact: true });
/** The texts of the first cells of all rows that are rendered. */
const firstCells = (): Promise<string[]> => page.locator('[role=gridcell][aria-colindex="2"]').allInnerTexts();

/** Lets the next query have these rows. */
async function respond(columns: readonly [name: string, type: string][], rows: string): Promise<void> {
  const dataSchema = { columnNames: columns.map(([name]) => name), columnDataTypes: columns.map(([, type]) => type) };
  const count = (JSON.parse(rows) as unknown[]).length;
  const about = {
    requestId: 'made',
    brokerId: 'made',
    offset: 0,
    numRows: count,
    numRowsResultSet: count,
    exceptions: [],
  };
  const table = `{"dataSchema":${JSON.stringify(dataSchema)},"rows":${rows}}`;
  await page.route(/query\/sql/, (route) =>
    route.fulfill({
      contentType: 'application/json',
      body: `${JSON.stringify(about).slice(0, -1)},"resultTable":${table}}`,
    }),
  );
  await typeInto(editor(), 'select something');
  await page.keyboard.press('ControlOrMeta+Enter');
  await page.getByRole('grid').waitFor();
}

describe('the tree of tables', () => {
  it('is beside the editor, shows columns with their types, and inserts a column at the cursor', async () => {
    await typeInto(editor(), 'SELECT  FROM orders');
    const tree = page.getByRole('region', { name: 'Tables', exact: true });
    await tree.getByText('orderId', { exact: true }).waitFor();
    const column = tree.getByRole('listitem').filter({ hasText: 'orderId' });
    expect(await column.textContent()).toMatch(/^orderId (?:LONG|INT|STRING)$/);
    await editor().press('Home');
    for (let step = 0; step < 7; step++) await page.keyboard.press('ArrowRight');
    await button('orderId', tree).click();
    await expect.poll(text).toBe('SELECT orderId FROM orders');
    await page.keyboard.type(', city');
    await expect.poll(text).toBe('SELECT orderId, city FROM orders');
    const lines = await tree.getByRole('listitem').count();
    await button('Columns of customers', tree).click();
    await expect.poll(() => tree.getByRole('listitem').count()).toBeGreaterThan(lines);
    const [left, right] = [await editor().boundingBox(), await tree.boundingBox()];
    expect(right?.x).toBeGreaterThan((left?.x ?? 0) + (left?.width ?? 0));
  });
});

describe('a selection', () => {
  it('is what runs', async () => {
    await typeInto(editor(), 'SELECT city FROM orders LIMIT 3 nonsense');
    await editor().press('Home');
    await page.keyboard.down('Shift');
    for (let step = 0; step < 'SELECT city FROM orders LIMIT 3'.length; step++) await page.keyboard.press('ArrowRight');
    await page.keyboard.up('Shift');
    await button('Run the selection').click();
    await page.getByText('rows 1–3 of 3').waitFor();
  });
});

describe('the history', () => {
  it('has queries as they were typed, and keeps the starred ones with their names for the next visit', async () => {
    const typed = 'select  city from orders -- as typed\nlimit 4';
    await typeInto(editor(), typed);
    await page.keyboard.press('ControlOrMeta+Enter');
    await page.getByText('rows 1–4 of 4').waitFor();
    await page.getByText('History and starred queries').click();
    await button(/^Star select/).click();
    await page.getByRole('textbox', { name: /^Name of select/ }).fill('four cities');
    await button('Sign out').click();
    await page.getByLabel('Token').waitFor();
    await signIn(page, gateway.token);
    await page.getByRole('link', { name: 'Queries' }).click();
    await page.getByText('History and starred queries').click();
    expect(await page.getByRole('textbox', { name: /^Name of select/ }).inputValue()).toBe('four cities');
    await page.getByRole('list', { name: 'Queries' }).locator('button.link').click();
    await editor().getByText('-- as typed').first().waitFor();
    await button(/^Star select/).click();
    await expect
      .poll(() => page.evaluate('Object.keys(localStorage).filter((key) => /starred/.test(key)).length'))
      .toBe(0);
  });
});

describe('the rows of a page', () => {
  it('are sorted by a click on a column or a key, exactly, and found by a search', async () => {
    await respond(
      [
        ['id', 'LONG'],
        ['name', 'STRING'],
      ],
      '[[9007199254740993,"b"],[9007199254740992,"c"],[null,"a"],[10,"b"]]',
    );
    await page.getByRole('columnheader', { name: 'id LONG' }).click();
    await expect.poll(firstCells).toEqual(['10', '9007199254740992', '9007199254740993', 'null']);
    await page.getByRole('columnheader', { name: 'id LONG' }).click();
    await expect.poll(firstCells).toEqual(['9007199254740993', '9007199254740992', '10', 'null']);
    await page.getByRole('grid').focus();
    for (const key of ['ArrowDown', 'ArrowRight', 's']) await page.keyboard.press(key);
    await expect.poll(firstCells).toEqual(['null', '9007199254740993', '10', '9007199254740992']);
    await page.getByLabel('Search in this page').fill('B');
    await expect.poll(firstCells).toEqual(['9007199254740993', '10']);
    await page.getByText('2 rows', { exact: true }).waitFor();
  });

  it('show amounts with separators, their exact digits at the pointer, and ids as they are', async () => {
    await respond(
      [
        ['total', 'DOUBLE'],
        ['count(*)', 'LONG'],
        ['id', 'LONG'],
      ],
      '[[1.271008451E7,1234567,1234567],[-0.00025,7,8],[1.0E22,0,0]]',
    );
    const cells = page.getByRole('gridcell');
    await expect
      .poll(() => cells.allInnerTexts())
      .toEqual(['12,710,084.51', '1,234,567', '1234567', '-0.00025', '7', '8', '1.0E22', '0', '0']);
    expect(await cells.first().getAttribute('title')).toBe('1.271008451E7');
  });

  it('have the time that a number may be, in the dialog of the cell', async () => {
    await respond([['at', 'LONG']], '[[1760000000000]]');
    await page.getByRole('button', { name: 'UTC' }).click();
    await page.getByRole('gridcell').dblclick();
    await page.getByRole('dialog', { name: 'at of row 1' }).getByText('As a time: 9 Oct 2025, 08:53:20 UTC').waitFor();
  });

  it('of 300 columns render only those in view, also after scrolling to the side', async () => {
    const columns = Array.from({ length: 300 }, (_, at): [string, string] => [`column_${at}`, 'INT']);
    const rows = Array.from({ length: 100 }, (_, row) => columns.map((_column, at) => row * 1000 + at));
    await respond(columns, JSON.stringify(rows));
    const cells = (): Promise<number> => page.getByRole('gridcell').count();
    expect(await cells()).toBeLessThan(1500);
    await page.getByRole('grid').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('grid').evaluate((element) => {
      const box = element as unknown as { scrollLeft: number; scrollWidth: number };
      box.scrollLeft = box.scrollWidth;
    });
    await page.getByRole('columnheader', { name: 'column_299 INT' }).waitFor();
    await page.locator('[role=gridcell][aria-colindex="301"]').getByText('1299', { exact: true }).waitFor();
    expect(await cells()).toBeLessThan(1500);
  });
});

describe('a jump', () => {
  it('by two keys leads to a page, and by Ctrl+K to anything with a name', async () => {
    await page.getByRole('heading', { level: 1, name: 'Queries' }).click();
    await page.keyboard.press('g');
    await page.keyboard.press('h');
    await expect.poll(() => new URL(page.url()).pathname).toBe('/ui/health');
    await page.keyboard.press('ControlOrMeta+k');
    const dialog = page.getByRole('dialog', { name: 'Go to' });
    await dialog.waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('INPUT');
    await page.keyboard.type('table order');
    await button('orders table', dialog).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 2, name: 'orders' }).waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe('?tab=tables&name=orders');
  });
});
