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
const READERS = ['pyarrow', 'pandas', 'polars', 'duckdb'].flatMap((name) => [
  ...['arrow', 'parquet', 'csv'].map((format) => `${name}_${format}`),
  ...(name === 'pyarrow' ? [] : [`${name}_lines`]),
]);

interface DataSchema {
  readonly columnNames: readonly string[];
  readonly columnDataTypes: readonly string[];
}

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

interface Expected {
  /** Compared values of each reader. */
  readonly values: number;
  /** Names of the columns; by default those of the broker. */
  readonly names?: readonly string[];
  /** Whether names differ in case only: DuckDB ignores case, and renames such columns itself. */
  readonly areRenamedByDuckdb?: true;
}

/** Compares what each reader has in each download with the broker's answer. @returns the columns of the answer */
async function compare(sql: string, { values, names, areRenamedByDuckdb }: Expected): Promise<DataSchema> {
  const answer = await pinot.query(sql);
  expect(answer).toContain('"exceptions":[]');
  await writeFile(join(folder, 'answer.json'), answer);
  await download(sql);
  const { dataSchema } = (JSON.parse(answer) as { resultTable: { dataSchema: DataSchema } }).resultTable;
  const expected = READERS.map((reader) => {
    const isAny = areRenamedByDuckdb === true && reader.startsWith('duckdb');
    const own = isAny ? (expect.any(Array) as unknown) : (names ?? dataSchema.columnNames);
    const header = reader.endsWith('lines') ? null : own;
    return [reader, { names: header, values, wrong: [] }];
  });
  expect(await python('frames.py', folder)).toEqual(Object.fromEntries(expected));
  return dataSchema;
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
    await compare(`SELECT ${COLUMNS} FROM types ORDER BY id LIMIT 100`, { values: 40 * COLUMNS.split(',').length });
    // Decimals of which one type has all digits.
    await compare('SELECT id, aDecimal FROM types WHERE MOD(id, 4) > 0 ORDER BY id LIMIT 100', { values: 30 * 2 });
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
    await compare(sql, { values: ROWS_WITH_NULLS.length * 4 });
  });

  it('have both values of two columns of one name, for each pair of types, in each format', async () => {
    const columns = COLUMNS.split(', ');
    const pairs = columns.flatMap((one) => columns.map((other) => [one, other] as const));
    const selected = pairs.map(([one, other], i) => `${one} AS p${i}, ${other} AS p${i}`);
    const sql = `SELECT ${selected.join(', ')} FROM types ORDER BY id LIMIT 5`;
    const { columnNames, columnDataTypes } = await compare(sql, {
      values: 5 * 2 * pairs.length,
      names: pairs.flatMap((_, i) => [`p${i}`, `p${i}_1`]),
    });
    expect(columnNames).toEqual(pairs.flatMap((_, i) => [`p${i}`, `p${i}`]));
    const kinds = pairs.map((_, i) => columnDataTypes.slice(2 * i, 2 * i + 2).join(' '));
    expect(new Set(kinds).size).toBe(new Set(columnDataTypes).size ** 2);
  });

  it('have every value of columns whose names differ in case only, or are those of a suffix', async () => {
    const selected = [
      'id',
      'aLong AS "ID"',
      'aString AS "ID"',
      'aDouble AS id_1',
      'aFloat AS id_1',
      'ints AS "id.list"',
    ];
    await compare(`SELECT ${selected.join(', ')} FROM types ORDER BY id LIMIT 5`, {
      values: 5 * selected.length,
      names: ['id', 'ID', 'ID_2', 'id_1', 'id_1_1', 'id.list'],
      areRenamedByDuckdb: true,
    });
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
