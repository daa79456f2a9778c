import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGather } from '../../../src/health/gather/gather.ts';
import { buildStatus } from '../../../src/health/report/report.ts';
import { runChecks } from '../../../src/health/run/run.ts';
import { resolveSettings } from '../../../src/health/settings.ts';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine } from '../../../src/pinot/types.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import type { ClusterHealthReportStatus } from '../../../src/resources/health-status.ts';
import { HealthStates } from '../../support/health-states.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';

// What a report of a real cluster names as the cause, and how severe it is.
let pinot: Pinot;
let engine: Engine;
let states: HealthStates;
let server: string;

beforeAll(async () => {
  pinot = await startPinot({ servers: 3, tables: ['orders'] });
  engine = createEngine({ controllerUrls: [pinot.controllerUrl] });
  states = new HealthStates(pinot, engine);
  await states.changeTable('orders', 'OFFLINE', (config) =>
    Object.assign(config['segmentsConfig'] ?? {}, { replication: '3' }),
  );
  await states.api('POST', '/tables/orders/rebalance?type=OFFLINE&dryRun=false&downtime=true');
  await states.passes('IDEAL_STATE_EV_MISMATCH_CHECK');
  const { instances } = (await states.api('GET', '/instances')) as { instances: string[] };
  const port = new URL(pinot.serverAdminUrls[1] ?? '').port;
  const details = await Promise.all(
    instances.filter((id) => id.startsWith('Server_')).map((id) => states.api('GET', `/instances/${id}`)),
  );
  server = String(details.find(({ adminPort }) => String(adminPort) === port)?.['instanceName']);
});
afterAll(async () => {
  await engine.close();
  await pinot.stop();
});

async function report(previous?: ClusterHealthReportStatus): Promise<ClusterHealthReportStatus> {
  const result = await runChecks({
    gather: createGather({ engine, clock: systemClock, settleMs: 500 }),
    settings: resolveSettings({}),
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    clock: systemClock,
  });
  return buildStatus({
    ...{ result, previous, generation: 1, runAt: undefined },
    ...{ maxFindings: 200, now: systemClock.now() },
  });
}

async function setState(state: 'enable' | 'disable'): Promise<void> {
  const answer = await fetch(`${pinot.controllerUrl}/instances/${server}/state`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: state,
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
  });
  expect([answer.status, await answer.text()]).toMatchObject([200, expect.anything()]);
}

/** Waits for a report in which a cause of this kind has lost replicas. */
async function reportWith(kind: string): Promise<ClusterHealthReportStatus> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  for (;;) {
    const status = await report();
    if (status.causes?.some((cause) => cause.kind === kind && cause.segments > 0)) return status;
    if (Date.now() > deadline) throw new Error(`no ${kind}: ${JSON.stringify(status.causes)}`);
    await delay(500);
  }
}

const severitiesOf = (status: ClusterHealthReportStatus, name: string) =>
  status.checks?.filter((check) => check.name === name).map(({ severity }) => severity);

describe('a server of a table with three replicas', () => {
  it('that is disabled is one cause of several checks, and a warning', async () => {
    await setState('disable');
    const status = await reportWith('instance-disabled');
    expect(status.causes).toMatchObject([
      { kind: 'instance-disabled', entityType: 'server', entity: server, severity: 'warning', tables: 1, unserved: 0 },
    ]);
    expect(status.causes?.[0]?.message).toMatch(/^server `.*` is disabled: \d checks, \d+ segments? of 1 table ha/);
    expect(status.causes?.[0]?.checks).toContain('IDEAL_STATE_EV_MISMATCH_CHECK');
    expect(status.causes?.[0]?.checks).toContain('INSTANCE_AVAILABILITY_CHECK');
    expect(severitiesOf(status, 'IDEAL_STATE_EV_MISMATCH_CHECK')).toEqual(['warning']);
    await setState('enable');
    await states.passes('IDEAL_STATE_EV_MISMATCH_CHECK');
  });

  it('that is stopped is down, then starting, and pages at no time', async () => {
    await pinot.stopServer(1);
    const down = await reportWith('instance-down');
    expect(down.causes).toMatchObject([{ entity: server, severity: 'warning', unserved: 0 }]);
    expect(severitiesOf(down, 'INSTANCE_HEALTH_API_CHECK')).toEqual(['warning']);
    await pinot.startServer(1);
    await states.passes('IDEAL_STATE_EV_MISMATCH_CHECK');
    expect((await report(down)).causes ?? []).toEqual([]);
  });
});
