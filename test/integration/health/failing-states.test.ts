import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine } from '../../../src/pinot/types.ts';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { createGather } from '../../../src/health/gather/gather.ts';
import { runChecks } from '../../../src/health/run/run.ts';
import { resolveSettings } from '../../../src/health/settings.ts';
import { entities, HealthStates, smallSchema } from '../../support/health-states.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

/**
 * Brings a real cluster into the faulty state of each check, expects a FAIL with the right entity, fixes the state and expects a PASS.
 * High limits are lowered with their threshold.
 */

/** Tested in a cluster of five servers and controllers, see `skewed-states.test.ts`. */
const TRIED_WITH_FIVE = ['CONTROLLER_TABLES_SKEW_CHECK', 'TIME_COLUMN_GRANULARITY_CHECK'];

/** Tested in `missing-parts.test.ts`, `tasks-and-freshness.test.ts` and `rbac/policy-schemas.test.ts`. */
const TRIED_ELSEWHERE = [
  'CONSUMING_SEGMENT_AGE_CHECK',
  'DEEP_STORE_CHECK',
  'MINION_TASKS_STUCK_CHECK',
  'POLICY_CONDITIONS_CHECK',
  'ZOOKEEPER_NODE_SIZE_CHECK',
];

let pinot: Pinot;
let engine: Engine;
let states: HealthStates;

beforeAll(async () => {
  pinot = await startPinot({ brokers: 2, servers: 3, tables: ['orders'] });
  engine = createEngine({ controllerUrls: [pinot.controllerUrl], brokerRefreshMs: 500 });
  states = new HealthStates(pinot, engine);
});

afterAll(async () => {
  await engine.close();
  await pinot.stop();
});

const rows = (from: number, to: number) => [from, to].map((ts) => JSON.stringify({ id: `r${ts}`, ts }));

describe('a table', () => {
  it('with small segments on one server of three', async () => {
    await states.smallTable('small');
    try {
      await pinot.uploadRows('small', rows(1_760_000_000, 1_760_000_010));
      await pinot.awaitRows('small', 2);
      const server = await states.serverOf('small');
      await states.fails('SEGMENT_SIZE_CHECK', 'small_OFFLINE');
      await states.fails('SEGMENT_SKEW_HEALTH_CHECK', 'small_OFFLINE', { minSegments: 0, minExcess: 0 });
      await states.fails('CLUSTER_LEVEL_SEGMENT_SKEW_CHECK', server, { maxExcessPercent: 5, minExcess: 0 });
      await states.fails('TABLE_SKEW_CHECK', server, { maxExcessPercent: 5, minExcess: 0 });
      await states.fails('HIGH_NUMBER_OF_TABLES_CHECK', server, { maxTables: 1 });
      await states.fails(
        'DATA_SIZE_SKEW_CHECK',
        server.length > 0
          ? (entities(await states.outcomeOf('DATA_SIZE_SKEW_CHECK', { minSkew: 0, maxSkew: 0 }))[0] ?? '')
          : '',
        { minSkew: 0, maxSkew: 0 },
      );
    } finally {
      await pinot.deleteTable('small');
    }
    await states.passes('SEGMENT_SIZE_CHECK');
    await states.passes('SEGMENT_SKEW_HEALTH_CHECK', { minSegments: 0, minExcess: 0 });
    await states.passes('HIGH_NUMBER_OF_TABLES_CHECK', { maxTables: 1 });
    await states.passes('TABLE_SKEW_CHECK', { maxExcessPercent: 5, minExcess: 0 });
    await states.passes('CLUSTER_LEVEL_SEGMENT_SKEW_CHECK', { minExcess: 0 });
    await states.passes('DATA_SIZE_SKEW_CHECK');
  });

  it('with segments out of time order', async () => {
    await states.smallTable('overlap');
    try {
      await pinot.uploadRows('overlap', rows(1_760_000_000, 1_760_000_900));
      await pinot.awaitRows('overlap', 2);
      await states.passes('SEGMENTS_TIME_PARTITION_CHECK');
      await pinot.uploadRows('overlap', rows(1_760_000_100, 1_760_000_200));
      await pinot.awaitRows('overlap', 4);
      await states.fails('SEGMENTS_TIME_PARTITION_CHECK', 'overlap_OFFLINE');
    } finally {
      await pinot.deleteTable('overlap');
    }
    await states.passes('SEGMENTS_TIME_PARTITION_CHECK');
  });

  it('without retention, then with it', async () => {
    await states.smallTable('forever', { retentionTimeUnit: null, retentionTimeValue: null });
    try {
      await states.fails('SEGMENT_RETENTION_CHECK', 'forever_OFFLINE');
      await states.changeTable('forever', 'OFFLINE', (config) => {
        Object.assign(config.segmentsConfig ?? {}, { retentionTimeUnit: 'DAYS', retentionTimeValue: '9' });
      });
      await states.passes('SEGMENT_RETENTION_CHECK');
    } finally {
      await pinot.deleteTable('forever');
    }
  });

  it('that needs a reload, then after the reload', async () => {
    await states.passes('TABLE_SEGMENTS_RELOAD_CHECK');
    await states.changeTable('orders', 'OFFLINE', (config) => {
      Object.assign(config.tableIndexConfig ?? {}, { invertedIndexColumns: ['status'] });
    });
    await states.fails('TABLE_SEGMENTS_RELOAD_CHECK', 'orders_OFFLINE');
    await states.api('POST', '/segments/orders_OFFLINE/reload');
    await states.passes('TABLE_SEGMENTS_RELOAD_CHECK');
  });

  it('with too few replicas, which needs a rebalance after its replication was raised', async () => {
    await states.passes('TABLE_SEGMENT_ASSIGNMENT_CHECK');
    await states.fails('REPLICATION_CHECK', 'orders_OFFLINE');
    await states.changeTable('orders', 'OFFLINE', (config) =>
      Object.assign(config.segmentsConfig ?? {}, { replication: '3' }),
    );
    await states.passes('REPLICATION_CHECK');
    await states.fails('TABLE_SEGMENT_ASSIGNMENT_CHECK', 'orders_OFFLINE');
    await states.api('POST', '/tables/orders/rebalance?type=OFFLINE&dryRun=false&downtime=true');
    await states.passes('TABLE_SEGMENT_ASSIGNMENT_CHECK');
    await states.passes('IDEAL_STATE_EV_MISMATCH_CHECK');
  });

  it('below the replication threshold of the cluster', async () => {
    await states.api('POST', '/cluster/configs', { 'controller.replication.threshold': '4' });
    await states.fails('REPLICATION_CHECK', 'orders_OFFLINE');
    await states.api('DELETE', '/cluster/configs/controller.replication.threshold');
    await states.passes('REPLICATION_CHECK');
  });

  it('that is disabled is skipped', async () => {
    await states.api('GET', '/tables/orders?type=OFFLINE&state=disable');
    await delay(2_000);
    await states.passes('IDEAL_STATE_EV_MISMATCH_CHECK');
    await states.passes('QUERY_HEALTH_CHECK');
    await states.passes('TABLE_SEGMENT_ASSIGNMENT_CHECK');
    await states.api('GET', '/tables/orders?type=OFFLINE&state=enable');
    await pinot.awaitRows('orders', 1);
    await states.passes('IDEAL_STATE_EV_MISMATCH_CHECK');
  });

  it('at and above lowered limits', async () => {
    const ideal = (await states.api('GET', '/tables/orders_OFFLINE/idealstate')).OFFLINE as Record<
      string,
      Record<string, string>
    >;
    const segments = Object.keys(ideal).length;
    const counts = new Map<string, number>();
    for (const server of Object.values(ideal).flatMap((states) => Object.keys(states)))
      counts.set(server, (counts.get(server) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const server = [...counts].find(([, count]) => count === most)?.[0] ?? '';
    await states.passes('SEGMENT_COUNT_CHECK', { maxSegments: segments });
    await states.fails('SEGMENT_COUNT_CHECK', 'orders_OFFLINE', { maxSegments: segments - 1 });
    await states.passes('HIGH_NUMBER_OF_SEGMENTS_CHECK', { maxSegments: most });
    await states.fails('HIGH_NUMBER_OF_SEGMENTS_CHECK', server, { maxSegments: most - 1 });
    await states.fails('TABLE_COLUMN_COUNT_CHECK', 'orders', { maxColumns: 1 });
    await states.passes('TABLE_COLUMN_COUNT_CHECK');
    const total = JSON.parse(await pinot.query('SELECT COUNT(*) FROM orders')) as { resultTable: { rows: [[number]] } };
    // With three replicas on three servers, every server has all rows.
    const documents = total.resultTable.rows[0][0];
    await states.passes('HIGH_NUMBER_OF_DOCUMENTS_CHECK', { maxDocuments: documents });
    await states.fails('HIGH_NUMBER_OF_DOCUMENTS_CHECK', server, { maxDocuments: documents - 1 });
  });
});

describe('an instance', () => {
  it('in no pool, in one, in two; and a table that uses pools', async () => {
    const limit = { maxServersWithoutPools: 2 };
    await states.passes('INSTANCE_POOLS_CHECK');
    const { instances } = await states.api('GET', '/instances');
    const servers = (instances as string[]).filter((id) => id.startsWith('Server_'));
    const first = servers[0] ?? '';
    await states.fails('INSTANCE_POOLS_CHECK', first, limit);
    const put = async (id: string, pools: Readonly<Record<string, number>>) => {
      const now = await states.api('GET', `/instances/${id}`);
      const { hostName, port, tags, adminPort, grpcPort } = now;
      await states.api('PUT', `/instances/${id}`, {
        host: hostName,
        port: Number(port),
        type: 'SERVER',
        tags,
        adminPort,
        grpcPort,
        pools,
      });
    };
    for (const [i, id] of servers.entries())
      await put(id, { DefaultTenant_OFFLINE: i % 2, DefaultTenant_REALTIME: i % 2 });
    await states.passes('INSTANCE_POOLS_CHECK', limit);
    await states.fails('INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK', 'orders_OFFLINE');
    await states.changeTable('orders', 'OFFLINE', (config) => {
      config.instanceAssignmentConfigMap = {
        OFFLINE: {
          tagPoolConfig: { tag: 'DefaultTenant_OFFLINE', poolBased: true, numPools: 0 },
          replicaGroupPartitionConfig: { replicaGroupBased: true, numReplicaGroups: 2, numInstancesPerReplicaGroup: 1 },
        },
      };
    });
    await states.passes('INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK');
    await states.changeTable('orders', 'OFFLINE', (config) => {
      delete config.instanceAssignmentConfigMap;
    });
    await put(first, { DefaultTenant_OFFLINE: 0, DefaultTenant_REALTIME: 1 });
    await states.fails('INSTANCE_POOLS_CHECK', first, limit);
    await put(first, { DefaultTenant_OFFLINE: 0, DefaultTenant_REALTIME: 0 });
    await states.passes('INSTANCE_POOLS_CHECK', limit);
  });

  it('whose id does not match its host', async () => {
    await states.api('POST', '/instances', { host: '10.9.9.9', port: 7000, type: 'MINION', tags: ['minion_untagged'] });
    const id = 'Minion_10.9.9.9_7000';
    try {
      await states.passes('COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK');
      await states.api('PUT', `/instances/${id}`, {
        host: '10.9.9.8',
        port: 7000,
        type: 'MINION',
        tags: ['minion_untagged'],
      });
      await states.fails('COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK', id);
      await states.fails('INSTANCE_AVAILABILITY_CHECK', id);
    } finally {
      await states.api('DELETE', `/instances/${id}`);
    }
    await states.passes('INSTANCE_AVAILABILITY_CHECK');
    await states.passes('COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK');
  });

  it('that is stopped: its health, and the segments that it served', async () => {
    const port = new URL(pinot.serverAdminUrls[0] ?? '').port;
    const { instances } = await states.api('GET', '/instances');
    const all = await Promise.all((instances as string[]).map((id) => states.api('GET', `/instances/${id}`)));
    const server = String(all.find(({ adminPort }) => String(adminPort) === port)?.instanceName);
    await states.passes('INSTANCE_HEALTH_API_CHECK');
    await pinot.stopServer(0);
    await states.fails('INSTANCE_HEALTH_API_CHECK', server);
    await states.fails('IDEAL_STATE_EV_MISMATCH_CHECK', 'orders_OFFLINE');
    await pinot.startServer(0);
    await states.passes('INSTANCE_HEALTH_API_CHECK');
    await states.passes('IDEAL_STATE_EV_MISMATCH_CHECK');
  });

  it('that is stopped and alone has the segments of a table: its queries read nothing', async () => {
    await states.smallTable('alone');
    try {
      await pinot.uploadRows('alone', rows(1_760_000_000, 1_760_000_010));
      await pinot.awaitRows('alone', 2);
      await states.passes('QUERY_HEALTH_CHECK');
      const { adminPort } = await states.api('GET', `/instances/${await states.serverOf('alone')}`);
      const index = pinot.serverAdminUrls.findIndex((url) => new URL(url).port === String(adminPort));
      await pinot.stopServer(index);
      // Until its session ends, the broker queries the server and reports an exception; after that it queries no server.
      await states.fails('IDEAL_STATE_EV_MISMATCH_CHECK', 'alone_OFFLINE');
      await states.fails('QUERY_HEALTH_CHECK', 'alone');
      await states.fails('SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK', 'alone_OFFLINE');
      await pinot.startServer(index);
      await states.passes('QUERY_HEALTH_CHECK');
      await states.passes('IDEAL_STATE_EV_MISMATCH_CHECK');
    } finally {
      await pinot.deleteTable('alone');
    }
  });

  it('stopped brokers: queries fail', async () => {
    await states.passes('QUERY_HEALTH_CHECK');
    await pinot.stopBroker(0);
    await pinot.stopBroker(1);
    await states.fails('QUERY_HEALTH_CHECK', 'orders');
    await pinot.startBroker(0);
    await pinot.startBroker(1);
    await states.passes('QUERY_HEALTH_CHECK');
  });

  it('brokers that left the tenant', async () => {
    await states.passes('BROKER_RESOURCE_CHECK');
    const { instances } = await states.api('GET', '/instances');
    const brokers = (instances as string[]).filter((id) => id.startsWith('Broker_'));
    for (const id of brokers) await states.api('PUT', `/instances/${id}/updateTags?tags=Other_BROKER`);
    await states.fails('BROKER_RESOURCE_CHECK', 'orders_OFFLINE');
    for (const id of brokers) await states.api('PUT', `/instances/${id}/updateTags?tags=DefaultTenant_BROKER`);
    await states.passes('BROKER_RESOURCE_CHECK');
  });
});

describe('an upsert table', () => {
  it('with its partitions and primary keys', async () => {
    const kafka = await pinot.startKafka();
    await pinot.createTopic('up', 3);
    await states.streamTable('up', kafka, { upsert: true });
    try {
      // One key, so that two of three partitions, each on its own server, stay empty.
      await pinot.produce(
        'up',
        Array.from(
          { length: 50 },
          (_, i) => ['k', JSON.stringify({ pk: `k${i % 10}`, ts: 1_760_000_000 + i })] as const,
        ),
      );
      await pinot.awaitRows('up', 10);
      const keys = await states.fails(
        'HIGH_UPSERT_PRIMARY_KEYS_CHECK',
        entities(
          await states.fails(
            'HIGH_UPSERT_PK_PER_PARTITION_CHECK',
            entities(await states.outcomeOf('HIGH_UPSERT_PK_PER_PARTITION_CHECK', { maxPrimaryKeys: 9 }))[0] ?? '',
            { maxPrimaryKeys: 9 },
          ),
        )[0] ?? '',
        { maxPrimaryKeys: 9 },
      );
      expect(keys.findings).toMatchObject([{ entityType: 'server', observed: '10' }]);
      await states.passes('HIGH_UPSERT_PRIMARY_KEYS_CHECK', { maxPrimaryKeys: 10 });
      await states.passes('HIGH_UPSERT_PK_PER_PARTITION_CHECK', { maxPrimaryKeys: 10 });
      await states.fails('UPSERT_PK_SKEW_PER_PARTITION_CHECK', 'up_REALTIME', { maxSkew: 1 });
      await states.passes('UPSERT_PK_SKEW_PER_PARTITION_CHECK');
      const skewed = await states.outcomeOf('UPSERT_PRIMARY_KEY_SKEW_CHECK', { maxSkew: 1 });
      expect(skewed).toMatchObject({ status: 'FAIL', couldNotEvaluate: false, findings: [{ entityType: 'server' }] });
      await states.passes('UPSERT_PRIMARY_KEY_SKEW_CHECK');
      await states.passes('UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK');
      await states.fails('PREBUILT_SNAPSHOT_CHECK', 'up_REALTIME');
      await states.api('POST', '/cluster/configs', { 'pinot.upsert.prebuilt.snapshot.enabled': 'true' });
      await states.passes('PREBUILT_SNAPSHOT_CHECK');
      const elsewhere = { prebuiltSnapshotProperty: 'our.snapshots' };
      expect((await states.outcomeOf('PREBUILT_SNAPSHOT_CHECK', {}, elsewhere)).status).toBe('FAIL');
      const server = await states.serverOf('up');
      await states.passes('HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK', { maxConsumingSegments: 3 });
      await states.fails('HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK', server, { maxConsumingSegments: 0 });
    } finally {
      await pinot.deleteTable('up');
    }
    await states.passes('HIGH_UPSERT_PRIMARY_KEYS_CHECK', { maxPrimaryKeys: 0 });
    await states.passes('HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK', { maxConsumingSegments: 0 });
  });

  it('with one partition on one server of three', async () => {
    const kafka = await pinot.startKafka();
    await pinot.createTopic('one', 1);
    await states.streamTable('one', kafka);
    try {
      await states.fails('CONSUMING_PARTITION_SKEW_HEALTH_CHECK', 'one_REALTIME', {
        minConsumingSegments: 0,
        minExcess: 0,
      });
      await states.fails('CLUSTER_LEVEL_CONSUMING_PARTITION_SKEW_CHECK', await states.serverOf('one'), {
        minExcess: 0,
      });
    } finally {
      await pinot.deleteTable('one');
    }
    await states.passes('CONSUMING_PARTITION_SKEW_HEALTH_CHECK', { minConsumingSegments: 0, minExcess: 0 });
    await states.passes('CLUSTER_LEVEL_CONSUMING_PARTITION_SKEW_CHECK');
  });
});

/** Checks of the state of a table, not of its configuration or size. */
const OF_STATE = new Set([
  'IDEAL_STATE_EV_MISMATCH_CHECK',
  'TABLE_SEGMENTS_RELOAD_CHECK',
  'TABLE_SEGMENT_ASSIGNMENT_CHECK',
  'BROKER_RESOURCE_CHECK',
  'QUERY_HEALTH_CHECK',
]);

/** Deletes a table whose external view Pinot may not have written yet: it answers 500 then. */
async function deleteNewTable(name: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await pinot.deleteTable(name);
    } catch (error) {
      if (attempt === 20 || !String(error).includes('EXTERNALVIEW')) throw error;
      await delay(250);
    }
  }
}

describe('checks beyond the specification', () => {
  it('a realtime table that loses its consuming segment', async () => {
    const kafka = await pinot.startKafka();
    await pinot.createTopic('stopped', 1);
    await states.streamTable('stopped', kafka);
    try {
      await pinot.produce('stopped', [['k', JSON.stringify({ pk: 'k', ts: 1_760_000_000 })]]);
      await pinot.awaitRows('stopped', 1);
      await states.passes('INGESTION_STOPPED_CHECK');
      // This version does not report lags.
      expect((await states.passes('CONSUMER_LAG_CHECK')).message).toContain('not applicable');
      const [segment = ''] = Object.keys(await states.placement('stopped'));
      await states.api('DELETE', `/segments/stopped_REALTIME/${segment}`);
      await states.fails('INGESTION_STOPPED_CHECK', 'stopped_REALTIME');
    } finally {
      await pinot.deleteTable('stopped');
    }
    await states.passes('INGESTION_STOPPED_CHECK');
  });

  it('a segment whose metadata is lost', async () => {
    await states.smallTable('orphan');
    try {
      await pinot.uploadRows('orphan', [JSON.stringify({ id: 'a', ts: 1_760_000_000 })]);
      await pinot.awaitRows('orphan', 1);
      await states.passes('SEGMENT_METADATA_MISMATCH_CHECK');
      const { clusterName } = await states.api('GET', '/cluster/info');
      const [segment = ''] = Object.keys(await states.placement('orphan'));
      // A table of which no metadata is left is not judged.
      await pinot.uploadRows('orphan', [JSON.stringify({ id: 'b', ts: 1_760_009_000 })]);
      await pinot.awaitRows('orphan', 2);
      const path = `/${String(clusterName)}/PROPERTYSTORE/SEGMENTS/orphan_OFFLINE/${segment}`;
      await states.api('DELETE', `/zk/delete?path=${encodeURIComponent(path)}`);
      const { findings } = await states.fails('SEGMENT_METADATA_MISMATCH_CHECK', 'orphan_OFFLINE');
      expect(findings[0]?.message).toContain('1 segment has no metadata');
    } finally {
      await pinot.deleteTable('orphan');
    }
    await states.passes('SEGMENT_METADATA_MISMATCH_CHECK');
  });

  it('a table of which the schema, and then the configuration, is lost', async () => {
    await states.smallTable('torn');
    const { clusterName } = await states.api('GET', '/cluster/info');
    const lose = (node: string) =>
      states.api('DELETE', `/zk/delete?path=${encodeURIComponent(`/${String(clusterName)}/PROPERTYSTORE/${node}`)}`);
    try {
      await pinot.uploadRows('torn', [JSON.stringify({ id: 'a', ts: 1_760_000_000 })]);
      await pinot.awaitRows('torn', 1);
      await states.passes('TABLE_CONSISTENCY_CHECK');
      await lose('SCHEMAS/torn');
      const schema = await states.fails('TABLE_CONSISTENCY_CHECK', 'torn_OFFLINE');
      expect(schema.findings[0]?.message).toContain('it has no schema');
      await states.api('POST', '/schemas', smallSchema('torn', '1:SECONDS'));
      await states.passes('TABLE_CONSISTENCY_CHECK');
      await lose('CONFIGS/TABLE/torn_OFFLINE');
      const config = await states.fails('TABLE_CONSISTENCY_CHECK', 'torn_OFFLINE');
      expect(config.findings[0]?.message).toContain('but no table configuration');
      expect((await states.outcomeOf('SEGMENT_COUNT_CHECK')).message).toContain('not judged: `torn_OFFLINE`');
    } finally {
      await pinot.deleteTable('torn');
    }
    await states.passes('TABLE_CONSISTENCY_CHECK');
  });

  it('a tenant that loses its only server', async () => {
    const { instances } = await states.api('GET', '/instances');
    const server = (instances as string[]).find((id) => id.startsWith('Server_')) ?? '';
    const tag = (...more: string[]) =>
      states.api(
        'PUT',
        `/instances/${server}/updateTags?tags=${['DefaultTenant_OFFLINE', 'DefaultTenant_REALTIME', ...more].join()}`,
      );
    await states.smallTable('lonely');
    try {
      await tag('Lonely_OFFLINE');
      await states.changeTable('lonely', 'OFFLINE', (config) => {
        (config.tenants as Record<string, unknown>).server = 'Lonely';
      });
      await states.passes('TENANT_SERVERS_CHECK');
      await tag();
      await states.fails('TENANT_SERVERS_CHECK', 'Lonely_OFFLINE');
      expect(await states.outcomeOf('TABLE_SEGMENT_ASSIGNMENT_CHECK')).toMatchObject({ couldNotEvaluate: false });
    } finally {
      await tag();
      await pinot.deleteTable('lonely');
    }
    await states.passes('TENANT_SERVERS_CHECK');
  });

  it('that this cluster cannot have: without minions, without endpoints for disks, and with new segments', async () => {
    expect((await states.passes('MINION_TASK_FAILURES_CHECK')).message).toContain('not applicable');
    expect((await states.passes('SERVER_DISK_USAGE_CHECK')).message).toContain('not applicable');
    await states.passes('DATA_FRESHNESS_CHECK');
  });
});

it('tables that are created and deleted during runs', async () => {
  const over = new AbortController();
  const rows = ['a', 'b'].map((id, i) => JSON.stringify({ id, ts: 1_760_000_000 + i }));
  const comingAndGoing = async (name: string, stayMs: number): Promise<number> => {
    let times = 0;
    while (!over.signal.aborted) {
      await states.smallTable(name);
      await pinot.uploadRows(name, rows);
      await delay(stayMs);
      await deleteNewTable(name);
      times += 1;
    }
    return times;
  };
  const tables = [comingAndGoing('quick', 0), comingAndGoing('slow', 1_500)];
  const faults: string[] = [];
  const settings = resolveSettings({});
  for (let run = 0; run < 5; run += 1) {
    const { results } = await runChecks({
      gather: createGather({ engine, clock: systemClock }),
      settings,
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
      clock: systemClock,
    });
    for (const { name, outcome } of results) {
      for (const finding of outcome.findings) {
        if (OF_STATE.has(name) || outcome.couldNotEvaluate)
          faults.push(`${name} ${finding.entity}: ${finding.message}`);
      }
    }
  }
  over.abort();
  const times = await Promise.all(tables);
  expect(Math.min(...times)).toBeGreaterThan(0);
  expect(faults).toEqual([]);
});

it('every check was tested', () => {
  const tried = new Set([...states.tested, ...TRIED_WITH_FIVE, ...TRIED_ELSEWHERE]);
  expect(CATALOGUE.map(({ name }) => name).filter((name) => !tried.has(name))).toEqual([]);
});
