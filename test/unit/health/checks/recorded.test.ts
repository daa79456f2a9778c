import { beforeEach, describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../../src/health/catalogue.ts';
import type { CheckOutcome } from '../../../../src/health/check.ts';
import { createGather } from '../../../../src/health/gather/gather.ts';
import { runChecks, type RunResult } from '../../../../src/health/run/run.ts';
import { resolveSettings } from '../../../../src/health/settings.ts';
import { readRecording, ReplayEngine, tableStats } from '../../../support/replay-engine.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';
import { loadCases, recordedFindings } from './check-cases.ts';

async function runOn(engine: ReplayEngine, only?: string): Promise<RunResult> {
  const gather = createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 });
  const settings = resolveSettings({});
  const checks = only === undefined ? settings.checks : settings.checks.filter(({ name }) => name === only);
  return runChecks({
    gather,
    settings: { ...settings, checks },
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    clock: systemClock,
  });
}

async function outcomeOf(engine: ReplayEngine, name: string): Promise<CheckOutcome> {
  const run = await runOn(engine, name);
  const result = run.results[0];
  if (result === undefined) throw new Error(`${name} did not run`);
  return result.outcome;
}

const entities = (outcome: CheckOutcome) => outcome.findings.map(({ entity }) => entity);

await loadCases();
const foundBy = (name: string): readonly string[] => recordedFindings.get(name)?.streams ?? [];

describe('a recorded cluster of 1.5.1', () => {
  let engine: ReplayEngine;
  beforeEach(() => {
    engine = new ReplayEngine('1.5.1');
  });

  it.each(CATALOGUE.map(({ name }) => name))('%s', async (name) => {
    const outcome = await outcomeOf(engine, name);
    expect(engine.unknown).toEqual([]);
    expect(entities(outcome).toSorted()).toEqual(foundBy(name).toSorted());
    expect(outcome).toMatchObject({ status: foundBy(name).length > 0 ? 'FAIL' : 'PASS', couldNotEvaluate: false });
  });

  it('is read with few calls, none of which changes it', async () => {
    const run = await runOn(engine);
    expect(run).toMatchObject({ clusterName: 'hc', engineVersion: '1.5.1', unreachable: undefined });
    const tables = 4;
    const instances = 5;
    const disks = 3;
    // Six of them compare what the sources of the cluster know, two list the sizes of nodes.
    expect(engine.requests.length).toBeLessThanOrEqual(19 + instances + disks + tables * 11);
    const posts = engine.requests.filter((request) => !/^(?:GET|HEAD) /u.test(request));
    for (const request of posts) expect(request).toMatch(/dryRun=true|^POST broker \/query\/sql$/u);
  });

  it('falls back to the segment nodes if the shorter metadata is not served', async () => {
    for (const table of ['dd_REALTIME', 'ev_REALTIME', 'orders_OFFLINE', 'up_REALTIME']) {
      engine.json(`/segments/${table}/zkmetadata`, { code: 404, error: 'not found' }, 404);
    }
    const outcome = await outcomeOf(engine, 'SEGMENTS_TIME_PARTITION_CHECK');
    expect(entities(outcome)).toEqual(['ev_REALTIME', 'up_REALTIME']);
    expect(outcome.couldNotEvaluate).toBe(false);
  });

  it('reads only what the checks need', async () => {
    await runOn(engine, 'REPLICATION_CHECK');
    expect(engine.requests.toSorted()).toEqual([
      'GET controller /cluster/configs',
      'GET controller /cluster/info',
      'GET controller /tables',
      'GET controller /zk/getChildren?path=/hc/CONFIGS/PARTICIPANT',
      'GET controller /zk/getChildren?path=/hc/PROPERTYSTORE/CONFIGS/TABLE',
      'GET controller /zk/ls?path=/hc/EXTERNALVIEW',
      'GET controller /zk/ls?path=/hc/IDEALSTATES',
      'GET controller /zk/ls?path=/hc/LIVEINSTANCES',
      'GET controller /zk/ls?path=/hc/PROPERTYSTORE/SEGMENTS',
      'GET controller /zk/lsl?path=/hc/PROPERTYSTORE/CONFIGS/TABLE',
      'GET controller /zk/lsl?path=/hc/PROPERTYSTORE/CONFIGS/TABLE',
      'GET controller /zk/lsl?path=/hc/PROPERTYSTORE/CONFIGS/TABLE',
    ]);
  });

  it('has exact primary-key counts', async () => {
    const settings = resolveSettings({ thresholds: { HIGH_UPSERT_PRIMARY_KEYS_CHECK: { maxPrimaryKeys: 20_017 } } });
    const gather = createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 });
    const checks = settings.checks.filter(({ name }) => name === 'HIGH_UPSERT_PRIMARY_KEYS_CHECK');
    const run = await runChecks({
      gather,
      settings: { ...settings, checks },
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
      clock: systemClock,
    });
    // up: 4897 + 5125 + 4996, dd: 2435 + 2565.
    expect(run.results[0]?.outcome.findings).toMatchObject([{ entity: 'Server_127.0.0.1_18200', observed: '20,018' }]);
  });

  it('finds segments of a server whose session has ended', async () => {
    engine.record('1.5.1', 'scen/down2_ev');
    const outcome = await outcomeOf(engine, 'IDEAL_STATE_EV_MISMATCH_CHECK');
    expect(outcome.findings).toMatchObject([
      {
        entity: 'orders_OFFLINE',
        observed: '6 segments missing',
        message: expect.stringContaining('6 segments on `Server_127.0.0.1_18202` are missing from the external view'),
      },
    ]);
  });

  it('skips a disabled table', async () => {
    engine.record('1.5.1', 'scen/down2_ev').json('/tables/orders_OFFLINE/state?type=OFFLINE', { state: 'disabled' });
    expect(await outcomeOf(engine, 'IDEAL_STATE_EV_MISMATCH_CHECK')).toMatchObject({ status: 'PASS' });
    expect(engine.requests.filter((request) => request.includes('/state?'))).toHaveLength(1);
  });

  it('does not report a difference that the second read does not have', async () => {
    const path = '/tables/orders_OFFLINE/externalview';
    const right = { status: 200, body: JSON.stringify(engine.body(path)) };
    const wrong = readRecording('1.5.1', 'scen/down2_ev');
    let looks = 0;
    engine.on('GET', 'controller', path, () => (++looks === 1 ? wrong : right));
    expect(await outcomeOf(engine, 'IDEAL_STATE_EV_MISMATCH_CHECK')).toMatchObject({ status: 'PASS' });
    expect(looks).toBe(2);
  });

  it('counts only segments that differ in both reads', async () => {
    const path = '/tables/orders_OFFLINE/externalview';
    const view = engine.body(path) as { OFFLINE: Record<string, object> };
    const without = (n: number) => {
      const segments = Object.entries(view.OFFLINE).filter((_, i) => i !== n && i !== 0);
      return { status: 200, body: JSON.stringify({ OFFLINE: Object.fromEntries(segments), REALTIME: null }) };
    };
    let looks = 0;
    engine.on('GET', 'controller', path, () => without(++looks));
    const outcome = await outcomeOf(engine, 'IDEAL_STATE_EV_MISMATCH_CHECK');
    expect(outcome.findings).toMatchObject([
      { entity: 'orders_OFFLINE', observed: '1 segment' },
      { entity: 'orders_OFFLINE', observed: '1 segment missing' },
      { entity: 'orders_OFFLINE', observed: '1 segment missing' },
    ]);
    const unserved = await outcomeOf(engine, 'SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK');
    expect(unserved.findings).toMatchObject([{ entity: 'orders_OFFLINE', observed: '1 segment' }]);
  });

  it('reports a missing external view if it is missing twice', async () => {
    engine.json('/tables/orders_OFFLINE/externalview', { OFFLINE: null, REALTIME: null });
    // Where the node exists, the response may hide it.
    const hidden = await outcomeOf(engine, 'IDEAL_STATE_EV_MISMATCH_CHECK');
    expect(hidden).toMatchObject({ couldNotEvaluate: true });
    engine.json('/zk/ls?path=/hc/EXTERNALVIEW', ['dd_REALTIME', 'ev_REALTIME', 'up_REALTIME', 'brokerResource']);
    const outcome = await outcomeOf(engine, 'IDEAL_STATE_EV_MISMATCH_CHECK');
    expect(outcome.findings).toMatchObject([{ entity: 'orders_OFFLINE', observed: '10 segments' }]);
    expect(outcome.findings[0]?.message).toContain('no external view');
  });

  it('finds an added index', async () => {
    engine.record('1.5.1', 'scen/needReload_true_v');
    const outcome = await outcomeOf(engine, 'TABLE_SEGMENTS_RELOAD_CHECK');
    expect(outcome.findings).toMatchObject([{ entity: 'orders_OFFLINE', observed: '3 servers' }]);
  });

  it('reports a server that the reload response omits', async () => {
    engine.record('1.5.1', 'scen/down2_needReload');
    const outcome = await outcomeOf(engine, 'TABLE_SEGMENTS_RELOAD_CHECK');
    expect(outcome).toMatchObject({ status: 'FAIL', couldNotEvaluate: true });
    expect(outcome.findings[0]?.message).toContain('Server_127.0.0.1_18202');
  });

  it('finds a failed query', async () => {
    const answer = readRecording('1.5.1', 'scen/down1_q');
    engine.on('POST', 'broker', '/query/sql {"sql":"SELECT $docId FROM orders LIMIT 1"}', answer);
    const outcome = await outcomeOf(engine, 'QUERY_HEALTH_CHECK');
    expect(outcome.findings).toMatchObject([{ entity: 'orders' }]);
    expect(outcome.findings[0]?.message).toContain('error 425: Connection refused');
  });

  it.each([
    ['reads no server', { numServersQueried: 0 }, 'no server was queried'],
    ['has no result table', { resultTable: undefined }, 'the response has no result table'],
    [
      'reads no server because the broker excludes empty segments',
      { numServersQueried: 0, numSegmentsPrunedByBroker: 2 },
      undefined,
    ],
  ])('judges a query without exceptions that %s', async (_, change, fault) => {
    const answer = JSON.parse(readRecording('1.5.1', 'sql_docid').body) as object;
    const body = JSON.stringify({ ...answer, ...change });
    engine.on('POST', 'broker', '/query/sql {"sql":"SELECT $docId FROM orders LIMIT 1"}', { status: 200, body });
    const outcome = await outcomeOf(engine, 'QUERY_HEALTH_CHECK');
    expect(outcome.findings.map(({ entity, observed }) => [entity, observed])).toEqual(
      fault === undefined ? [] : [['orders', fault]],
    );
  });

  it('queries each table at its brokers, with its database', async () => {
    const nodesPath = '/zk/getChildren?path=/hc/PROPERTYSTORE/CONFIGS/TABLE';
    const orders = (engine.body(nodesPath) as { id: string }[]).find(({ id }) => id === 'orders_OFFLINE');
    engine.json(nodesPath, [orders, { ...orders, id: 'sales.orders_OFFLINE' }]);
    engine.tables(['orders_OFFLINE', 'sales.orders_OFFLINE']);
    const queried = '/query/sql {"sql":"SELECT $docId FROM sales.orders LIMIT 1"}';
    engine.on('POST', 'broker', queried, readRecording('1.5.1', 'sql_docid'));
    const asked: (readonly string[])[] = [];
    engine.brokerFor = async (tables: readonly string[] = []) => {
      asked.push(tables);
      return engine.endpoint('http://127.0.0.1:18100');
    };
    const outcome = await outcomeOf(engine, 'QUERY_HEALTH_CHECK');
    expect(outcome).toMatchObject({ status: 'PASS', couldNotEvaluate: false });
    expect(asked.toSorted()).toEqual([['orders'], ['sales.orders']]);
  });

  it('finds a needed rebalance, and none if only instances would be assigned again', async () => {
    const path = '/tables/orders/rebalance?type=OFFLINE&dryRun=true&summary=true';
    engine.on('POST', 'controller', path, readRecording('1.5.1', 'scen/rebal_needed'));
    expect(entities(await outcomeOf(engine, 'TABLE_SEGMENT_ASSIGNMENT_CHECK'))).toEqual(['orders_OFFLINE']);
    engine.on('POST', 'controller', path, readRecording('1.5.1', 'scen/rebal_rg'));
    expect(entities(await outcomeOf(engine, 'TABLE_SEGMENT_ASSIGNMENT_CHECK'))).toEqual([]);
  });

  it('finds brokers that left the tenant', async () => {
    const path = '/zk/getChildren?path=/hc/CONFIGS/PARTICIPANT';
    const nodes = engine.body(path) as { id: string; listFields: { TAG_LIST: string[] } }[];
    for (const node of nodes) if (node.id.startsWith('Broker_')) node.listFields.TAG_LIST = ['Other_BROKER'];
    engine.json(path, nodes);
    expect(entities(await outcomeOf(engine, 'BROKER_RESOURCE_CHECK'))).toHaveLength(4);
  });

  it('uses stored instance partitions', async () => {
    engine.record('1.5.1', 'scen/zk_ip');
    expect(await outcomeOf(engine, 'SEGMENT_SKEW_HEALTH_CHECK')).toMatchObject({ status: 'PASS' });
  });

  it('drops a table that was deleted during the run', async () => {
    engine
      .json('/tables/ev_REALTIME/idealstate', { code: 404, error: 'Table not found' }, 404)
      .tables(['dd_REALTIME', 'orders_OFFLINE', 'up_REALTIME']);
    expect(await outcomeOf(engine, 'SEGMENT_COUNT_CHECK')).toMatchObject({ status: 'PASS' });
  });

  it('drops a table that was deleted and created again during the run', async () => {
    const names = ['dd_REALTIME', 'ev_REALTIME', 'orders_OFFLINE', 'up_REALTIME'];
    let looks = 0;
    engine.json('/tables/ev_REALTIME/idealstate', { code: 404, error: 'Table not found' }, 404);
    engine.on('GET', 'controller', '/zk/lsl?path=/hc/PROPERTYSTORE/CONFIGS/TABLE', () => {
      looks += 1;
      const others = tableStats(names, 7);
      return { status: 200, body: JSON.stringify({ ...others, ...tableStats(['ev_REALTIME'], 7 + looks) }) };
    });
    expect(await outcomeOf(engine, 'SEGMENT_COUNT_CHECK')).toMatchObject({ status: 'PASS' });
    expect(looks).toBe(3);
  });

  it('repeats a failed query before reporting it', async () => {
    const failed = readRecording('1.5.1', 'scen/down1_q');
    const right = readRecording('1.5.1', 'sql_docid');
    let queries = 0;
    engine.on('POST', 'broker', '/query/sql {"sql":"SELECT $docId FROM orders LIMIT 1"}', () =>
      ++queries === 1 ? failed : right,
    );
    expect(await outcomeOf(engine, 'QUERY_HEALTH_CHECK')).toMatchObject({ status: 'PASS' });
    expect(queries).toBe(2);
  });

  it("reads a table's metadata once more where it was not there", async () => {
    const path = '/segments/ev_REALTIME/zkmetadata';
    const right = { status: 200, body: JSON.stringify(engine.body(path)) };
    let looks = 0;
    engine.on('GET', 'controller', path, () => (++looks === 1 ? { status: 500, body: '{}' } : right));
    expect(await outcomeOf(engine, 'HIGH_NUMBER_OF_DOCUMENTS_CHECK')).toMatchObject({ status: 'PASS' });
    expect(looks).toBe(2);
  });

  it('fails only the checks that need a failed read', async () => {
    engine.json('/zk/getChildren?path=/hc/PROPERTYSTORE/SCHEMAS', { error: 'no' }, 500);
    const run = await runOn(engine);
    const unread = run.results.filter(({ outcome }) => outcome.couldNotEvaluate).map(({ name }) => name);
    expect(unread).toEqual(['TABLE_COLUMN_COUNT_CHECK', 'TIME_COLUMN_GRANULARITY_CHECK', 'TABLE_CONSISTENCY_CHECK']);
  });

  it('names the request of a failed read, and its error', async () => {
    engine.on('GET', 'controller', '/leader/tables', { status: 200, body: '<html>sign in</html>' });
    engine.json('/zk/getChildren?path=/hc/PROPERTYSTORE/SCHEMAS', { error: 'no' }, 403);
    const [leaders, schemas] = await Promise.all(
      ['CONTROLLER_TABLES_SKEW_CHECK', 'TABLE_COLUMN_COUNT_CHECK'].map((name) => outcomeOf(engine, name)),
    );
    expect(leaders?.findings[0]?.message).toBe(
      'could not read the lead controllers: `GET /leader/tables`: the response is not JSON: `<html>sign in</html>`',
    );
    expect(schemas?.findings[0]?.message).toContain(
      '`GET /zk/getChildren?path=/hc/PROPERTYSTORE/SCHEMAS` responded with 403: no',
    );
  });

  it('names a server that is down', async () => {
    engine.stop('127.0.0.1:18302');
    const outcome = await outcomeOf(engine, 'INSTANCE_HEALTH_API_CHECK');
    expect(entities(outcome)).toEqual(['Server_127.0.0.1_18202']);
  });

  it('fails every check with the reason if the controller is unreachable', async () => {
    engine.stop('127.0.0.1:19000');
    const run = await runOn(engine);
    expect(run.unreachable).toContain('ECONNREFUSED');
    for (const { outcome } of run.results) expect(outcome).toMatchObject({ status: 'FAIL', couldNotEvaluate: true });
  });

  it('ends at the deadline with the parts read so far', async () => {
    const gather = createGather({ engine, clock: systemClock, settleMs: 1 });
    const deadline = new AbortController();
    engine.on('GET', 'controller', '/leader/tables', () => {
      deadline.abort(new Error('the time is up'));
      return { status: 500, body: '{}' };
    });
    const run = await runChecks({
      gather,
      settings: resolveSettings({}),
      signal: deadline.signal,
      clock: systemClock,
    });
    const unread = run.results.filter(({ outcome }) => outcome.couldNotEvaluate);
    expect(unread.length).toBeGreaterThan(20);
    expect(unread[0]?.outcome.findings[0]?.message).toContain('deadline');
  });
});

describe('a recorded cluster of 0.11.0', () => {
  let engine: ReplayEngine;
  beforeEach(() => {
    engine = new ReplayEngine('0.11.0');
    const rows = (byPartition: readonly number[], table: string, sequence: string) => ({
      status: 200,
      body: JSON.stringify({
        resultTable: { rows: byPartition.map((count, p) => [`${table}__${p}__0__${sequence}`, count]) },
        exceptions: [],
      }),
    });
    // The counts that the newer engine version reported for the same messages.
    engine.on(
      'POST',
      'broker',
      '/query/sql {"sql":"SELECT $segmentName, COUNT(*) FROM up GROUP BY $segmentName LIMIT 16"}',
      rows([4_897, 5_125, 4_982, 4_996], 'up', '20261121T0005Z'),
    );
    engine.on(
      'POST',
      'broker',
      '/query/sql {"sql":"SELECT $segmentName, COUNT(*) FROM dd GROUP BY $segmentName LIMIT 2"}',
      rows([2_435, 2_565], 'dd', '20261121T0005Z'),
    );
    for (const table of ['ev', 'up']) {
      const segments = JSON.parse(readRecording('0.11.0', `segmeta_${table}`).body) as Record<string, object>;
      const columns = Object.fromEntries(
        ['id', 'pk', 'v', 'ts'].map((name) => [name, { dictionary: 'YES', 'inverted-index': 'NO' }]),
      );
      engine.json(
        `/segments/${table}_REALTIME/metadata?columns=*`,
        Object.fromEntries(Object.keys(segments).map((name) => [name, { indexes: columns }])),
      );
    }
  });

  it.each(CATALOGUE.map(({ name }) => name).filter((name) => name !== 'TABLE_SEGMENT_ASSIGNMENT_CHECK'))(
    '%s',
    async (name) => {
      const outcome = await outcomeOf(engine, name);
      expect(engine.unknown).toEqual([]);
      expect(entities(outcome).toSorted()).toEqual(foundBy(name).toSorted());
      expect(outcome.couldNotEvaluate).toBe(false);
    },
  );

  it('TABLE_SEGMENT_ASSIGNMENT_CHECK names the table for which the controller failed', async () => {
    // A recorded 400 of a controller with a broken library on its class path.
    const outcome = await outcomeOf(engine, 'TABLE_SEGMENT_ASSIGNMENT_CHECK');
    expect(outcome).toMatchObject({ status: 'FAIL', couldNotEvaluate: true });
    expect(entities(outcome)).toEqual(['dd_REALTIME']);
  });

  it('determines once that the reload endpoint does not exist', async () => {
    await runOn(engine);
    expect(engine.requests.filter((request) => request.includes('/needReload'))).toHaveLength(1);
  });

  it('finds a missing index in the metadata of segments', async () => {
    const path = '/zk/getChildren?path=/hc/PROPERTYSTORE/CONFIGS/TABLE';
    const nodes = engine.body(path) as { id: string; simpleFields: Record<string, string> }[];
    for (const { id, simpleFields } of nodes) {
      if (id === 'orders_OFFLINE') simpleFields.tableIndexConfig = '{"invertedIndexColumns":["city","customer"]}';
    }
    engine.json(path, nodes);
    const outcome = await outcomeOf(engine, 'TABLE_SEGMENTS_RELOAD_CHECK');
    expect(outcome.findings).toMatchObject([{ entity: 'orders_OFFLINE', observed: '10 segments' }]);
  });

  it.each([
    ['a removed index', '{}', '10 segments'],
    [
      'a column that should have no dictionary',
      '{"invertedIndexColumns":["city"],"noDictionaryColumns":["price"]}',
      '10 segments',
    ],
    [
      'a sorted column that should have no dictionary',
      '{"invertedIndexColumns":["city"],"noDictionaryColumns":["ts"]}',
      undefined,
    ],
    [
      'an encoding that the engine chooses',
      '{"invertedIndexColumns":["city"],"noDictionaryColumns":["price"],"optimizeDictionary":true}',
      undefined,
    ],
  ])('finds %s in the metadata of segments', async (_, tableIndexConfig, observed) => {
    const path = '/zk/getChildren?path=/hc/PROPERTYSTORE/CONFIGS/TABLE';
    const nodes = engine.body(path) as { id: string; simpleFields: Record<string, string> }[];
    for (const { id, simpleFields } of nodes) {
      if (id === 'orders_OFFLINE') simpleFields.tableIndexConfig = tableIndexConfig;
    }
    engine.json(path, nodes);
    const { findings } = await outcomeOf(engine, 'TABLE_SEGMENTS_RELOAD_CHECK');
    expect(findings.map((finding) => finding.observed)).toEqual(observed === undefined ? [] : [observed]);
  });

  it('finds a column without a dictionary that should have one', async () => {
    const path = '/segments/orders_OFFLINE/metadata?columns=*';
    const segments = engine.body(path) as Record<string, { indexes: Record<string, Record<string, string>> }>;
    for (const { indexes } of Object.values(segments).slice(0, 3))
      Object.assign(indexes.price ?? {}, { dictionary: 'NO' });
    engine.json(path, segments);
    const { findings } = await outcomeOf(engine, 'TABLE_SEGMENTS_RELOAD_CHECK');
    expect(findings).toMatchObject([{ entity: 'orders_OFFLINE', observed: '3 segments' }]);
  });

  it('reports an index that the metadata does not cover as not evaluated', async () => {
    const path = '/zk/getChildren?path=/hc/PROPERTYSTORE/CONFIGS/TABLE';
    const nodes = engine.body(path) as { id: string; simpleFields: Record<string, string> }[];
    for (const { id, simpleFields } of nodes) {
      if (id === 'orders_OFFLINE') simpleFields.fieldConfigList = '[{"name":"note","indexTypes":["TEXT"]}]';
    }
    engine.json(path, nodes);
    const outcome = await outcomeOf(engine, 'TABLE_SEGMENTS_RELOAD_CHECK');
    expect(outcome).toMatchObject({ status: 'FAIL', couldNotEvaluate: true });
    expect(outcome.findings[0]?.message).toContain('`text-index` of `note`');
  });

  it('says that it knows one replica of each segment, where a table has two', async () => {
    const { status, message } = await outcomeOf(engine, 'TABLE_SEGMENTS_RELOAD_CHECK');
    expect(status).toBe('PASS');
    expect(message).toContain('reports one replica of each segment');
  });

  it('says that primary keys are an estimate', async () => {
    expect((await outcomeOf(engine, 'HIGH_UPSERT_PRIMARY_KEYS_CHECK')).message).toContain('estimated by a query');
  });
});
