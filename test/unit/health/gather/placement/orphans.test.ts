import { describe, expect, it } from 'vitest';
import { ArrivalMemory, arrivalsOf } from '../../../../../src/health/gather/tables/arrivals.ts';
import { createGather } from '../../../../../src/health/gather/gather.ts';
import { runChecks } from '../../../../../src/health/run/run.ts';
import { resolveSettings } from '../../../../../src/health/settings.ts';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';
import { ReplayEngine } from '../../../../support/replay-engine.ts';

const METADATA = {
  '0.11.0': '/zk/getChildren?path=/hc/PROPERTYSTORE/SEGMENTS/orders_OFFLINE',
  '1.5.1': '/segments/orders_OFFLINE/zkmetadata',
} as const;
const IDEAL_STATE = '/tables/orders_OFFLINE/idealstate';
type States = { OFFLINE: Record<string, object> };

const withoutFirst = <T>(all: Record<string, T>): Record<string, T> => Object.fromEntries(Object.entries(all).slice(1));

async function findings(engine: ReplayEngine) {
  const settings = resolveSettings({});
  const { results } = await runChecks({
    gather: createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 }),
    settings: { ...settings, checks: settings.checks.filter(({ name }) => name === 'SEGMENT_METADATA_MISMATCH_CHECK') },
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    clock: systemClock,
  });
  return results[0]?.outcome.findings.map(({ entity, message }) => [entity, message.split(',')[0]]);
}

describe.each(['0.11.0', '1.5.1'] as const)('segments of a recorded cluster of %s', (version) => {
  it('that only the metadata has', async () => {
    const engine = new ReplayEngine(version);
    const { OFFLINE, ...other } = engine.body(IDEAL_STATE) as States;
    engine.json(IDEAL_STATE, { ...other, OFFLINE: withoutFirst(OFFLINE) });
    expect(await findings(engine)).toEqual([['orders_OFFLINE', '1 segment has metadata']]);
  });

  it('that only the ideal state has', async () => {
    const engine = new ReplayEngine(version);
    const body = engine.body(METADATA[version]);
    engine.json(METADATA[version], Array.isArray(body) ? body.slice(1) : withoutFirst(body as States['OFFLINE']));
    expect(await findings(engine)).toEqual([['orders_OFFLINE', '1 segment has no metadata']]);
  });

  it('that only the first read of the ideal state lacked', async () => {
    const engine = new ReplayEngine(version);
    const { OFFLINE, ...other } = engine.body(IDEAL_STATE) as States;
    let looks = 0;
    engine.on('GET', 'controller', IDEAL_STATE, () => {
      looks += 1;
      const states = looks === 1 ? withoutFirst(OFFLINE) : OFFLINE;
      return { status: 200, body: JSON.stringify({ ...other, OFFLINE: states }) };
    });
    expect(await findings(engine)).toEqual([]);
    expect(looks).toBe(2);
  });
});

describe('the arrivals of segments', () => {
  const DAY = 24 * 3_600_000;
  const at = (...days: number[]) => new Float64Array(days.map((day) => day * DAY));

  it('are the gaps of the 30 days before the last one', () => {
    expect(arrivalsOf(at(100, 97, 98))).toEqual({ last: 100 * DAY, first: 97 * DAY, longestGapMs: 2 * DAY });
    expect(arrivalsOf(at(1, 60, 99, 100))).toEqual({ last: 100 * DAY, first: 99 * DAY, longestGapMs: DAY });
  });

  it('are remembered while none arrives and retention deletes the old ones', () => {
    const memory = new ArrivalMemory();
    const daily = arrivalsOf(at(1, 2, 3, 4, 5, 6));
    expect(memory.recall('t 1', daily)).toEqual(daily);
    expect(memory.recall('t 1', arrivalsOf(at(6)))).toEqual(daily);
    expect(memory.recall('t 1', undefined)).toEqual(daily);
    const next = arrivalsOf(at(6, 9));
    expect(memory.recall('t 1', next)).toEqual(next);
    expect(memory.recall('t 2', undefined)).toBeUndefined();
  });

  it('are unknown without a time', () => {
    expect(arrivalsOf(at())).toBeUndefined();
    expect(arrivalsOf(at(Number.NaN, Number.NaN))).toBeUndefined();
    expect(arrivalsOf(at(Number.NaN, 3))).toEqual({ last: 3 * DAY, first: 3 * DAY, longestGapMs: 0 });
  });
});
