import { beforeEach, describe, expect, it } from 'vitest';
import type { CheckOutcome } from '../../../../src/health/check.ts';
import { createGather } from '../../../../src/health/gather/gather.ts';
import { runChecks } from '../../../../src/health/run/run.ts';
import { resolveSettings } from '../../../../src/health/settings.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';
import { ReplayEngine } from '../../../support/replay-engine.ts';

type Node = { id: string; simpleFields: Record<string, string> };

const CONFIGS = '/zk/getChildren?path=/hc/PROPERTYSTORE/CONFIGS/TABLE';
const CONFIG_NAMES = '/zk/lsl?path=/hc/PROPERTYSTORE/CONFIGS/TABLE';
const SCHEMAS = '/zk/getChildren?path=/hc/PROPERTYSTORE/SCHEMAS';
const PARTICIPANTS = '/zk/getChildren?path=/hc/CONFIGS/PARTICIPANT';
const IDEAL_STATES = '/zk/ls?path=/hc/IDEALSTATES';
const TABLES = ['dd_REALTIME', 'ev_REALTIME', 'orders_OFFLINE', 'up_REALTIME'];

let engine: ReplayEngine;
beforeEach(() => {
  engine = new ReplayEngine('1.5.1');
});

async function outcomes(): Promise<ReadonlyMap<string, CheckOutcome>> {
  const { results } = await runChecks({
    gather: createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 }),
    settings: resolveSettings({}),
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    clock: systemClock,
  });
  return new Map(results.map(({ name, outcome }) => [name, outcome]));
}

const unevaluated = (all: ReadonlyMap<string, CheckOutcome>): string[] =>
  [...all].filter(([, { couldNotEvaluate }]) => couldNotEvaluate).map(([name]) => name);
const consistency = (all: ReadonlyMap<string, CheckOutcome>) => all.get('TABLE_CONSISTENCY_CHECK');

describe('a part that is missing', () => {
  it('is a finding if it is the table configuration, and the other tables are judged', async () => {
    engine.json(
      CONFIGS,
      (engine.body(CONFIGS) as Node[]).filter(({ id }) => id !== 'orders_OFFLINE'),
    );
    engine.tables(TABLES.filter((name) => name !== 'orders_OFFLINE'));
    const all = await outcomes();
    expect(consistency(all)?.findings).toMatchObject([{ entity: 'orders_OFFLINE', observed: expect.any(String) }]);
    expect(unevaluated(all)).toEqual([]);
    expect(all.get('SEGMENT_COUNT_CHECK')?.message).toContain('not judged: `orders_OFFLINE`');
  });

  it('is a finding if it is the schema', async () => {
    engine.json(
      SCHEMAS,
      (engine.body(SCHEMAS) as Node[]).filter(({ id }) => id !== 'ev'),
    );
    const all = await outcomes();
    expect(consistency(all)?.findings).toMatchObject([{ entity: 'ev_REALTIME', observed: 'no schema' }]);
    expect(unevaluated(all)).toEqual([]);
  });

  it('is one finding if it is the ideal state, and no check of the other tables is lost', async () => {
    engine.json('/tables/orders_OFFLINE/idealstate', { code: 404, error: 'Ideal state not found' }, 404);
    engine.json(
      IDEAL_STATES,
      TABLES.filter((name) => name !== 'orders_OFFLINE'),
    );
    engine.json('/tables', { tables: ['dd', 'ev', 'up'] });
    const all = await outcomes();
    expect(consistency(all)?.findings).toMatchObject([{ entity: 'orders_OFFLINE', observed: 'no ideal state' }]);
    expect(unevaluated(all)).toEqual([]);
    expect(all.get('SEGMENT_COUNT_CHECK')?.message).toContain('not judged: `orders_OFFLINE`');
  });

  it('is not reported if only one document lacks it: the ideal state is listed, but not returned', async () => {
    engine.json('/tables/orders_OFFLINE/idealstate', { code: 404, error: 'hidden' }, 404);
    const all = await outcomes();
    expect(consistency(all)?.findings).toEqual([]);
    expect(all.get('SEGMENT_COUNT_CHECK')).toMatchObject({ couldNotEvaluate: true });
  });

  it('is not reported while a table is created', async () => {
    let looks = 0;
    const names = (count: number) => JSON.stringify([...TABLES, 'new_OFFLINE'].slice(0, count));
    engine.on('GET', 'controller', IDEAL_STATES, () => ({ status: 200, body: names(++looks === 1 ? 5 : 4) }));
    expect(consistency(await outcomes())).toMatchObject({ status: 'PASS' });
    expect(looks).toBe(2);
  });
});

describe('a node that cannot be read', () => {
  it.each([
    ['table configuration', CONFIGS, 'orders_OFFLINE', 'segmentsConfig', 'orders_OFFLINE'],
    ['schema', SCHEMAS, 'ev', 'schemaJSON', 'ev_REALTIME'],
  ])('is a finding if it is a %s; the others are judged', async (_, path, id, field, entity) => {
    const nodes = engine.body(path) as Node[];
    for (const node of nodes) if (node.id === id) node.simpleFields[field] = '{"truncated';
    engine.json(path, nodes);
    const all = await outcomes();
    expect(consistency(all)?.findings).toMatchObject([{ entity }]);
    expect(unevaluated(all)).toEqual([]);
  });

  it('is a finding if the list of configurations omits it', async () => {
    engine.json(
      CONFIGS,
      (engine.body(CONFIGS) as Node[]).map((node) => (node.id === 'orders_OFFLINE' ? null : node)),
    );
    expect(consistency(await outcomes())?.findings).toMatchObject([
      { entity: 'orders_OFFLINE', message: expect.stringContaining('the list of table configurations lacks it') },
    ]);
  });
});

describe('a source that is hidden', () => {
  it('lets no check of tables pass: all of /zk responds with 404', async () => {
    for (const operation of ['ls', 'lsl', 'get', 'getChildren']) {
      const places = ['CONFIGS', 'CONFIGS/PARTICIPANT', 'CONFIGS/RESOURCE', 'LIVEINSTANCES', 'IDEALSTATES'];
      const stored = ['', '/CONFIGS/TABLE', '/SCHEMAS', '/SEGMENTS', '/INSTANCE_PARTITIONS'];
      const all = [
        ...places,
        'EXTERNALVIEW',
        'EXTERNALVIEW/brokerResource',
        ...stored.map((name) => `PROPERTYSTORE${name}`),
      ];
      for (const place of all)
        engine.json(`/zk/${operation}?path=/hc/${place}`, { code: 404, error: 'Not found' }, 404);
    }
    const all = await outcomes();
    const passed = [...all].filter(([, { status }]) => status === 'PASS').map(([name]) => name);
    // It reads nothing of the cluster.
    expect(passed).toEqual(['POLICY_CONDITIONS_CHECK']);
  });

  it('cannot be judged: no participants although instances are live', async () => {
    engine.json(PARTICIPANTS, []);
    const outcome = (await outcomes()).get('INSTANCE_HEALTH_API_CHECK');
    expect(outcome).toMatchObject({ couldNotEvaluate: true });
    expect(outcome?.findings[0]?.message).toContain('is empty, although 6 are live');
  });

  it('cannot be judged: a broker resource without content', async () => {
    engine.json('/zk/get?path=/hc/EXTERNALVIEW/brokerResource', {});
    expect((await outcomes()).get('BROKER_RESOURCE_CHECK')).toMatchObject({ couldNotEvaluate: true });
  });

  it('cannot be judged: no schema although there are tables', async () => {
    engine.json(SCHEMAS, []);
    expect((await outcomes()).get('TABLE_COLUMN_COUNT_CHECK')).toMatchObject({ couldNotEvaluate: true });
  });

  it('cannot be judged: the names of configurations', async () => {
    engine.json(CONFIG_NAMES, { code: 403, error: 'no' }, 403);
    expect(consistency(await outcomes())).toMatchObject({ couldNotEvaluate: true });
  });
});
