import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { signIn, startBrowser, visit, type Visit } from '../support/browser.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { sharedPinot } from '../support/pinot.ts';
import { startStandalone, type Standalone } from '../support/service.ts';
import { CATALOGUE } from '../../src/health/catalogue.ts';
import { once } from '../support/once.ts';

const CHECKS = CATALOGUE.length;

/** A proxy in front of the controller that delays responses by `delayMs`, so that a run takes long enough to be observed. */
class SlowController {
  delayMs = 0;
  readonly #server: Server;

  constructor(target: string) {
    this.#server = createServer((incoming, outgoing) => {
      setTimeout(() => {
        const options = { method: incoming.method, headers: incoming.headers };
        const passed = httpRequest(target + (incoming.url ?? ''), options, (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        });
        passed.on('error', () => outgoing.destroy());
        incoming.pipe(passed);
      }, this.delayMs);
    });
  }

  async listen(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

let browser: Browser;
let controller: SlowController;
let gateway: Standalone;
let open: Visit;
let page: Page;

beforeAll(async () => {
  const pinot = await sharedPinot();
  controller = new SlowController(pinot.controllerUrl);
  gateway = await startStandalone({ controllers: await controller.listen() });
  browser = await startBrowser();
  open = await visit(browser, gateway.url);
  ({ page } = open);
});
afterEach(() => {
  expect(open.problems).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
  controller?.close();
});

describe('signing in', () => {
  it('shows the error for an invalid token next to the field', async () => {
    const refusal = await gateway.call('GET', '/api/v1/rbac-manager/whoami', undefined, {
      authorization: 'Bearer svc-0000000000000000-wrong',
    });
    const { message } = (await refusal.json()) as { message: string };
    await page.getByLabel('Token').fill('svc-0000000000000000-wrong');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    expect(await page.locator('form [role=alert]').textContent()).toBe(message);
  });

  it('opens a session that scripts cannot read', async () => {
    await signIn(page, gateway.token);
    await page.waitForURL('**/ui/health');
    const held = await page.evaluate<unknown>('[document.cookie, localStorage.length, sessionStorage.length]');
    expect(held).toEqual(['', 0, 0]);
    const cookies = await page.context().cookies();
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);
    const session = cookies[0]?.value ?? '';
    expect(session).not.toContain(gateway.token);
    const asToken = { authorization: `Bearer ${session}` };
    expect((await gateway.call('GET', '/api/v1/rbac-manager/whoami', undefined, asToken)).status).toBe(401);
    // The cookie alone is no credential: a page of another site could send it. Sent outside of the page: there, this 401 opens the browser's own login dialog.
    const whoami = async (headers: Record<string, string>): Promise<number> => {
      const options = { headers, timeout: WAIT_LIMIT_MS };
      return (await page.context().request.get(`${gateway.url}/api/v1/rbac-manager/whoami`, options)).status();
    };
    expect(await whoami({ 'x-olap-warden-ui': '1' })).toBe(200);
    expect(await whoami({})).toBe(401);
  });

  it('keeps the session after a reload', async () => {
    await page.reload();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  });
});

/** The run in progress, as shown by the page. */
const run = (): Locator => page.getByRole('region', { name: 'Health run in progress' });

/**
 * Observes a run until half of its checks are completed, then removes the delay.
 * @returns the number of observed steps, and whether completed and waiting checks were shown together
 */
async function watchRun(): Promise<{ steps: number; partly: boolean }> {
  await run().getByRole('progressbar', { name: 'Progress of the run' }).waitFor();
  const seen = new Set<number>();
  let partly = false;
  for (const deadline = Date.now() + 60_000; Date.now() < deadline;) {
    // A snapshot of the panel; absent when the run has finished.
    const shown = await page.evaluate<{ said: string; marks: string[]; value: number; max: number } | null>(`(() => {
      const panel = document.querySelector('.run');
      const bar = panel?.querySelector('progress');
      return bar && { said: panel.querySelector('[role=status]').textContent, value: bar.value, max: bar.max,
        marks: [...panel.querySelectorAll('.run-check .sr-only')].map((mark) => mark.textContent) };
    })()`);
    if (!shown) break;
    const decided = shown.marks.filter((mark) => mark !== 'waiting').length;
    expect([shown.marks.length, shown.max, shown.value]).toEqual([CHECKS, CHECKS, decided]);
    if (decided > 0) expect(shown.said).toMatch(new RegExp(`^${decided} of ${CHECKS} checks completed, `));
    seen.add(decided);
    partly ||= decided > 0 && decided < CHECKS;
    if (decided > 16) controller.delayMs = 0;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  controller.delayMs = 0;
  return { steps: seen.size, partly };
}

describe('health', () => {
  it('starts a run and shows its progress check by check', async () => {
    // The first run after the start has finished, so the next one is that of the button.
    await expect
      .poll(
        async () =>
          ((await (await gateway.call('GET', '/clusterHealth')).json()) as { runTimestamp: unknown }).runTimestamp,
      )
      .not.toBeNull();
    controller.delayMs = 500;
    const button = page.getByRole('button', { name: 'Run now' });
    await button.click();
    const { steps, partly } = await watchRun();
    expect(partly).toBe(true);
    expect(steps).toBeGreaterThan(1);
    await run().waitFor({ state: 'detached' });
    await page.getByText(/checked just now|checked \d+ seconds? ago/).waitFor();
    expect(await page.locator('li.check').count()).toBe(CHECKS);
  });

  it('shows a run that another client started, check by check, and then its report', async () => {
    const before = await page.locator('.glance time').last().getAttribute('datetime');
    controller.delayMs = 500;
    await gateway.call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask');
    const { partly } = await watchRun();
    expect(partly).toBe(true);
    await run().waitFor({ state: 'detached' });
    await expect.poll(() => page.locator('.glance time').last().getAttribute('datetime')).not.toBe(before);
  });

  it('shows the state of the cluster, by severity, and unread data apart from faults', async () => {
    const { checks } = (await (await gateway.call('GET', '/clusterHealth')).json()) as {
      checks: { status: string; couldNotEvaluate?: boolean }[];
    };
    const failing = checks.filter(({ status }) => status === 'FAIL').length;
    const unread = checks.filter(({ couldNotEvaluate }) => couldNotEvaluate === true).length;
    expect(failing).toBeGreaterThan(unread);
    const heading = page.getByRole('heading', { level: 1 });
    const rest = unread === 0 ? '' : `, ${unread} could not be read`;
    expect(await heading.textContent()).toMatch(new RegExp(`^${failing - unread} of ${CHECKS} checks fails?${rest}$`));
    const glance = page.getByRole('region', { name: 'State of the cluster' });
    expect(await glance.textContent()).toMatch(/failing for \d+ (second|minute)s?, since \d+ \w+ \d{4}.*checked /s);
    expect(await glance.locator('.strip a').count()).toBe(CHECKS);
    expect(await glance.locator('.strip .cell-fail, .strip .cell-unread').count()).toBe(failing);
    const titles = await page.locator('h2.family').allTextContents();
    const rank = (title: string): number =>
      ['Critical', 'Warnings', 'Advice', 'Not read'].findIndex((section) => section === title) + 1 || 5;
    expect(titles.map(rank)).toEqual(titles.map(rank).toSorted((a, b) => a - b));
    expect(await page.locator('li.check-fail').count()).toBe(failing - unread);
    expect(await page.locator('li.check-unread').count()).toBe(unread);
  });

  it('mutes findings with a reason until a time, and shows the mutes and their findings apart', async () => {
    await page.locator('.check-fail .check-head').first().click();
    const finding = page.locator('.finding').first();
    const entity = (await finding.locator('code').first().textContent()) ?? '';
    await finding.getByRole('button', { name: /^Mute / }).click();
    const dialog = page.getByRole('dialog', { name: 'Mute findings' });
    await page.keyboard.type('known, replaced on Friday');
    await dialog.getByRole('button', { name: '1 week' }).click();
    expect(await dialog.getByLabel('Entity').inputValue()).toBe(entity);
    await dialog.getByRole('button', { name: 'Mute', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('1 mute', { exact: true }).click();
    const row = page.getByRole('region', { name: 'Mutes' }).getByRole('row', { name: 'known, replaced on Friday' });
    await row.waitFor();
    expect(await row.textContent()).toMatch(/until .* \(in [67] days/);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy as manifest', exact: true }).click();
    await page.getByText('Copied').waitFor();
    const manifest = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(manifest).toContain('kind: ClusterHealthReport\nmetadata:\n  name: cluster\nspec:\n  mutes:\n    - id: ');
    expect(manifest).toContain(entity);
    await row.getByRole('button', { name: `Copy as curl: the mute of ${entity}` }).waitFor();
    // The operator applies it to the report without a run.
    await page.locator('.finding').getByText('MUTED').first().or(page.locator('.check-muted')).first().waitFor();
    await row.getByRole('button', { name: /^Remove/ }).click();
    await page.getByRole('dialog', { name: 'Remove?' }).locator('button.danger').click();
    await row.waitFor({ state: 'detached' });
    await page.locator('.check-muted, .finding .badge-plain').first().waitFor({ state: 'detached' });
    await page.locator('.check-head[aria-expanded=true]').click();
  });

  it('shows the history of the states', async () => {
    const timeline = page.getByRole('img', { name: /^Checks failed in \d+ of 48 parts of this time$/ });
    expect(await timeline.locator('.cell-unknown').count()).toBeGreaterThan(0);
    expect(await timeline.locator('.cell-fail').count()).toBeGreaterThan(0);
    await page.locator('.history summary').click();
    await page.locator('.history .rows').getByText('→').first().waitFor();
    await page.getByRole('button', { name: '24 hours' }).click();
    await page.locator('.history summary').click();
  });

  it('leads from a finding to its table or instance, and on to all their findings; Back undoes it', async () => {
    await page.goto(`${gateway.url}/ui/health?status=FAIL`);
    const link = page.locator('.finding .entity').getByRole('link');
    await page.locator('.check-head').first().waitFor();
    for (const head of await page.locator('.check-head').all()) {
      await head.click();
      await expect.poll(() => head.getAttribute('aria-expanded')).toBe('true');
      if ((await link.count()) > 0) break;
    }
    const entity = (await link.first().textContent()) ?? '';
    await link.first().click();
    await expect.poll(() => new URL(page.url()).pathname).toBe('/ui/cluster');
    await page.getByRole('link', { name: 'On the health page' }).click();
    await expect.poll(() => new URL(page.url()).search).toMatch(/table=|instance=/);
    const filter = new URL(page.url()).searchParams;
    expect(entity).toContain(filter.get('table') ?? filter.get('instance') ?? 'nothing');
    await page.goBack();
    await page.goBack();
    await expect.poll(() => new URL(page.url()).search).toContain('status=FAIL');
    await page.goto(`${gateway.url}/ui/health`);
  });

  it('shows the last complete result while the latest run could not read everything', async () => {
    const report = (await (await gateway.call('GET', '/clusterHealth')).json()) as { checks: object[] };
    const time = Date.now() - 7_200_000;
    const lastComplete = { runTimestamp: time, ageMs: 7_200_000, pass: 30, fail: 3, checks: [] };
    const checks = report.checks.map((check) => Object.assign(check, { status: 'FAIL', couldNotEvaluate: true }));
    await page.route(/clusterHealth$/, (route) => route.fulfill({ json: { ...report, checks, lastComplete } }));
    await page.reload();
    await page.getByRole('heading', { level: 1, name: `No check fails; ${CHECKS} checks could not be read` }).waitFor();
    await page.getByText('last complete result 2 hours ago: 3 of 33 checks failed').waitFor();
    await page.unroute(/clusterHealth$/);
    await page.reload();
  });

  it('shows causes before the checks, with links to their checks and to all findings of their entity', async () => {
    const report = (await (await gateway.call('GET', '/clusterHealth')).json()) as { causes: object[] };
    const entity = 'Server_10.0.0.1_8098';
    const cause = {
      ...{ id: `server/${entity}`, kind: 'instance-disabled', entityType: 'server', entity, severity: 'warning' },
      since: new Date(Date.now() - 7_200_000).toISOString(),
      message: `server \`${entity}\` is disabled: 4 checks, 12 segments of 3 tables have lost one replica, none is without`,
      checks: ['IDEAL_STATE_EV_MISMATCH_CHECK', 'INSTANCE_AVAILABILITY_CHECK'],
      ...{ findingCount: 7, tables: 3, segments: 12, unserved: 0 },
    };
    await page.route(/clusterHealth$/, (route) => route.fulfill({ json: { ...report, causes: [cause] } }));
    await page.reload();
    const causes = page.getByRole('region', { name: 'Causes' });
    await causes.getByText('12 segments of 3 tables have lost one replica, none is without').waitFor();
    const below = await page.locator('li.check').first().boundingBox();
    expect((await causes.boundingBox())?.y).toBeLessThan(below?.y ?? 0);
    expect(await causes.getByRole('link', { name: 'Runbook' }).getAttribute('href')).toBe('/docs/checks/CAUSES');
    await causes.getByRole('link', { name: 'Instance availability check' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?open=INSTANCE_AVAILABILITY_CHECK');
    await causes.getByRole('button', { name: '7 findings of Server_10.0.0.1_8098' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('instance')).toBe(entity);
    await page.unroute(/clusterHealth$/);
    await page.goto(`${gateway.url}/ui/health`);
  });

  it('keeps filters and the expanded check in the URL', async () => {
    await page.getByRole('button', { name: /^Failing/ }).click();
    await expect.poll(() => page.url()).toContain('status=FAIL');
    const failing = await page.locator('li.check').count();
    expect(await page.locator('li.check-fail').count()).toBe(failing);
    const title = (await page.locator('.check-fail .check-title').first().textContent()) ?? '';
    await page.getByRole('searchbox', { name: 'Text' }).fill(title);
    await page.locator('.check-head').first().click();
    await expect.poll(() => new URL(page.url()).search).toMatch(/text=.*open=/);
    await page.reload();
    expect(await page.getByRole('searchbox', { name: 'Text' }).inputValue()).toBe(title);
    const body = page.locator('.check-body');
    await body.waitFor();
    // The text of the check comes by a request of its own, after its findings.
    await expect.poll(() => body.textContent()).toMatch(/Fails when.*What to do/s);
    await page.getByRole('searchbox', { name: 'Text' }).fill('');
    await page.getByRole('button', { name: /^All/ }).click();
    await page.getByLabel('Table', { exact: true }).fill('orders');
    await expect.poll(() => new URL(page.url()).search).toContain('table=orders');
    for (const head of await page.locator('.check-head').all()) {
      if ((await head.getAttribute('aria-expanded')) === 'false') await head.click();
      expect(await page.locator('.check-body .finding').first().textContent()).toContain('orders');
    }
    await page.getByLabel('Table', { exact: true }).fill('no-such-table');
    await page.getByText('No checks match these filters.').waitFor();
  });
});

describe('the gateway page', () => {
  it('shows the version, the engine and the age of the view', async () => {
    await page.getByRole('link', { name: 'Gateway' }).click();
    const info = (await (await gateway.call('GET', '/api/v1/gateway')).json()) as { version: string; brokerId: string };
    await page.getByText(info.version, { exact: true }).waitFor();
    expect(await page.getByRole('region', { name: 'Engine' }).textContent()).toContain('reachable');
    expect(await page.getByRole('region', { name: 'Resources' }).textContent()).toContain('synced');
    expect(await page.getByRole('row', { name: 'this gateway' }).textContent()).toContain(info.brokerId);
  });
});

describe('signing out', () => {
  it('ends the session', async () => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    expect(await page.context().cookies()).toEqual([]);
    await page.reload();
    await page.getByLabel('Token').waitFor();
  });
});
