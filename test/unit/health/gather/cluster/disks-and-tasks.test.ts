import { beforeEach, describe, expect, it } from 'vitest';
import type { CheckOutcome } from '../../../../../src/health/check.ts';
import { createGather } from '../../../../../src/health/gather/gather.ts';
import { runChecks } from '../../../../../src/health/run/run.ts';
import { resolveSettings } from '../../../../../src/health/settings.ts';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';
import { ReplayEngine } from '../../../../support/replay-engine.ts';

async function outcomeOf(engine: ReplayEngine, name: string, thresholds = {}): Promise<CheckOutcome> {
  const settings = resolveSettings({ thresholds: { [name]: thresholds } });
  const { results } = await runChecks({
    gather: createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 }),
    settings: { ...settings, checks: settings.checks.filter((check) => check.name === name) },
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    clock: systemClock,
  });
  return results[0]?.outcome as CheckOutcome;
}

describe('the disks of servers', () => {
  const NAME = 'SERVER_DISK_USAGE_CHECK';
  const calls = (engine: ReplayEngine) => engine.requests.filter((request) => request.includes('diskUtilization'));

  it('are read from each live server of 1.5.1', async () => {
    const engine = new ReplayEngine('1.5.1');
    expect((await outcomeOf(engine, NAME)).message).toBe('no server uses more than 85 % of its disk');
    expect(calls(engine)).toHaveLength(3);
    const full = await outcomeOf(engine, NAME, { maxUsedPercent: 16 });
    expect(full.findings.map(({ observed }) => observed)).toEqual(['16.36 %', '16.36 %', '16.36 %']);
    expect(full.findings[0]?.message).toContain('/data/server0/index` is 16.36 % full');
  });

  it('are not reported by 0.11.0', async () => {
    const outcome = await outcomeOf(new ReplayEngine('0.11.0'), NAME);
    expect(outcome).toMatchObject({ status: 'PASS', message: expect.stringContaining('not applicable') });
  });

  it('are not requested from a server that does not respond', async () => {
    const engine = new ReplayEngine('1.5.1').stop('127.0.0.1:18302');
    const outcome = await outcomeOf(engine, NAME);
    expect(outcome).toMatchObject({ couldNotEvaluate: true, findings: [{ entity: 'Server_127.0.0.1_18202' }] });
    expect(calls(engine)).toHaveLength(2);
  });

  it.each([{}, { totalSpaceBytes: 0, usedSpaceBytes: 0 }, { totalSpaceBytes: '9', usedSpaceBytes: 1 }])(
    'cannot be read from %j',
    async (body) => {
      const engine = new ReplayEngine('1.5.1');
      const answer = { status: 200, body: JSON.stringify(body) };
      engine.on('GET', 'server', '/instance/diskUtilization', answer);
      expect(await outcomeOf(engine, NAME)).toMatchObject({ couldNotEvaluate: true, findingCount: 3 });
    },
  );
});

describe('the tasks of minions', () => {
  const NAME = 'MINION_TASK_FAILURES_CHECK';
  const QUEUES = '/zk/ls?path=/hc/CONFIGS/RESOURCE';
  const COUNTS = '/tasks/MergeRollupTask/taskcounts';
  const task = (at: number, more: object) => [`Task_MergeRollupTask_8f2c_${at}`, { total: 2, completed: 2, ...more }];
  const FAILED = { completed: 1, error: 1 };
  let engine: ReplayEngine;
  beforeEach(() => {
    engine = new ReplayEngine('1.5.1').json(QUEUES, [
      'orders_OFFLINE',
      'TaskQueue_MergeRollupTask',
      'TaskQueue_MergeRollupTask_Task_MergeRollupTask_1760000000000',
    ]);
  });
  const tasks = (...entries: readonly (string | object)[][]) => engine.json(COUNTS, Object.fromEntries(entries));

  it('fail again and again', async () => {
    // Not in the order of their times; the last one still runs.
    tasks(task(5, { running: 1, error: 1 }), task(1, {}), task(4, FAILED), task(3, FAILED), task(2, { timedOut: 2 }));
    expect((await outcomeOf(engine, NAME)).findings).toMatchObject([
      { entityType: 'task', entity: 'MergeRollupTask', observed: '3 tasks in a row' },
    ]);
  });

  it('succeeded once in between', async () => {
    tasks(task(1, FAILED), task(2, FAILED), task(3, {}), task(4, FAILED));
    expect(await outcomeOf(engine, NAME)).toMatchObject({ status: 'PASS' });
  });

  it('are requested as JSON, without which Pinot 0.11 responds with 500', async () => {
    const counts = Object.fromEntries([task(1, FAILED)]);
    engine.on('GET', 'controller', COUNTS, ({ headers }) =>
      headers?.['accept'] === 'application/json'
        ? { status: 200, body: JSON.stringify(counts) }
        : { status: 500, body: '{"code":500,"error":"HTTP 500 Internal Server Error"}' },
    );
    expect(await outcomeOf(engine, NAME)).toMatchObject({ status: 'PASS', couldNotEvaluate: false });
  });

  it('have not ended', async () => {
    tasks(task(1, { running: 1 }), task(2, { total: 0 }));
    expect((await outcomeOf(engine, NAME)).message).toContain('not applicable');
  });

  it.each([QUEUES, COUNTS])('do not exist: 404 of %s', async (path) => {
    const headers = { 'pinot-controller-version': '1.5.1' };
    engine.on('GET', 'controller', path, { status: 404, headers, body: '{"code":404,"error":"not found"}' });
    expect((await outcomeOf(engine, NAME)).message).toContain('not applicable');
  });

  it('cannot be read', async () => {
    engine.json(COUNTS, { error: 'no' }, 500);
    expect(await outcomeOf(engine, NAME)).toMatchObject({ couldNotEvaluate: true });
  });

  it('are read for a bounded number of types', async () => {
    engine.json(
      QUEUES,
      Array.from({ length: 1_000 }, (_, i) => `TaskQueue_T${i}`),
    );
    for (let i = 0; i < 50; i += 1) engine.json(`/tasks/T${i}/taskcounts`, {});
    expect(await outcomeOf(engine, NAME)).toMatchObject({ status: 'PASS' });
    expect(engine.requests.filter((request) => request.includes('/taskcounts'))).toHaveLength(50);
  });
});
