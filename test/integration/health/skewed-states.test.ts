import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine } from '../../../src/pinot/types.ts';
import { HealthStates, smallSchema } from '../../support/health-states.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';

/**
 * States that need a cluster of five servers without other tables, with default thresholds: one count above four equal ones has a skew of √5, and
 * fewer than five counts cannot have a skew above 2.
 */

let pinot: Pinot;
let engine: Engine;
let states: HealthStates;

beforeAll(async () => {
  pinot = await startPinot({ servers: 5 });
  engine = createEngine({ controllerUrls: [pinot.controllerUrl], brokerRefreshMs: 500 });
  states = new HealthStates(pinot, engine);
});

afterAll(async () => {
  await engine.close();
  await pinot.stop();
});

const rows = (count: number, from: number): string[] =>
  Array.from({ length: count }, (_, i) => JSON.stringify({ id: `row ${from + i} of ${count}`, ts: from + i }));
const messages = (count: number, key: (i: number) => string) =>
  Array.from(
    { length: count },
    (_, i) => [key(i), JSON.stringify({ pk: `${key(i)} ${i}`, ts: 1_760_000_000 + i })] as const,
  );

it('all data on one server, then some on each', async () => {
  await states.smallTable('lump');
  try {
    await pinot.uploadRows('lump', rows(5_000, 1_760_000_000));
    await pinot.awaitRows('lump', 5_000);
    await states.fails('DATA_SIZE_SKEW_CHECK', await states.serverOf('lump'));
    for (const n of [1, 2, 3, 4]) await pinot.uploadRows('lump', rows(n * 1_000, 1_770_000_000 + n * 10_000));
    await pinot.awaitRows('lump', 15_000);
    const { message } = await states.passes('DATA_SIZE_SKEW_CHECK');
    expect(message).toContain('the skew of data size over 5 servers');
  } finally {
    await pinot.deleteTable('lump');
  }
});

it('a time column with a fine granularity, then one of seconds', async () => {
  await states.smallTable('fine', {}, '1:MILLISECONDS');
  try {
    await states.fails('TIME_COLUMN_GRANULARITY_CHECK', 'fine_OFFLINE');
    const schema = smallSchema('fine', '1:MILLISECONDS') as { dateTimeFieldSpecs: object[] };
    const coarse = { name: 'day', dataType: 'LONG', format: '1:DAYS:EPOCH', granularity: '1:DAYS' };
    await states.api('PUT', '/schemas/fine', { ...schema, dateTimeFieldSpecs: [...schema.dateTimeFieldSpecs, coarse] });
    await states.changeTable('fine', 'OFFLINE', (config) => {
      Object.assign(config.segmentsConfig ?? {}, { timeColumnName: 'day' });
    });
    await states.passes('TIME_COLUMN_GRANULARITY_CHECK');
  } finally {
    await pinot.deleteTable('fine');
  }
});

it('a schema of 501 columns, then of 500', async () => {
  const wide = (columns: number) => ({
    schemaName: 'wide',
    dimensionFieldSpecs: Array.from({ length: columns }, (_, i) => ({ name: `column${i}`, dataType: 'STRING' })),
  });
  await states.api('POST', '/schemas', wide(501));
  try {
    const { findings } = await states.fails('TABLE_COLUMN_COUNT_CHECK', 'wide');
    expect(findings).toMatchObject([{ observed: '501 columns', threshold: 'at most 500' }]);
    await states.api('DELETE', '/schemas/wide');
    await states.api('POST', '/schemas', wide(500));
    await states.passes('TABLE_COLUMN_COUNT_CHECK');
  } finally {
    await states.api('DELETE', '/schemas/wide');
  }
});

describe('an upsert table', () => {
  it('with all primary keys in one of five partitions, then with some in each', async () => {
    const kafka = await pinot.startKafka();
    await pinot.createTopic('keys', 5);
    await states.streamTable('keys', kafka, { upsert: true });
    try {
      await pinot.produce(
        'keys',
        messages(50, () => 'a'),
      );
      await pinot.awaitRows('keys', 50);
      await states.fails('UPSERT_PK_SKEW_PER_PARTITION_CHECK', 'keys_REALTIME');
      const { findings } = await states.fails('UPSERT_PRIMARY_KEY_SKEW_CHECK', await serverWithRows('keys'));
      expect(findings).toMatchObject([{ entityType: 'server', observed: '2.24' }]);
      await pinot.produce(
        'keys',
        messages(500, (i) => `key${i % 10}`),
      );
      await pinot.awaitRows('keys', 550);
      await states.passes('UPSERT_PK_SKEW_PER_PARTITION_CHECK');
      await states.passes('UPSERT_PRIMARY_KEY_SKEW_CHECK');
    } finally {
      await pinot.deleteTable('keys');
    }
  });

  it('with moved completed segments and an unmoved consuming one', async () => {
    const kafka = await pinot.startKafka();
    await pinot.createTopic('split', 1);
    await states.streamTable('split', kafka, { upsert: true, rowsPerSegment: 20 });
    const home = await states.serverOf('split');
    try {
      await pinot.produce(
        'split',
        messages(50, () => 'a'),
      );
      await pinot.awaitRows('split', 50);
      await expect.poll(async () => Object.keys(await states.placement('split_REALTIME')).length).toBe(3);
      await states.passes('UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK');
      await states.api('PUT', `/instances/${home}/updateTags?tags=server_untagged`);
      const path = '/tables/split/rebalance?type=REALTIME&dryRun=false&downtime=true';
      await states.api('POST', `${path}&includeConsuming=false`);
      const { findings } = await states.fails('UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK', 'split_REALTIME');
      expect(findings[0]?.message).toContain('partition 0');
      await states.api('POST', `${path}&includeConsuming=true`);
      await states.passes('UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK');
    } finally {
      await states.api('PUT', `/instances/${home}/updateTags?tags=DefaultTenant_OFFLINE,DefaultTenant_REALTIME`);
      await pinot.deleteTable('split');
    }
  });
});

it('one controller that leads every table, then tables that each of five leads', async () => {
  for (let more = 0; more < 4; more += 1) await pinot.addController();
  let byLeader = new Map<string, string>();
  // Partitions move to a new controller one by one; a state that was read twice is final.
  await expect
    .poll(
      async () => {
        const before = JSON.stringify([...byLeader]);
        byLeader = new Map();
        for (let i = 0; i < 60; i += 1) byLeader.set(await leaderOf(`led${i}`), `led${i}`);
        return JSON.stringify([...byLeader]) === before && byLeader.size;
      },
      { interval: 500 },
    )
    .toBe(5);
  const [first, ...others] = [...byLeader];
  if (first === undefined) throw new Error('there is no lead controller');
  const made: string[] = [];
  const make = async (name: string): Promise<void> => {
    made.push(name);
    await states.smallTable(name);
  };
  try {
    await make(first[1]);
    await states.fails('CONTROLLER_TABLES_SKEW_CHECK', first[0]);
    for (const [, name] of others) await make(name);
    await states.passes('CONTROLLER_TABLES_SKEW_CHECK');
  } finally {
    for (const name of made) await pinot.deleteTable(name);
  }
});

/** The lead controller of the table, also of a table that does not exist. */
async function leaderOf(table: string): Promise<string> {
  const { leadControllerEntryMap } = await states.api('GET', `/leader/tables/${table}`);
  const [entry] = Object.values(leadControllerEntryMap as Record<string, { leadControllerId: string }>);
  return entry?.leadControllerId ?? '';
}

/** The server of the only segment with rows. */
async function serverWithRows(table: string): Promise<string> {
  const sql = `SELECT $segmentName, COUNT(*) FROM ${table} GROUP BY $segmentName`;
  const { resultTable } = JSON.parse(await pinot.query(sql)) as { resultTable: { rows: [[string, number]] } };
  return (await states.placement(`${table}_REALTIME`))[resultTable.rows[0][0]]?.[0] ?? '';
}
