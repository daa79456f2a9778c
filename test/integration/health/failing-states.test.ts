import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../src/engine/connection.ts';
import type { Engine } from '../../../src/engine/types.ts';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import type { CheckOutcome, Thresholds } from '../../../src/health/check.ts';
import { createGather } from '../../../src/health/gather.ts';
import { runChecks } from '../../../src/health/run.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';

/**
 * Brings a real cluster into the state that each check is about, sees the FAIL with the right entity, mends it and sees the PASS.
 * Limits of thousands are lowered by their threshold instead of being filled with data.
 */

/** Checks whose states a cluster of one controller, of this release, cannot be brought into; the recorded answers and unit cases serve. */
const BY_RECORDINGS_ALONE: Readonly<Record<string, string>> = {
  CONTROLLER_TABLES_SKEW_CHECK: 'needs three controllers, and the test cluster has one',
  UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK: 'the engine itself never splits a partition, and a rebalance mends it at once',
};

let pinot: Pinot;
let engine: Engine;
const tested = new Set<string>();

beforeAll(async () => {
  pinot = await startPinot({ brokers: 2, servers: 3, tables: ['orders'] });
  engine = createEngine({ controllerUrls: [pinot.controllerUrl], brokerRefreshMs: 500 });
}, 240_000);

afterAll(async () => {
  await engine.close();
  await pinot.stop();
});

async function outcomeOf(name: string, thresholds: Thresholds = {}): Promise<CheckOutcome> {
  tested.add(name);
  const checks = CATALOGUE.filter((check) => check.name === name);
  const run = await runChecks({
    gather: createGather({ engine, random: Math.random, settleMs: 500 }),
    settings: { checks, overrides: { [name]: thresholds }, maxFindings: 20, problems: [] },
    signal: AbortSignal.timeout(60_000),
    now: () => new Date(),
  });
  const outcome = run.results[0]?.outcome;
  if (outcome === undefined) throw new Error(`there is no check ${name}`);
  return outcome;
}

const entities = (outcome: CheckOutcome) => outcome.findings.map(({ entity }) => entity);

/** Waits until the check says so, for what the cluster takes its time for. */
async function eventually(
  name: string,
  entity: string | undefined,
  thresholds: Thresholds = {},
): Promise<CheckOutcome> {
  const deadline = Date.now() + 90_000;
  for (;;) {
    const outcome = await outcomeOf(name, thresholds);
    const right =
      entity === undefined
        ? outcome.status === 'PASS'
        : entities(outcome).includes(entity) && !outcome.couldNotEvaluate;
    if (right) return outcome;
    if (Date.now() > deadline) throw new Error(`${name} still says ${JSON.stringify(outcome)}`);
    await delay(500);
  }
}

const fails = (name: string, entity: string, thresholds?: Thresholds) => eventually(name, entity, thresholds);
const passes = (name: string, thresholds?: Thresholds) => eventually(name, undefined, thresholds);

async function api(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(pinot.controllerUrl + path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

type Config = Record<string, Record<string, unknown>>;

async function changeTable(table: string, type: string, change: (config: Config) => void): Promise<void> {
  const config = (await api('GET', `/tables/${table}?type=${type}`))[type] as Config;
  change(config);
  await api('PUT', `/tables/${table}`, config);
}

async function smallTable(name: string, segmentsConfig: object = {}, granularity = '1:SECONDS'): Promise<void> {
  await pinot.createTable(
    {
      schemaName: name,
      dimensionFieldSpecs: [{ name: 'id', dataType: 'STRING' }],
      dateTimeFieldSpecs: [{ name: 'ts', dataType: 'LONG', format: '1:SECONDS:EPOCH', granularity }],
    },
    {
      tableName: name,
      tableType: 'OFFLINE',
      segmentsConfig: {
        schemaName: name,
        timeColumnName: 'ts',
        replication: '1',
        segmentPushType: 'APPEND',
        retentionTimeUnit: 'DAYS',
        retentionTimeValue: '36500',
        ...segmentsConfig,
      },
      tenants: { broker: 'DefaultTenant', server: 'DefaultTenant' },
      tableIndexConfig: { loadMode: 'MMAP' },
      metadata: {},
    },
  );
}

async function serverOf(table: string): Promise<string> {
  const ideal = await api('GET', `/tables/${table}/idealstate`);
  const states = Object.values((ideal.OFFLINE ?? ideal.REALTIME) as Record<string, Record<string, string>>)[0];
  return Object.keys(states ?? {})[0] ?? '';
}

const rows = (from: number, to: number) => [from, to].map((ts) => JSON.stringify({ id: `r${ts}`, ts }));

describe('a table', () => {
  it('with small segments, on one server of three', async () => {
    await smallTable('small');
    try {
      await pinot.uploadRows('small', rows(1_760_000_000, 1_760_000_010));
      await pinot.awaitRows('small', 2);
      const server = await serverOf('small');
      await fails('SEGMENT_SIZE_CHECK', 'small_OFFLINE');
      await fails('SEGMENT_SKEW_HEALTH_CHECK', 'small_OFFLINE', { minSegments: 0 });
      await fails('CLUSTER_LEVEL_SEGMENT_SKEW_CHECK', server, { maxExcessPercent: 5 });
      await fails('TABLE_SKEW_CHECK', server, { maxExcessPercent: 5 });
      await fails('HIGH_NUMBER_OF_TABLES_CHECK', server, { maxTables: 1 });
      await fails(
        'DATA_SIZE_SKEW_CHECK',
        server.length > 0
          ? (entities(await outcomeOf('DATA_SIZE_SKEW_CHECK', { minSkew: 0, maxSkew: 0 }))[0] ?? '')
          : '',
        { minSkew: 0, maxSkew: 0 },
      );
    } finally {
      await pinot.deleteTable('small');
    }
    await passes('SEGMENT_SIZE_CHECK');
    await passes('SEGMENT_SKEW_HEALTH_CHECK', { minSegments: 0 });
    await passes('HIGH_NUMBER_OF_TABLES_CHECK', { maxTables: 1 });
    await passes('TABLE_SKEW_CHECK', { maxExcessPercent: 5 });
    await passes('CLUSTER_LEVEL_SEGMENT_SKEW_CHECK');
    await passes('DATA_SIZE_SKEW_CHECK');
  });

  it('whose segments lie within the time of others', async () => {
    await smallTable('overlap');
    try {
      await pinot.uploadRows('overlap', rows(1_760_000_000, 1_760_000_900));
      await pinot.awaitRows('overlap', 2);
      await passes('SEGMENTS_TIME_PARTITION_CHECK');
      await pinot.uploadRows('overlap', rows(1_760_000_100, 1_760_000_200));
      await pinot.awaitRows('overlap', 4);
      await fails('SEGMENTS_TIME_PARTITION_CHECK', 'overlap_OFFLINE');
    } finally {
      await pinot.deleteTable('overlap');
    }
    await passes('SEGMENTS_TIME_PARTITION_CHECK');
  });

  it('without retention, and with it again', async () => {
    await smallTable('forever', { retentionTimeUnit: null, retentionTimeValue: null });
    try {
      await fails('SEGMENT_RETENTION_CHECK', 'forever_OFFLINE');
      await changeTable('forever', 'OFFLINE', (config) => {
        Object.assign(config.segmentsConfig ?? {}, { retentionTimeUnit: 'DAYS', retentionTimeValue: '9' });
      });
      await passes('SEGMENT_RETENTION_CHECK');
    } finally {
      await pinot.deleteTable('forever');
    }
  });

  it('with a time column that is too fine', async () => {
    await smallTable('fine', {}, '1:MILLISECONDS');
    try {
      await fails('TIME_COLUMN_GRANULARITY_CHECK', 'fine_OFFLINE');
    } finally {
      await pinot.deleteTable('fine');
    }
    const { findings } = await outcomeOf('TIME_COLUMN_GRANULARITY_CHECK');
    expect(findings.map(({ entity }) => entity)).not.toContain('fine_OFFLINE');
  });

  it('that needs a reload, and was reloaded', async () => {
    await passes('TABLE_SEGMENTS_RELOAD_CHECK');
    await changeTable('orders', 'OFFLINE', (config) => {
      Object.assign(config.tableIndexConfig ?? {}, { invertedIndexColumns: ['status'] });
    });
    await fails('TABLE_SEGMENTS_RELOAD_CHECK', 'orders_OFFLINE');
    await api('POST', '/segments/orders_OFFLINE/reload');
    await passes('TABLE_SEGMENTS_RELOAD_CHECK');
  });

  it('that has too few replicas, and needs a rebalance once it should have more', async () => {
    await passes('TABLE_SEGMENT_ASSIGNMENT_CHECK');
    await fails('REPLICATION_CHECK', 'orders_OFFLINE');
    await changeTable('orders', 'OFFLINE', (config) =>
      Object.assign(config.segmentsConfig ?? {}, { replication: '3' }),
    );
    await passes('REPLICATION_CHECK');
    await fails('TABLE_SEGMENT_ASSIGNMENT_CHECK', 'orders_OFFLINE');
    await api('POST', '/tables/orders/rebalance?type=OFFLINE&dryRun=false&downtime=true');
    await passes('TABLE_SEGMENT_ASSIGNMENT_CHECK');
    await passes('IDEAL_STATE_EV_MISMATCH_CHECK');
  });

  it('below the replication that the cluster asks for', async () => {
    await api('POST', '/cluster/configs', { 'controller.replication.threshold': '4' });
    await fails('REPLICATION_CHECK', 'orders_OFFLINE');
    await api('DELETE', '/cluster/configs/controller.replication.threshold');
    await passes('REPLICATION_CHECK');
  });

  it('that is disabled is left alone', async () => {
    await api('GET', '/tables/orders?type=OFFLINE&state=disable');
    await delay(2_000);
    await passes('IDEAL_STATE_EV_MISMATCH_CHECK');
    await passes('QUERY_HEALTH_CHECK');
    await passes('TABLE_SEGMENT_ASSIGNMENT_CHECK');
    await api('GET', '/tables/orders?type=OFFLINE&state=enable');
    await pinot.awaitRows('orders', 1);
    await passes('IDEAL_STATE_EV_MISMATCH_CHECK');
  });

  it('at and above limits that were lowered to it', async () => {
    const ideal = (await api('GET', '/tables/orders_OFFLINE/idealstate')).OFFLINE as Record<
      string,
      Record<string, string>
    >;
    const segments = Object.keys(ideal).length;
    const counts = new Map<string, number>();
    for (const server of Object.values(ideal).flatMap((states) => Object.keys(states)))
      counts.set(server, (counts.get(server) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const server = [...counts].find(([, count]) => count === most)?.[0] ?? '';
    await passes('SEGMENT_COUNT_CHECK', { maxSegments: segments });
    await fails('SEGMENT_COUNT_CHECK', 'orders_OFFLINE', { maxSegments: segments - 1 });
    await passes('HIGH_NUMBER_OF_SEGMENTS_CHECK', { maxSegments: most });
    await fails('HIGH_NUMBER_OF_SEGMENTS_CHECK', server, { maxSegments: most - 1 });
    await fails('TABLE_COLUMN_COUNT_CHECK', 'orders', { maxColumns: 1 });
    await passes('TABLE_COLUMN_COUNT_CHECK');
    const total = JSON.parse(await pinot.query('SELECT COUNT(*) FROM orders')) as { resultTable: { rows: [[number]] } };
    // With three replicas on three servers every server has every row.
    const documents = total.resultTable.rows[0][0];
    await passes('HIGH_NUMBER_OF_DOCUMENTS_CHECK', { maxDocuments: documents });
    await fails('HIGH_NUMBER_OF_DOCUMENTS_CHECK', server, { maxDocuments: documents - 1 });
  });
});

describe('an instance', () => {
  it('in no pool, in one, in two; and a table that makes use of pools', async () => {
    const limit = { maxServersWithoutPools: 2 };
    await passes('INSTANCE_POOLS_CHECK');
    const { instances } = await api('GET', '/instances');
    const servers = (instances as string[]).filter((id) => id.startsWith('Server_'));
    const first = servers[0] ?? '';
    await fails('INSTANCE_POOLS_CHECK', first, limit);
    const put = async (id: string, pools: Readonly<Record<string, number>>) => {
      const now = await api('GET', `/instances/${id}`);
      const { hostName, port, tags, adminPort, grpcPort } = now;
      await api('PUT', `/instances/${id}`, {
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
    await passes('INSTANCE_POOLS_CHECK', limit);
    await fails('INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK', 'orders_OFFLINE');
    await changeTable('orders', 'OFFLINE', (config) => {
      config.instanceAssignmentConfigMap = {
        OFFLINE: {
          tagPoolConfig: { tag: 'DefaultTenant_OFFLINE', poolBased: true, numPools: 0 },
          replicaGroupPartitionConfig: { replicaGroupBased: true, numReplicaGroups: 2, numInstancesPerReplicaGroup: 1 },
        },
      };
    });
    await passes('INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK');
    await changeTable('orders', 'OFFLINE', (config) => {
      delete config.instanceAssignmentConfigMap;
    });
    await put(first, { DefaultTenant_OFFLINE: 0, DefaultTenant_REALTIME: 1 });
    await fails('INSTANCE_POOLS_CHECK', first, limit);
    await put(first, { DefaultTenant_OFFLINE: 0, DefaultTenant_REALTIME: 0 });
    await passes('INSTANCE_POOLS_CHECK', limit);
  });

  it('whose name does not follow from its host', async () => {
    await api('POST', '/instances', { host: '10.9.9.9', port: 7000, type: 'MINION', tags: ['minion_untagged'] });
    const id = 'Minion_10.9.9.9_7000';
    try {
      await passes('COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK');
      await api('PUT', `/instances/${id}`, { host: '10.9.9.8', port: 7000, type: 'MINION', tags: ['minion_untagged'] });
      await fails('COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK', id);
    } finally {
      await api('DELETE', `/instances/${id}`);
    }
    await passes('COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK');
  });

  it('that is stopped: its health, and the segments that it served', async () => {
    const port = new URL(pinot.serverAdminUrls[0] ?? '').port;
    const { instances } = await api('GET', '/instances');
    const all = await Promise.all((instances as string[]).map((id) => api('GET', `/instances/${id}`)));
    const server = String(all.find(({ adminPort }) => String(adminPort) === port)?.instanceName);
    await passes('INSTANCE_HEALTH_API_CHECK');
    await pinot.stopServer(0);
    await fails('INSTANCE_HEALTH_API_CHECK', server);
    await fails('IDEAL_STATE_EV_MISMATCH_CHECK', 'orders_OFFLINE');
    await pinot.startServer(0);
    await passes('INSTANCE_HEALTH_API_CHECK');
    await passes('IDEAL_STATE_EV_MISMATCH_CHECK');
  });

  it('brokers that are stopped: no query is answered', async () => {
    await passes('QUERY_HEALTH_CHECK');
    await pinot.stopBroker(0);
    await pinot.stopBroker(1);
    await fails('QUERY_HEALTH_CHECK', 'orders');
    await pinot.startBroker(0);
    await pinot.startBroker(1);
    await passes('QUERY_HEALTH_CHECK');
  });

  it('brokers that left the tenant', async () => {
    await passes('BROKER_RESOURCE_CHECK');
    const { instances } = await api('GET', '/instances');
    const brokers = (instances as string[]).filter((id) => id.startsWith('Broker_'));
    for (const id of brokers) await api('PUT', `/instances/${id}/updateTags?tags=Other_BROKER`);
    await fails('BROKER_RESOURCE_CHECK', 'orders_OFFLINE');
    for (const id of brokers) await api('PUT', `/instances/${id}/updateTags?tags=DefaultTenant_BROKER`);
    await passes('BROKER_RESOURCE_CHECK');
  });
});

describe('an upsert table', () => {
  it('with its partitions and primary keys', async () => {
    const kafka = await pinot.startKafka();
    await pinot.createTopic('up', 3);
    await pinot.createTable(
      {
        schemaName: 'up',
        dimensionFieldSpecs: [{ name: 'pk', dataType: 'STRING' }],
        primaryKeyColumns: ['pk'],
        dateTimeFieldSpecs: [{ name: 'ts', dataType: 'LONG', format: '1:SECONDS:EPOCH', granularity: '1:SECONDS' }],
      },
      {
        tableName: 'up',
        tableType: 'REALTIME',
        segmentsConfig: { schemaName: 'up', timeColumnName: 'ts', replication: '1', replicasPerPartition: '1' },
        tenants: { broker: 'DefaultTenant', server: 'DefaultTenant' },
        routing: { instanceSelectorType: 'strictReplicaGroup' },
        upsertConfig: { mode: 'FULL' },
        tableIndexConfig: {
          loadMode: 'MMAP',
          streamConfigs: {
            streamType: 'kafka',
            'stream.kafka.topic.name': 'up',
            'stream.kafka.broker.list': kafka,
            'stream.kafka.consumer.type': 'lowlevel',
            'stream.kafka.consumer.prop.auto.offset.reset': 'smallest',
            'stream.kafka.consumer.factory.class.name': 'org.apache.pinot.plugin.stream.kafka20.KafkaConsumerFactory',
            'stream.kafka.decoder.class.name': 'org.apache.pinot.plugin.stream.kafka.KafkaJSONMessageDecoder',
          },
        },
        metadata: {},
      },
    );
    try {
      // One key, so that two of three partitions, each on a server of its own, stay empty.
      await pinot.produce(
        'up',
        Array.from(
          { length: 50 },
          (_, i) => ['k', JSON.stringify({ pk: `k${i % 10}`, ts: 1_760_000_000 + i })] as const,
        ),
      );
      await pinot.awaitRows('up', 10);
      const keys = await fails(
        'HIGH_UPSERT_PRIMARY_KEYS_CHECK',
        entities(
          await fails(
            'HIGH_UPSERT_PK_PER_PARTITION_CHECK',
            entities(await outcomeOf('HIGH_UPSERT_PK_PER_PARTITION_CHECK', { maxPrimaryKeys: 9 }))[0] ?? '',
            { maxPrimaryKeys: 9 },
          ),
        )[0] ?? '',
        { maxPrimaryKeys: 9 },
      );
      expect(keys.findings).toMatchObject([{ entityType: 'server', observed: '10' }]);
      await passes('HIGH_UPSERT_PRIMARY_KEYS_CHECK', { maxPrimaryKeys: 10 });
      await passes('HIGH_UPSERT_PK_PER_PARTITION_CHECK', { maxPrimaryKeys: 10 });
      await fails('UPSERT_PK_SKEW_PER_PARTITION_CHECK', 'up_REALTIME', { maxSkew: 1 });
      await passes('UPSERT_PK_SKEW_PER_PARTITION_CHECK');
      const skewed = await outcomeOf('UPSERT_PRIMARY_KEY_SKEW_CHECK', { maxSkew: 1 });
      expect(skewed).toMatchObject({ status: 'FAIL', couldNotEvaluate: false, findings: [{ entityType: 'server' }] });
      await passes('UPSERT_PRIMARY_KEY_SKEW_CHECK');
      await passes('UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK');
      await fails('PREBUILT_SNAPSHOT_CHECK', 'up_REALTIME');
      await api('POST', '/cluster/configs', { 'pinot.upsert.prebuilt.snapshot.enabled': 'true' });
      await passes('PREBUILT_SNAPSHOT_CHECK');
      const server = await serverOf('up');
      await passes('HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK', { maxConsumingSegments: 3 });
      await fails('HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK', server, { maxConsumingSegments: 0 });
    } finally {
      await pinot.deleteTable('up');
    }
    await passes('HIGH_UPSERT_PRIMARY_KEYS_CHECK', { maxPrimaryKeys: 0 });
    await passes('HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK', { maxConsumingSegments: 0 });
  });

  it('whose only partition is consumed by one server of three', async () => {
    const kafka = await pinot.startKafka();
    await pinot.createTopic('one', 1);
    await pinot.createTable(
      {
        schemaName: 'one',
        dimensionFieldSpecs: [{ name: 'pk', dataType: 'STRING' }],
        dateTimeFieldSpecs: [{ name: 'ts', dataType: 'LONG', format: '1:SECONDS:EPOCH', granularity: '1:SECONDS' }],
      },
      {
        tableName: 'one',
        tableType: 'REALTIME',
        segmentsConfig: { schemaName: 'one', timeColumnName: 'ts', replication: '1', replicasPerPartition: '1' },
        tenants: { broker: 'DefaultTenant', server: 'DefaultTenant' },
        tableIndexConfig: {
          loadMode: 'MMAP',
          streamConfigs: {
            streamType: 'kafka',
            'stream.kafka.topic.name': 'one',
            'stream.kafka.broker.list': kafka,
            'stream.kafka.consumer.type': 'lowlevel',
            'stream.kafka.consumer.prop.auto.offset.reset': 'smallest',
            'stream.kafka.consumer.factory.class.name': 'org.apache.pinot.plugin.stream.kafka20.KafkaConsumerFactory',
            'stream.kafka.decoder.class.name': 'org.apache.pinot.plugin.stream.kafka.KafkaJSONMessageDecoder',
          },
        },
        metadata: {},
      },
    );
    try {
      await fails('CONSUMING_PARTITION_SKEW_HEALTH_CHECK', 'one_REALTIME', { minConsumingSegments: 0 });
      await fails('CLUSTER_LEVEL_CONSUMING_PARTITION_SKEW_CHECK', await serverOf('one'));
    } finally {
      await pinot.deleteTable('one');
    }
    await passes('CONSUMING_PARTITION_SKEW_HEALTH_CHECK', { minConsumingSegments: 0 });
    await passes('CLUSTER_LEVEL_CONSUMING_PARTITION_SKEW_CHECK');
  });
});

it('every check was tried, or is among those that cannot be', () => {
  const missing = CATALOGUE.map(({ name }) => name).filter(
    (name) => !tested.has(name) && !(name in BY_RECORDINGS_ALONE),
  );
  expect(missing).toEqual([]);
});
