import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { signIn, startBrowser, typeInto, visit, type Visit } from '../support/browser.ts';
import { sharedPinot } from '../support/pinot.ts';
import { startStandalone, type Standalone } from '../support/service.ts';
import { TcpCut } from '../support/tcp-cut.ts';

const RBAC = '/api/v1/rbac-manager';
const SQL = 'SELECT orderId, city, price, tags FROM orders ORDER BY orderedAt LIMIT 2500';

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
const pager = (): Promise<string | null> =>
  page.getByRole('navigation', { name: 'Pages of the result' }).getByRole('status').textContent();

async function firstRow(): Promise<string[]> {
  return page.locator('.grid-row[aria-rowindex]').first().locator('[role=gridcell]').allTextContents();
}

describe('a query', () => {
  it('is completed with names of tables and columns', async () => {
    const { tables } = (await (await gateway.call('GET', '/tables')).json()) as { tables: string[] };
    await page.getByText(`${tables.length} tables available`).waitFor();
    await typeInto(page.locator('.cm-content'), 'SELECT * FROM ');
    await page.keyboard.type('ord', { delay: 30 });
    await page.locator('.cm-tooltip-autocomplete').getByText('orders', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
  });

  it('shows the error of the engine for an invalid query', async () => {
    await typeInto(page.locator('.cm-content'), 'SELECT nonsense FROM orders LIMIT 5');
    await press('Run');
    expect(await page.getByRole('region', { name: 'SQL' }).getByRole('alert').textContent()).toMatch(/nonsense/);
  });

  it('is shown page by page, with every digit of its numbers', async () => {
    await typeInto(page.locator('.cm-content'), SQL);
    await page.keyboard.press('ControlOrMeta+Enter');
    await expect.poll(pager).toBe('rows 1–100 of 2,500');
    expect(await page.locator('.grid').getByRole('columnheader').allTextContents()).toEqual([
      'row',
      'orderId LONG',
      'city STRING',
      'price DOUBLE',
      expect.stringMatching(/^tags STRING/),
    ]);
    expect((await firstRow())[0]).toBe('9007199254740993');
    await press('Next');
    await expect.poll(pager).toBe('rows 101–200 of 2,500');
    expect((await firstRow())[0]).toBe('9007199254741093');
    await press('Previous');
    await expect.poll(pager).toBe('rows 1–100 of 2,500');
    await press('Last');
    await expect.poll(pager).toBe('rows 2,401–2,500 of 2,500');
    await page.getByLabel('Go to row').fill('1234');
    await page.keyboard.press('Enter');
    await expect.poll(pager).toBe('rows 1,234–1,333 of 2,500');
    expect((await firstRow())[0]).toBe('9007199254742226');
    await page.getByLabel('Rows per page').selectOption('1,000');
    await expect.poll(pager).toBe('rows 1,234–2,233 of 2,500');
    await press('First');
    await expect.poll(pager).toBe('rows 1–1,000 of 2,500');
  });

  it('can be downloaded as CSV and copied, page by page', async () => {
    const [file] = await Promise.all([page.waitForEvent('download'), press('Download page as CSV')]);
    const lines = (await readFile(await file.path(), 'utf8')).split('\r\n');
    expect(lines[0]).toBe('orderId,city,price,tags');
    expect(lines[1]).toMatch(/^9007199254740993,/);
    expect(lines.join('\n')).toContain('"""quoted"", Inc"');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await press('Copy page');
    await page.getByText('Copied').waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toMatch(/^orderId\tcity\tprice\ttags\n9007199254740993\t/);
  });

  it('shows the statistics of the engine', async () => {
    await page.getByText('Statistics').click();
    const brief = await page.locator('summary', { hasText: 'Statistics' }).textContent();
    expect(brief).toMatch(/\d+ ms · [\d,]+ of 1,000,000 documents scanned · (\d) of \1 servers responded$/);
    const statistics = await page.locator('.statistics').textContent();
    expect(statistics).toMatch(/numDocsScanned\s*[1-9]/);
    expect(statistics).toMatch(/timeUsedMs\s*\d/);
  });
});

describe('stored results', () => {
  it('are listed with size, age, expiry and owner, and a bar shows the quota', async () => {
    const row = page.getByRole('region', { name: 'Stored results', exact: true }).last().getByRole('row').nth(1);
    expect(await row.textContent()).toMatch(/2,500\d+\.\d KB.*(ago|just now).*in .*admin@localhost/);
    // The capacity of the memory store, which is below the cleaner's quota of 1 GB.
    const { capacityBytes } = (await (await gateway.call('GET', '/query/resultStore/usage')).json()) as {
      capacityBytes: number;
    };
    const text = `of ${(capacityBytes / 1024 / 1024).toFixed(1)} MB`;
    const picture = page.getByRole('img', { name: text });
    expect(await picture.getAttribute('aria-label')).toMatch(/%\); the capacity of the store$/);
  });

  it('can be opened', async () => {
    await page.reload();
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await expect.poll(pager).toBe('rows 1–100 of 2,500');
    expect((await firstRow())[0]).toBe('9007199254740993');
    await press('Next');
    await expect.poll(pager).toBe('rows 101–200 of 2,500');
  });

  it('can be deleted', async () => {
    const stored = page.getByRole('region', { name: 'Stored results', exact: true }).last();
    await stored.getByRole('button', { name: /^Delete \(the result/ }).click();
    await page.getByRole('dialog', { name: 'Delete?' }).locator('button.danger').click();
    await page.getByText('No stored results.').waitFor();
    await press('Next');
    expect(await page.getByRole('region', { name: 'SQL' }).getByRole('alert').textContent()).toContain(
      'no query results for',
    );
  });
});

describe('the grid', () => {
  const cell = (row: number, column: number) =>
    page
      .locator(`.grid-row[aria-rowindex="${row + 1}"]`)
      .locator('[role=gridcell]')
      .nth(column - 1);
  const widthOf = async (column: string): Promise<number> =>
    (await page.locator('.grid').getByRole('columnheader', { name: column }).boundingBox())?.width ?? 0;

  it('opens a cell in full by the keyboard and by a double click, and returns the focus', async () => {
    await page.goto(`${gateway.url}/ui/queries`);
    await page.locator('.cm-content').waitFor();
    await typeInto(
      page.locator('.cm-content'),
      `SELECT orderId, tags, '{"a":[1,{"id":9007199254740993}],"b":"x"}' AS doc FROM orders WHERE arrayLength(tags) > 1 ORDER BY orderedAt LIMIT 200`,
    );
    await page.keyboard.press('ControlOrMeta+Enter');
    await expect.poll(pager).toBe('rows 1–100 of 200');
    await page.getByRole('grid', { name: 'Rows of this page' }).focus();
    for (const key of ['ArrowDown', 'End', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
    await expect.poll(() => cell(100, 3).getAttribute('class')).toContain('cell-active');
    await page.keyboard.press('Enter');
    const json = page.getByRole('dialog', { name: 'doc of row 100' });
    expect(await json.locator('pre').innerText()).toBe(
      '{\n  "a": [\n    1,\n    {\n      "id": 9007199254740993\n    }\n  ],\n  "b": "x"\n}',
    );
    await page.keyboard.press('Escape');
    await json.waitFor({ state: 'detached' });
    expect(await page.evaluate<string>('document.activeElement.getAttribute("role")')).toBe('grid');
    await page.keyboard.press('Home');
    await cell(1, 2).dblclick();
    const list = page.getByRole('dialog', { name: 'tags of row 1' });
    expect(await list.locator('li').count()).toBeGreaterThan(1);
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
  });

  it('keeps the width of a column for the next visit, and its name out of the storage', async () => {
    const automatic = await widthOf('doc');
    const edge = await page.locator('.grid').getByRole('columnheader', { name: 'doc' }).boundingBox();
    if (!edge) throw new Error('the column is not visible');
    const [x, y] = [edge.x + edge.width - 3, edge.y + edge.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x - 100, y);
    await page.mouse.up();
    await expect.poll(() => widthOf('doc')).toBeCloseTo(automatic - 100, -1);
    await cell(1, 1).click();
    const before = await widthOf('orderId');
    await page.keyboard.press(']');
    await expect.poll(() => widthOf('orderId')).toBeGreaterThan(before);
    expect(await page.evaluate<string>('JSON.stringify(localStorage)')).not.toMatch(/doc|orderId/);
    await page.reload();
    await expect.poll(pager).toBe('rows 1–100 of 200');
    expect(await widthOf('doc')).toBeCloseTo(automatic - 100, -1);
    await page.locator('.grid .resizer').nth(2).dblclick();
    await expect.poll(() => widthOf('doc')).toBeCloseTo(automatic, -1);
  });

  it.each([1440, 1920])('uses a window of %i pixels', async (width) => {
    await page.setViewportSize({ width, height: 1000 });
    const box = await page.locator('.grid .virtual').boundingBox();
    expect(box?.width).toBeGreaterThan(Math.min(width, 1840) - 120);
    expect(box?.height).toBeGreaterThan(600);
    await page.setViewportSize({ width: 1280, height: 860 });
  });
});

describe('the download of a whole result', () => {
  const group = () => page.getByRole('group', { name: 'Download' });
  const result = (): string => new URL(page.url()).searchParams.get('result') ?? '';
  const whole = (format: string): Promise<Response> =>
    gateway.call('GET', `/query/${result()}/results?format=${format}`);
  const contentOf = async (label: string): Promise<Buffer> => {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      group().getByText(label, { exact: true }).click(),
    ]);
    return readFile(await file.path());
  };

  it('is the file of the gateway, in each format', async () => {
    await typeInto(page.locator('.cm-content'), SQL);
    await page.keyboard.press('ControlOrMeta+Enter');
    await group().getByText('Download all 2,500 rows as').waitFor();
    for (const [label, format] of [
      ['CSV', 'csv'],
      ['JSON lines', 'jsonl'],
      ['Arrow', 'arrow'],
      ['Parquet', 'parquet'],
    ] as const) {
      const content = await contentOf(label);
      expect(content.equals(Buffer.from(await (await whole(format)).arrayBuffer()))).toBe(true);
      await group()
        .getByText(/ is complete: /)
        .waitFor();
    }
  });

  it('continues after a broken connection where it ended', async () => {
    const complete = await whole('jsonl');
    const body = Buffer.from(await complete.arrayBuffer());
    const ranges: (string | undefined)[] = [];
    await page.route(/format=jsonl/, async (route) => {
      const { range } = route.request().headers();
      ranges.push(range);
      if (ranges.length > 1) return route.continue();
      return route.fulfill({
        status: 206,
        headers: {
          etag: complete.headers.get('etag') ?? '',
          'content-range': `bytes 0-${body.length - 1}/${body.length}`,
          'x-olap-warden-rows': '2500',
        },
        body: body.subarray(0, 1000),
      });
    });
    await group().getByText('JSON lines', { exact: true }).click();
    await group().getByRole('alert').getByText(`The download ended after 1000 of ${body.length} bytes.`).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      group().getByRole('button', { name: 'Resume after 1000 B' }).click(),
    ]);
    expect((await readFile(await file.path())).equals(body)).toBe(true);
    expect(ranges).toEqual(['bytes=0-', 'bytes=1000-']);
    await page.unroute(/format=jsonl/);
  });

  it('continues after its connection was closed in the middle of the body', async () => {
    const cut = await TcpCut.start(gateway.url);
    try {
      const { page: behind, problems } = await visit(browser, cut.url, '/ui/queries');
      await signIn(behind, gateway.token);
      await typeInto(behind.locator('.cm-content'), SQL);
      await behind.keyboard.press('ControlOrMeta+Enter');
      const downloads = behind.getByRole('group', { name: 'Download' });
      await downloads.getByText('Download all 2,500 rows as').waitFor();
      const id = new URL(behind.url()).searchParams.get('result') ?? '';
      const complete = await gateway.call('GET', `/query/${id}/results?format=jsonl`);
      const body = Buffer.from(await complete.arrayBuffer());
      cut.holdAfter(body.length / 2, /format=jsonl/);
      await downloads.getByText('JSON lines', { exact: true }).click();
      // A browser discards what a page has not yet read when the connection breaks.
      const bar = downloads.getByRole('progressbar', { name: 'Download as JSON lines' });
      await expect.poll(async () => Number(await bar.getAttribute('value'))).toBeGreaterThan(0);
      expect(cut.cutHeld()).toBe(1);
      await downloads.getByRole('alert').getByText('The connection was closed.').waitFor();
      const [file] = await Promise.all([
        behind.waitForEvent('download'),
        downloads.getByRole('button', { name: /^Resume after/ }).click(),
      ]);
      expect((await readFile(await file.path())).equals(body)).toBe(true);
      const ranges = [...cut.sent.matchAll(/^range: bytes=(\d+)-\r$/gim)].map(([, from]) => Number(from));
      expect(ranges).toEqual([0, expect.any(Number)]);
      expect(ranges[1]).toBeGreaterThan(0);
      expect(ranges[1]).toBeLessThan(body.length / 2);
      // The browser itself reports the closed connection.
      expect(problems.filter((problem) => !problem.includes('net::ERR_'))).toEqual([]);
      await behind.context().close();
    } finally {
      await cut.close();
    }
  });

  it('can be cancelled, shows an error, and begins again', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/format=csv/, async (route) => {
      await held;
      await route.continue().catch(() => undefined);
    });
    await group().getByText('CSV', { exact: true }).click();
    await group().getByRole('progressbar', { name: 'Download as CSV' }).waitFor();
    await group().getByRole('button', { name: 'Cancel download' }).click();
    await group().getByText('The download was cancelled.').waitFor();
    release();
    await page.unroute(/format=csv/);
    await page.route(/format=csv/, (route) => route.fulfill({ status: 503, json: { message: 'too many downloads' } }));
    await group().getByText('CSV', { exact: true }).click();
    await group().getByRole('alert').getByText('too many downloads').waitFor();
    await page.unroute(/format=csv/);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      group().getByRole('button', { name: 'Begin again' }).click(),
    ]);
    expect(await readFile(await file.path(), 'utf8')).toBe(await (await whole('csv')).text());
  });
});

describe('an expired session', () => {
  it('asks for a new sign-in and keeps the entered query', async () => {
    const made = (await (await gateway.call('POST', `${RBAC}/service-tokens`, { description: 'short' })).json()) as {
      bearerToken: string;
      accessKey: string;
      srn: string;
    };
    await gateway.call('POST', `${RBAC}/roles/srn2:role%23cluster-admin/create-assignment`, {
      subject: made.accessKey,
      subjectType: 'service-token',
    });
    const other = await visit(browser, gateway.url, '/ui/queries');
    await signIn(other.page, made.bearerToken);
    const editor = other.page.locator('.cm-content');
    await typeInto(editor, 'SELECT orderId FROM orders ORDER BY orderId LIMIT 3');
    await gateway.call('DELETE', `${RBAC}/service-tokens/${encodeURIComponent(made.srn)}`);
    const again = other.page.getByRole('dialog', { name: 'Your session has ended' });
    const run = other.page.getByRole('button', { name: 'Run', exact: true });
    // Another request of the page may find the end of the session first; the dialog then covers the button.
    await run.click({ timeout: 5_000 }).catch(() => undefined);
    await again.getByLabel('Token').fill(gateway.token);
    await other.page.keyboard.press('Enter');
    await again.waitFor({ state: 'detached' });
    expect(await editor.textContent()).toBe('SELECT orderId FROM orders ORDER BY orderId LIMIT 3');
    await run.click();
    await other.page.getByText('rows 1–3 of 3').waitFor();
    expect(other.problems).toEqual([]);
    await other.page.context().close();
  });
});
