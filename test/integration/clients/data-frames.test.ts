import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { type Pinot, type PinotClient, sharedPinot, startPinot } from '../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { pythonWithDataFrames, run } from './install.ts';

// Downloads of a real Pinot, read with pandas, polars and DuckDB. It is a separate one, whose servers send nulls to its broker; or that of TEST_CONTROLLER.
const HERE = import.meta.dirname;
const DOCUMENT = join(HERE, '../../../docs/paginated-queries.md');
const WITH_NULLS = { server: { 'pinot.server.instance.currentDataTableVersion': '4' } };
const FORMATS = ['arrow', 'parquet', 'csv', 'jsonl'] as const;
const READERS = ['pandas', 'polars', 'duckdb'].flatMap((name) =>
  ['arrow', 'parquet', 'csv', 'lines'].map((f) => `${name}_${f}`),
);

const COLUMNS =
  'id, aLong, aString, aBoolean, aFloat, aDouble, aDecimal, at, someBytes, aJson, ints, longs, doubles, strings';
const ROWS_WITH_NULLS = [
  { id: 1, aLong: '9007199254740993', city: '', aDouble: 0.1 },
  { id: 2, aLong: null, city: null, aDouble: null },
  { id: 3, aLong: '9223372036854775807', city: 'null', aDouble: 2.5 },
];

let pinot: PinotClient;
let separate: Pinot | undefined;
let gateway: Standalone;
let folder: string;
let packages: string;

beforeAll(async () => {
  packages = await pythonWithDataFrames();
  if (process.env['TEST_CONTROLLER'] === undefined)
    separate = await startPinot({ servers: 1, tables: ['types'], properties: WITH_NULLS });
  pinot = separate ?? (await sharedPinot());
  gateway = await startStandalone({ controllers: pinot.controllerUrl });
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-frames-'));
});
afterAll(async () => {
  await gateway?.stop();
  await separate?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Stores a result and downloads it in each format. @returns its id */
async function download(sql: string): Promise<string> {
  const submitted = await gateway.call('POST', '/query/sql?doPaginate=true&numRows=1', { sql });
  const { requestId } = (await submitted.json()) as { requestId: string };
  for (const format of FORMATS) {
    const answer = await gateway.call('GET', `/query/${requestId}/results?format=${format}`);
    expect(answer.status).toBe(200);
    await writeFile(join(folder, `rows.${format}`), Buffer.from(await answer.arrayBuffer()));
  }
  return requestId;
}

/** Runs a program of `python/` in the folder of the downloads. */
async function python<T>(program: string, ...args: string[]): Promise<T> {
  const env = { ...process.env, PYTHONPATH: packages };
  const { stdout } = await run('python3', [join(HERE, 'python', program), ...args], {
    cwd: folder,
    env,
    timeout: WAIT_LIMIT_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout) as T;
}

/** What each reader has in a download that differs from the broker's answer. @param values in each format */
async function compare(sql: string, values: number): Promise<void> {
  const answer = await pinot.query(sql);
  expect(answer).toContain('"exceptions":[]');
  await writeFile(join(folder, 'answer.json'), answer);
  await download(sql);
  const equal = { values, wrong: [] };
  expect(await python('frames.py', folder)).toEqual(Object.fromEntries(READERS.map((reader) => [reader, equal])));
}

/** The rows of a broker's answer with numbers as texts, because a number of JavaScript would lose their last digits. */
function rowsWithDigits(answer: string): unknown {
  const spelled = (_: string, value: unknown, { source = '' }: { source?: string }): unknown =>
    typeof value === 'number' ? source : value;
  return (JSON.parse(answer, spelled as Parameters<typeof JSON.parse>[1]) as { resultTable: { rows: unknown } })
    .resultTable.rows;
}

/** The examples in Python of the section on data frames by their first lines, such as `pandas, CSV`. */
async function examples(): Promise<Record<string, string>> {
  const text = await readFile(DOCUMENT, 'utf8');
  const section = text.split('\n### Data frames\n')[1]?.split(/\n##+ /)[0] ?? '';
  const blocks = [...section.matchAll(/```python\n(.*?)\n```/gs)].map(([, code = '']) => code);
  const parts = blocks.flatMap((code) => code.split(/^# /m).slice(1));
  return Object.fromEntries(
    parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]),
  );
}

describe('pandas, polars and DuckDB', () => {
  it('have every value of every type as the broker has it, in each format', async () => {
    await compare(`SELECT ${COLUMNS} FROM types ORDER BY id LIMIT 100`, 40 * COLUMNS.split(',').length);
  });

  it('tell null, an empty text and the text `null` apart', async () => {
    const schema = {
      schemaName: 'frames',
      dimensionFieldSpecs: [
        { name: 'id', dataType: 'INT' },
        { name: 'aLong', dataType: 'LONG' },
        { name: 'city', dataType: 'STRING' },
        { name: 'aDouble', dataType: 'DOUBLE' },
      ],
    };
    await pinot.createTable(schema, {
      tableName: 'frames',
      tableType: 'OFFLINE',
      segmentsConfig: { schemaName: 'frames', replication: '1', segmentPushType: 'APPEND' },
      tenants: { broker: 'DefaultTenant', server: 'DefaultTenant' },
      tableIndexConfig: { loadMode: 'MMAP', nullHandlingEnabled: true },
      metadata: {},
    });
    await pinot.uploadRows(
      'frames',
      ROWS_WITH_NULLS.map((row) => JSON.stringify(row)),
    );
    await pinot.awaitRows('frames', ROWS_WITH_NULLS.length);
    // Pinot returns nulls in selections without an order only.
    const sql = 'SET enableNullHandling=true; SELECT id, aLong, city, aDouble FROM frames LIMIT 10';
    expect(await pinot.query(sql)).toContain('[2,null,null,null]');
    await compare(sql, ROWS_WITH_NULLS.length * 4);
  });

  it('read a result with the examples of the documentation', async () => {
    const sql = 'SELECT aLong AS orderId, aString AS city FROM types ORDER BY id LIMIT 100';
    const id = await download(sql);
    for (const format of ['parquet', 'csv', 'jsonl']) {
      await writeFile(join(folder, `orders.${format}`), await readFile(join(folder, `rows.${format}`)));
    }
    const expected = rowsWithDigits(await pinot.query(sql));
    const found = await examples();
    expect(Object.keys(found)).toEqual(
      ['Arrow', 'Parquet', 'CSV', 'JSON lines'].flatMap((format) =>
        ['pandas', 'polars', 'DuckDB'].map((n) => `${n}, ${format}`),
      ),
    );
    await writeFile(join(folder, 'examples.json'), JSON.stringify(found));
    const read = await python('frame_examples.py', gateway.url, gateway.token, id, 'examples.json');
    expect(read).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, expected])));
  });
});
