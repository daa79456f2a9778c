import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signIn, startBrowser, typeInto, visit } from '../support/browser.ts';
import { freePorts } from '../support/kubernetes/processes.ts';
import { sharedPinot } from '../support/pinot.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

/** Folder for screenshots; without it none are made. */
const SCREENSHOTS = process.env['SCREENSHOTS'];
const RBAC = '/api/v1/rbac-manager';
/** Page, scripts, styles and icon until the health report is shown, compressed; without the data. */
const MAX_FIRST_LOAD_BYTES = 46 * 1024;

let browser: Browser;
let gateway: Standalone;
let axe: string;

beforeAll(async () => {
  axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const { controllerUrl } = await sharedPinot();
  const [port = 0] = await freePorts(1);
  gateway = await startStandalone({ controllers: controllerUrl, port });
  await someResources();
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** Sample data, so that every page has content. */
async function someResources(): Promise<void> {
  const post = async (path: string, body: object): Promise<{ accessKey?: string }> => {
    const answer = await gateway.call('POST', path, body);
    const text = await answer.text();
    expect([answer.status, text]).toEqual([200, text]);
    return JSON.parse(text) as { accessKey?: string };
  };
  const statements = [
    {
      description: 'Analysts read orders',
      effect: 'allow',
      actions: ['Query', 'GetSchema'],
      resources: ['srn2:table#orders'],
    },
    { description: 'but not who ordered', effect: 'deny', actions: ['*'], resources: ['srn2:table#customers'] },
  ];
  await post(`${RBAC}/policies`, {
    name: 'read-orders',
    description: 'Orders without customers',
    policyDocument: { version: 'v1', statements },
  });
  const conditions = {
    rowFilters: ['city IN (${subject.groups})', "status <> 'RETURNED'"],
    columns: { deny: ['note'], mask: { price: 'floor(price / 100) * 100' } },
  };
  await post(`${RBAC}/policies`, {
    name: 'orders-of-a-city',
    description: 'Orders of the cities of a user',
    policyDocument: {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'], conditions }],
    },
  });
  await post(`${RBAC}/roles`, { name: 'analysts', description: 'Who reads orders' });
  await post(`${RBAC}/roles/srn2:role%23analysts/attach-policy`, { policySrn: 'srn2:policy#read-orders' });
  for (const [subjectType, subject] of [
    ['group', 'analysts'],
    ['user-email', 'ada@example.com'],
    ['domain', 'example.org'],
    ['user-email', 'somebody.with.a.long.name@department.subsidiary.example.com'],
  ])
    await post(`${RBAC}/roles/srn2:role%23analysts/create-assignment`, { subject, subjectType });
  const { accessKey } = await post(`${RBAC}/service-tokens`, { description: 'nightly import' });
  await post(`${RBAC}/roles/srn2:role%23analysts/create-assignment`, {
    subject: accessKey,
    subjectType: 'service-token',
  });
  for (const limit of [500, 2000])
    await post('/query/sql?doPaginate=true', { sql: `SELECT * FROM orders ORDER BY orderedAt LIMIT ${limit}` });
  await gateway.call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask&wait=true');
}

const run = async (page: Page): Promise<void> => {
  await page.locator('.cm-content').waitFor();
  await typeInto(
    page.locator('.cm-content'),
    'SELECT orderId, customerId, status, quantity, price FROM orders ORDER BY orderedAt LIMIT 2500',
  );
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText('rows 1–100 of 2,500').waitFor();
};
const decide = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Check' }).click();
  await page.locator('.decision').waitFor();
  await page.getByLabel('Resource to look up').fill('srn2:table#orders');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('link', { name: 'analysts' }).first().waitFor();
};
const editor = (page: Page): Promise<void> => page.locator('.cm-content').waitFor();

/** Every page, in a state with content. */
const PAGES: readonly { name: string; path: string; ready?: (page: Page) => Promise<void> }[] = [
  { name: 'health', path: '/ui/health', ready: (page) => page.locator('.check-fail .check-head').first().click() },
  {
    name: 'table',
    path: '/ui/cluster?tab=tables&name=orders',
    ready: (page) => page.getByRole('region', { name: 'Who may do it' }).waitFor(),
  },
  {
    name: 'roles',
    path: '/ui/access?tab=roles&name=analysts',
    ready: (page) => page.getByText('ada@example.com').waitFor(),
  },
  { name: 'policies', path: '/ui/access?tab=policies&name=read-orders', ready: editor },
  {
    name: 'policy-form',
    path: '/ui/access?tab=policies&name=orders-of-a-city',
    ready: async (page) => {
      await page.getByRole('button', { name: 'Form', exact: true }).click();
      await page.getByLabel('Value of subject.groups').fill('Berlin, Zürich');
      await page.locator('.printed').getByText('Zürich').waitFor();
      await page.getByRole('button', { name: 'Show the first rows' }).click();
      await page.getByRole('region', { name: 'First rows' }).waitFor();
      await page.evaluate("document.querySelector('.conditions').scrollIntoView()");
    },
  },
  {
    name: 'assignments',
    path: '/ui/access?tab=assignments',
    ready: (page) => page.getByText('ada@example.com').waitFor(),
  },
  { name: 'service-tokens', path: '/ui/access?tab=tokens', ready: (page) => page.locator('.item').first().click() },
  {
    name: 'review',
    path: '/ui/access?tab=review',
    ready: (page) => page.getByText('Use is recorded since').waitFor(),
  },
  {
    name: 'grant',
    path: '/ui/access?tab=grant',
    ready: async (page) => {
      await page.getByLabel('Subject', { exact: true }).fill('ada@example.com');
      await page.getByRole('textbox', { name: 'Tables' }).fill('orders');
      await page.keyboard.press('Enter');
      await page.locator('#grant-policy').waitFor();
    },
  },
  {
    name: 'who-can',
    path: '/ui/who-can?type=group&subject=analysts&action=Query&resource=srn2:table%23orders',
    ready: decide,
  },
  { name: 'queries', path: '/ui/queries', ready: run },
  { name: 'gateway', path: '/ui/overview', ready: (page) => page.getByText('reachable').waitFor() },
];

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Violations that axe reports as serious or critical. */
async function accessibility(page: Page): Promise<string[]> {
  // Through the debugger, because the page's content security policy blocks the script.
  await page.evaluate(axe);
  const { violations } = await page.evaluate<{ violations: Finding[] }>('axe.run(document)');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}

async function picture(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  const folder = resolve(import.meta.dirname, '../..', SCREENSHOTS);
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

describe.each(['light', 'dark'] as const)('every page in the %s theme', (colorScheme) => {
  it('is accessible, makes no external request and follows its security policy: sign-in', async () => {
    const { page, problems } = await visit(browser, gateway.url, '/ui/', { colorScheme });
    await page.getByLabel('Token').waitFor();
    await picture(page, `dashboard-sign-in-${colorScheme}`);
    expect(await accessibility(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it.each(PAGES)(
    'is accessible, makes no external request and follows its security policy: $name',
    async ({ name, path, ready }) => {
      const { page, problems } = await visit(browser, gateway.url, path, { colorScheme });
      await signIn(page, gateway.token);
      await ready?.(page);
      expect(await page.locator('.note-error').allInnerTexts()).toEqual([]);
      await picture(page, `dashboard-${name}-${colorScheme}`);
      expect(await accessibility(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 800 });
      if (colorScheme === 'light' && (name === 'health' || name === 'queries' || name === 'policy-form'))
        await picture(page, `dashboard-${name}-phone`);
      // Nothing exceeds the width of a phone.
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
      expect(problems).toEqual([]);
      await page.context().close();
    },
  );
});

describe.each(['light', 'dark'] as const)('the documentation in the gateway in the %s theme', (colorScheme) => {
  it.each(['/docs', '/docs/checks/REPLICATION_CHECK'])('is accessible: %s', async (path) => {
    const { page, problems } = await visit(browser, gateway.url, path, { colorScheme });
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    expect(await accessibility(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

/** Time of the processor that the page's thread has used, seconds. Unlike the time that passes, it does not depend on other programs. */
async function processorSeconds(protocol: CDPSession): Promise<number> {
  const { metrics } = await protocol.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
}

describe('the first load', () => {
  it('is small, and usable after less than half a second of the processor', async () => {
    let best = Number.POSITIVE_INFINITY;
    let bytes = 0;
    // The best of five: other programs share the caches of the processor.
    for (let attempt = 0; attempt < 5; attempt++) {
      const { page } = await visit(browser, gateway.url, '/docs');
      const protocol = await page.context().newCDPSession(page);
      await protocol.send('Network.enable');
      await protocol.send('Performance.enable', { timeDomain: 'threadTicks' });
      bytes = 0;
      const files = new Set<string>();
      protocol.on('Network.responseReceived', ({ requestId, response }) => {
        if (/\/ui\/(?:assets\/|$)/.test(response.url)) files.add(requestId);
      });
      protocol.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
        if (files.has(requestId)) bytes += encodedDataLength;
      });
      const before = await processorSeconds(protocol);
      await page.goto(`${gateway.url}/ui/`);
      await page.getByLabel('Token').waitFor();
      best = Math.min(best, (await processorSeconds(protocol)) - before);
      await signIn(page, gateway.token);
      await page.locator('.check').first().waitFor();
      await page.context().close();
    }
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(MAX_FIRST_LOAD_BYTES);
    expect(best).toBeGreaterThan(0);
    expect(best).toBeLessThan(0.5);
  });
});

describe('with the keyboard only', () => {
  it('signs in, finds a failing check, and asks who may query', async () => {
    const { page } = await visit(browser, gateway.url);
    const { keyboard } = page;
    const focused = (): Promise<string> =>
      page.evaluate<string>(
        'document.activeElement.textContent || document.activeElement.getAttribute("aria-label") || ""',
      );
    const tabTo = async (text: string): Promise<void> => {
      for (let presses = 0; presses < 80; presses++) {
        await keyboard.press('Tab');
        if ((await focused()).startsWith(text)) return;
      }
      throw new Error(`Tab does not come to \`${text}\``);
    };
    await page.getByLabel('Token').waitFor();
    await keyboard.type(gateway.token);
    await keyboard.press('Enter');
    await page.locator('.check').first().waitFor();
    await tabTo('Skip to the content');
    await tabTo('Failing');
    await keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('status=FAIL');
    await tabTo('FAIL');
    await keyboard.press('Space');
    await page.locator('.check-body').waitFor();
    await page.reload();
    await page.locator('.check-body').waitFor();
    await tabTo('Who can');
    await keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Who can' }).waitFor();
    await page.getByLabel('Resource to look up').waitFor();
    // Subject kind, subject, action, resource and the button, in the order of the page.
    await tabTo('a user');
    await keyboard.press('Tab');
    await keyboard.type('ada@example.com');
    await keyboard.press('Tab');
    await keyboard.press('Tab');
    await keyboard.press('End');
    await keyboard.type('orders');
    await keyboard.press('Enter');
    await page.locator('.decision').getByText('ALLOW').waitFor();
    await page.context().close();
  });
});

/** Scrolls to the end in steps. @returns the maximum number of nodes in the document */
async function scrollThrough(page: Page, selector: string): Promise<{ nodes: number; last: string }> {
  const list = page.locator(selector);
  let nodes = 0;
  for (const share of [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]) {
    await list.evaluate((element, part) => {
      const box = element as unknown as { scrollTop: number; scrollHeight: number };
      box.scrollTop = box.scrollHeight * part;
    }, share);
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    nodes = Math.max(nodes, await page.evaluate<number>('document.querySelectorAll("*").length'));
  }
  return { nodes, last: await list.innerText() };
}

/** By how many pixels a table is wider than its place. */
const overflow =
  "Math.max(0, ...[...document.querySelectorAll('.table-scroll')].map((one) => one.scrollWidth - one.clientWidth))";

describe('long lists', () => {
  const MAX_NODES = 1500;

  it('renders only the visible findings of 5,000', async () => {
    const { page } = await visit(browser, gateway.url);
    const report = (await (await gateway.call('GET', '/clusterHealth')).json()) as { checks: object[] };
    const findings = Array.from({ length: 5000 }, (_, index) => ({
      entityType: 'segment',
      entity: `orders_OFFLINE_${index}`,
      message: `segment ${index} is not well`,
      observed: String(index),
    }));
    const [first, ...others] = report.checks;
    const checks = [{ ...first, status: 'FAIL', findings, findingCount: 5000 }, ...others];
    await page.route(/clusterHealth$/, (route) => route.fulfill({ json: { ...report, checks } }));
    await signIn(page, gateway.token);
    await page.locator('.check-head', { hasText: '5,000' }).click();
    await page.getByText('segment 0 is not well').waitFor();
    const { nodes, last } = await scrollThrough(page, '.check-body .virtual');
    expect(last).toContain('segment 4999 is not well');
    expect(nodes).toBeLessThan(MAX_NODES);
    // The search covers the whole report, not only the rendered part.
    await page.getByLabel('Table', { exact: true }).fill('OFFLINE_4321');
    await page.getByText('segment 4321 is not well').waitFor();
    await page.context().close();
  });

  it.each([
    { what: 'Roles', tab: 'roles', entry: (name: string) => ({ name, description: '' }) },
    { what: 'Policies', tab: 'policies', entry: (name: string) => ({ name, description: '' }) },
    {
      what: 'Assignments',
      tab: 'assignments',
      entry: (name: string) => ({ subject: name, subjectType: 'group', role: 'analysts', createdAt: '2026-01-01' }),
    },
    {
      what: 'Service tokens',
      tab: 'tokens',
      entry: (name: string) => ({ accessKey: name, srn: `srn2:service-token#${name}`, description: '', roles: [] }),
    },
  ])('renders a part of 5,000, and the search finds each of them: $what', async ({ what, tab, entry }) => {
    const { page } = await visit(browser, gateway.url);
    await signIn(page, gateway.token);
    const all = Array.from({ length: 5000 }, (_, index) => entry(`entry-${index}-`));
    const path = tab === 'tokens' ? 'service-tokens' : tab;
    await page.route(new RegExp(`rbac-manager/${path}$`), (route) => route.fulfill({ json: all }));
    await page.goto(`${gateway.url}/ui/access?tab=${tab}`);
    await page.getByText('Showing the first 300 of 5,000').waitFor();
    expect(await page.evaluate<number>('document.querySelectorAll("*").length')).toBeLessThan(10_000);
    // The actions of a row are in view, on the smallest laptop.
    expect(await page.evaluate<number>(overflow)).toBeLessThanOrEqual(0);
    await page.getByRole('searchbox', { name: `Search ${what}` }).fill('entry-4321-');
    await page.getByText('entry-4321-').first().waitFor();
    await page.getByText('Showing the first').waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('renders only the visible rows of 10,000', async () => {
    const { page } = await visit(browser, gateway.url, '/ui/queries');
    await signIn(page, gateway.token);
    await page.locator('.cm-content').waitFor();
    await page.getByLabel('Rows per page').selectOption('10,000');
    await typeInto(page.locator('.cm-content'), 'SELECT * FROM orders ORDER BY orderedAt LIMIT 10000');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('rows 1–10,000 of 10,000').waitFor();
    const { nodes, last } = await scrollThrough(page, '.grid .virtual');
    expect(last).toContain('9007199254750992');
    expect(nodes).toBeLessThan(MAX_NODES);
    await page.context().close();
  });
});
