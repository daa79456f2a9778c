import { Readable } from 'node:stream';
import { beforeEach, expect, it } from 'vitest';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import { TableSchemas } from '../../../src/pinot/table-schemas.ts';
import type { EngineEndpoint } from '../../../src/pinot/types.ts';

const DEALS = tableNameOf('deals');
const SCHEMA = {
  dimensionFieldSpecs: [{ name: 'owner' }, { name: '$docId' }],
  metricFieldSpecs: [{ name: 'price' }],
  dateTimeFieldSpecs: [{ name: 'at' }],
  timeFieldSpec: { incomingGranularitySpec: { name: 'in' }, outgoingGranularitySpec: { name: 'day' } },
};

let asked: string[];
let answers: Record<string, unknown>;
let now: number;
let schemas: TableSchemas;

const controller: EngineEndpoint = {
  url: 'http://controller',
  request: async ({ path }) => {
    asked.push(path);
    const value = answers[path];
    const status = value === undefined ? 404 : value instanceof Error ? 500 : 200;
    return { status, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(value ?? {}))]) };
  },
};

beforeEach(() => {
  asked = [];
  answers = { '/tables/deals/schema': SCHEMA };
  now = 0;
  schemas = new TableSchemas(controller, () => now);
});

const columns = async (): Promise<string[]> => [
  ...((await schemas.columnsOf(DEALS, new AbortController().signal)) ?? ['no schema']),
];

it('the columns of all kinds, without those that the engine adds', async () => {
  expect(await columns()).toEqual(['owner', 'price', 'at', 'day']);
});

it('are read once for requests at the same time, and again after 5 s', async () => {
  await Promise.all([columns(), columns()]);
  now = 4_999;
  await columns();
  expect(asked).toHaveLength(1);
  now = 5_000;
  answers['/tables/deals/schema'] = { dimensionFieldSpecs: [{ name: 'other' }] };
  expect(await columns()).toEqual(['other']);
});

it.each([
  [{ 'pinot-controller': '1.5.1-020ff0d0', 'pinot-server': '0.1' }, [1, 5]],
  [{ 'pinot-controller': '0.11.0' }, [0, 11]],
  [{ 'pinot-controller': '1.x' }, undefined],
  [{ 'pinot-controller': 15 }, undefined],
  [{}, undefined],
])('the version of the controller in %o', async (answer, expected) => {
  answers['/version'] = answer;
  const { signal } = new AbortController();
  expect(await schemas.version(signal)).toEqual(expected);
  await schemas.version(signal);
  expect(asked).toEqual(['/version']);
});

it('a failure is not kept', async () => {
  answers['/tables/deals/schema'] = new Error('fails');
  await expect(columns()).rejects.toThrow('status 500');
  answers['/tables/deals/schema'] = SCHEMA;
  expect(await columns()).toHaveLength(4);
});

it('a table without a schema has no columns, and one with an empty schema is an error', async () => {
  answers = {};
  expect(await columns()).toEqual(['no schema']);
  now = 5_000;
  answers = { '/schemas/deals': {} };
  await expect(columns()).rejects.toThrow('has no columns');
});

it('a caller that leaves does not end the reading of others', async () => {
  const left = new AbortController();
  const first = schemas.columnsOf(DEALS, left.signal);
  const second = columns();
  left.abort(new Error('left'));
  await expect(first).rejects.toThrow('left');
  expect(await second).toHaveLength(4);
  expect(asked).toHaveLength(1);
});

it('the tables of a logical table, without their types', async () => {
  answers = {
    '/logicalTables/deals': { physicalTableConfigMap: { a_OFFLINE: {}, a_REALTIME: {}, 'x.b_OFFLINE': {} } },
  };
  const { signal } = new AbortController();
  expect(await schemas.tablesOf(DEALS, signal)).toEqual(['a', 'x.b']);
  expect(await schemas.tablesOf(tableNameOf('other'), signal)).toEqual([]);
});
