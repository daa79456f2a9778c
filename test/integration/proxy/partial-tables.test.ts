import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Authorizer } from '../../../src/access/authorizer.ts';
import type { Mask, TableConditions } from '../../../src/access/conditions.ts';
import { formatSrn } from '../../../src/access/policy/srn.ts';
import { parseRowFilter } from '../../../src/access/sql/row-filter.ts';
import { createEngine } from '../../../src/pinot/connection.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import type { Engine, KnownTables } from '../../../src/pinot/types.ts';
import { authorizerBy, dataPlaneOf, testApp } from '../../support/app.ts';
import { type PinotClient, sharedPinot } from '../../support/pinot.ts';
import { seeded } from '../../support/seed.ts';

/**
 * A caller that may read a part of a table gets the same results as one that may read everything, of a table that holds only this part.
 * `PART_QUERIES=5000` tries more queries of each table.
 */
const QUERIES = Number(process.env['PART_QUERIES'] || 300);
const SEED = Number(process.env['PART_SEED'] || 20_261_126);
const ROWS = 3_000;
const LIMIT_MS = 60_000 + QUERIES * 3_000;
/** Only a cluster of the user's own has the multi-stage engine. */
const ENGINES = process.env['TEST_CONTROLLER']
  ? (['single-stage', 'multi-stage'] as const)
  : (['single-stage'] as const);

type Row = Readonly<Record<string, string | number | readonly string[]>>;

const COLUMNS: Readonly<Record<string, 'INT' | 'DOUBLE' | 'STRING' | 'STRINGS'>> = {
  id: 'INT',
  region: 'STRING',
  level: 'INT',
  amount: 'DOUBLE',
  name: 'STRING',
  tags: 'STRINGS',
  secret: 'STRING',
};

function filter(text: string) {
  const found = parseRowFilter(text);
  if (!found.ok) throw new Error(found.reason);
  return found;
}

/** An expression over columns. */
function mask(text: string): Mask {
  const { parts } = filter(`${text} = 1`).condition;
  return { expression: { kind: 'sequence', parts: parts.slice(0, -2) }, text };
}

function randomOf(salt: number): () => number {
  const source = seeded(salt);
  return () => source.next();
}

interface Part {
  readonly table: string;
  readonly conditions: Omit<TableConditions, 'key'>;
  /** The row of the copy; undefined for a row that may not be read. */
  readonly copied: (row: Row) => Row | undefined;
}

const isOwn = ({ region, level }: Row): boolean => region === 'eu' || (region === 'it' && Number(level) < 4);
const OWN = [[filter(`region = 'eu'`)], [filter(`region = 'it'`), filter('level < 4')]];
const without = (row: Row, name: string): Row =>
  Object.fromEntries(Object.entries(row).filter(([key]) => key !== name));

const PARTS: readonly Part[] = [
  {
    table: 'part_rows',
    conditions: { rows: [[filter(`region IN ('eu', 'us') AND NOT level = 3`)]], columns: undefined, masks: new Map() },
    copied: (row) => (['eu', 'us'].includes(String(row['region'])) && row['level'] !== 3 ? row : undefined),
  },
  {
    table: 'part_columns',
    conditions: { rows: OWN, columns: { kind: 'deny', names: new Set(['secret']) }, masks: new Map() },
    copied: (row) => (isOwn(row) ? without(row, 'secret') : undefined),
  },
  {
    table: 'part_masks',
    conditions: {
      rows: OWN,
      columns: undefined,
      masks: new Map([
        ['name', mask('upper(name)')],
        ['secret', mask('substr(secret, 0, 7)')],
      ]),
    },
    copied: (row) => (isOwn(row) ? { ...row, name: String(row['name']).toUpperCase(), secret: 'outside' } : undefined),
  },
];

function rowOf(id: number, random: () => number): Row {
  const one = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  return {
    id,
    region: one(['eu', 'us', 'it', 'jp']),
    level: Math.floor(random() * 8),
    amount: Math.floor(random() * 4_000) / 8,
    name: one(['Ada', 'Bob', 'Cleo', "d'Arc", 'Éva', '']),
    tags: [one(['x', 'y']), one(['x', 'z'])],
    secret: `outside-${id}`,
  };
}

let pinot: PinotClient;
let engine: Engine & KnownTables;
let app: FastifyInstance;

const copyOf = (table: string): string => `${table}_copy`;

async function create(table: string, rows: readonly Row[]): Promise<void> {
  const specs = Object.keys(rows[0] ?? {}).map((name) => {
    const type = COLUMNS[name];
    return type === 'STRINGS' ? { name, dataType: 'STRING', singleValueField: false } : { name, dataType: type };
  });
  await pinot.createTable(
    { schemaName: table, dimensionFieldSpecs: specs },
    {
      tableName: table,
      tableType: 'OFFLINE',
      segmentsConfig: { schemaName: table, replication: '1', segmentPushType: 'APPEND' },
      tenants: { broker: 'DefaultTenant', server: 'DefaultTenant' },
      tableIndexConfig: { loadMode: 'MMAP', invertedIndexColumns: ['region'], noDictionaryColumns: ['amount'] },
      metadata: {},
    },
  );
  const half = Math.ceil(rows.length / 2);
  for (const some of [rows.slice(0, half), rows.slice(half)])
    await pinot.uploadRows(
      table,
      some.map((row) => JSON.stringify(row)),
    );
  await pinot.awaitRows(table, rows.length);
}

beforeAll(async () => {
  pinot = await sharedPinot();
  const random = randomOf(SEED);
  for (const { table, copied } of PARTS) {
    const rows = Array.from({ length: ROWS }, (_, id) => rowOf(id, random));
    await create(table, rows);
    await create(
      copyOf(table),
      rows.map(copied).filter((row) => row !== undefined),
    );
  }
  engine = createEngine({ controllerUrls: [pinot.controllerUrl] });
  const limited = new Map(PARTS.map(({ table, conditions }) => [`srn2:table#${table}`, { ...conditions, key: table }]));
  const authorizer: Authorizer = {
    ...authorizerBy(() => false),
    hasConditions: () => true,
    reading: (_, table) => ({ allowed: true, conditions: limited.get(formatSrn(table)) }),
  };
  app = await testApp({ authorizer, register: async () => undefined, parts: { dataPlane: dataPlaneOf(engine) } });
  await engine.actualTables(PARTS.map(({ table }) => tableNameOf(table)));
}, LIMIT_MS);

afterAll(async () => {
  await app?.close();
  await engine?.close();
  for (const { table } of PARTS) {
    await pinot?.deleteTable(table);
    await pinot?.deleteTable(copyOf(table));
  }
});

/** Queries of a table, with all clauses of the single-stage engine. Those with a limit below all rows have a complete order. */
function queries(table: string, names: readonly string[], random: () => number): () => string {
  const one = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const texts = names.filter((name) => COLUMNS[name] === 'STRING');
  const numbers = names.filter((name) => COLUMNS[name] === 'INT' || COLUMNS[name] === 'DOUBLE');
  const single = [...texts, ...numbers];
  const column = (name: string): string => one([name, `"${name}"`, `${table}.${name}`]);
  const predicate = (depth: number): string =>
    one([
      () =>
        `${column(one(texts))} ${one(['=', '<>', '>', '<='])} '${one(['eu', 'us', 'it', 'Bob', 'ADA', 'outside', 'outside-7'])}'`,
      () => `${column(one(numbers))} ${one(['=', '<>', '>', '<='])} ${Math.floor(random() * 9)}`,
      () => `${column(one(texts))} IN ('eu', 'jp', 'BOB', 'outside-9')`,
      () => `${column(one(numbers))} BETWEEN 2 AND ${Math.floor(random() * 300)}`,
      () => `tags = '${one(['x', 'y', 'z'])}'`,
      () => `${column(one(texts))} LIKE '%${one(['a', 'o', 'u'])}%'`,
      () => `NOT ${predicate(depth)}`,
      () => (depth > 2 ? '1 = 1' : `(${predicate(depth + 1)} ${one(['OR', 'AND'])} ${predicate(depth + 1)})`),
      () => `lower(${column(one(texts))}) = 'ada'`,
      () => `${one(numbers)} + 1 > ${one(numbers)}`,
    ])();
  const aggregate = (): string =>
    one([
      () => 'count(*)',
      () => `${one(['sum', 'min', 'max', 'avg', 'distinctcount'])}(${column(one(numbers))})`,
      () => `distinctcount(${column(one(texts))})`,
      () => `minmaxrange(${column(one(numbers))})`,
      () => `sum(CASE WHEN ${predicate(2)} THEN 1 ELSE 0 END)`,
    ])();
  const where = (): string => (random() < 0.7 ? ` WHERE ${predicate(0)}` : '');
  const distinct = (count: number): string[] => single.toSorted(() => random() - 0.5).slice(0, count);
  return () =>
    one([
      () =>
        `SELECT ${Array.from({ length: 1 + Math.floor(random() * 3) }, aggregate).join(', ')} FROM ${table}${where()}`,
      () => {
        const group = distinct(1 + Math.floor(random() * 2));
        const having = random() < 0.3 ? ' HAVING count(*) > 2' : '';
        return `SELECT ${[...group, aggregate()].join(', ')} FROM ${table}${where()} GROUP BY ${group.join(', ')}${having} LIMIT 100000`;
      },
      () => {
        const group = distinct(2);
        return `SELECT ${[...group, 'count(*)'].join(', ')} FROM ${table}${where()} GROUP BY ${group.join(', ')} ORDER BY ${group.join(', ')} LIMIT ${1 + Math.floor(random() * 20)}`;
      },
      () => `SELECT DISTINCT ${distinct(2).join(', ')} FROM ${table}${where()} LIMIT 100000`,
      () => `SELECT * FROM ${table}${where()} LIMIT 100000`,
      () =>
        `SELECT id, ${distinct(2).join(', ')} FROM ${table}${where()} ORDER BY id ${one(['ASC', 'DESC'])} LIMIT ${1 + Math.floor(random() * 30)}`,
      () => `SELECT tags, count(*) FROM ${table}${where()} GROUP BY tags LIMIT 100000`,
      () =>
        `SELECT ${one(texts)} AS shown, count(*) AS number FROM ${table}${where()} GROUP BY ${one(texts)} LIMIT 100000`.replace(
          /SELECT (\w+) AS shown(.*)GROUP BY \w+/,
          'SELECT $1 AS shown$2GROUP BY $1',
        ),
    ])();
}

interface Answer {
  readonly resultTable?: {
    readonly dataSchema: { readonly columnDataTypes: readonly string[] };
    readonly rows: readonly unknown[];
  };
  readonly exceptions?: readonly { readonly errorCode: number }[];
}

interface Compared {
  /** Codes; undefined for rows. */
  readonly errors: readonly number[] | undefined;
  readonly text: string;
}

/** Rows, in order where the query has one, with their types. The engine guesses the types of no rows. */
function compared(text: string, isOrdered: boolean): Compared {
  const { resultTable, exceptions = [] } = JSON.parse(text || '{}') as Answer;
  if (exceptions.length > 0 || resultTable === undefined) {
    const errors = exceptions.map(({ errorCode }) => errorCode);
    return { errors, text: String(errors.length) };
  }
  const rows = resultTable.rows.map((row) => JSON.stringify(row));
  const types = rows.length === 0 ? [] : resultTable.dataSchema.columnDataTypes;
  return { errors: undefined, text: JSON.stringify({ types, rows: isOrdered ? rows : rows.toSorted() }) };
}

/** Of the execution: some filters of 0.11 fail, depending on the segments. */
const EXECUTION_ERROR = 200;
const isDefect = ({ errors }: Compared): boolean => errors?.includes(EXECUTION_ERROR) === true;

it.each(ENGINES.flatMap((name) => PARTS.map((part) => [name, part.table, part] as const)))(
  `${QUERIES} random queries in the %s engine of a part of %s return what they return of a copy of it`,
  async (name, table, { conditions, copied }) => {
    const random = randomOf(SEED + table.length);
    const copy = copied({ ...rowOf(1, random), region: 'eu', level: 1 }) ?? {};
    const next = queries(table, Object.keys(copy), random);
    const wrong: string[] = [];
    const outcomes = { rows: 0, errors: 0, defects: 0 };
    for (let index = 0; index < QUERIES; index++) {
      const prefix = name === 'multi-stage' ? 'SET useMultistageEngine = true; ' : '';
      const sql = prefix + next();
      const paginated = index % 10 === 0 ? '?doPaginate=true&numRows=10000' : '';
      const [part, whole] = await Promise.all([
        app.inject({ method: 'POST', url: `/query/sql${paginated}`, payload: { sql } }),
        pinot.query(sql.replaceAll(table, copyOf(table))),
      ]);
      const isOrdered = sql.includes('ORDER BY');
      const [found, expected] = [compared(part.body, isOrdered), compared(whole, isOrdered)];
      const hasDefect = isDefect(found) !== isDefect(expected);
      outcomes[hasDefect ? 'defects' : expected.errors === undefined ? 'rows' : 'errors']++;
      // For some texts 0.11 responds with 500 and nothing.
      const isSame = part.statusCode === (whole === '' ? 500 : 200) && (hasDefect || found.text === expected.text);
      // Names of columns repeat literals of the query.
      const rows = JSON.stringify((JSON.parse(part.body || '{}') as Answer).resultTable?.rows ?? []);
      const hasOthers =
        /totalDocs|numDocsScanned|numSegments/.test(part.body) ||
        (conditions.rows === OWN && rows.includes('outside-'));
      if (!isSame || hasOthers)
        wrong.push(`${sql}\n  ${part.statusCode} ${part.body.slice(0, 400)}\n  ${whole.slice(0, 300)}`);
    }
    process.stdout.write(
      `seed ${SEED}, ${table}, ${name}: ${outcomes.rows} results, ${outcomes.errors} errors, ${outcomes.defects} failed on one side in the engine, ${wrong.length} differ\n`,
    );
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(outcomes.rows).toBeGreaterThan(QUERIES / 2);
    expect(outcomes.defects).toBeLessThan(QUERIES / 20);
  },
  LIMIT_MS,
);

/** Texts that try to show something outside of the part; \`t\` is the table, \`c\` its copy. */
const ATTACKS: readonly string[] = [
  'SELECT secret FROM t LIMIT 10',
  'SELECT "t.secret" FROM t LIMIT 10',
  'SELECT t.secret FROM t LIMIT 10',
  'SELECT SECRET FROM t LIMIT 10',
  'SELECT id AS "t.secret", "t.secret" FROM t LIMIT 10',
  'SELECT id AS t, (t).secret FROM t LIMIT 10',
  'SET useMultistageEngine = true; SET useMultistageEngine = false; SELECT id FROM t LIMIT 100000',
  'SELECT id AS secret FROM t ORDER BY secret LIMIT 10',
  'SELECT secret AS id FROM t LIMIT 10',
  "SELECT id FROM t WHERE secret = 'outside-1' LIMIT 10",
  'SELECT max(secret), min(secret), distinctcount(secret) FROM t',
  "SELECT id FROM t WHERE region = 'jp' OR 1 = 1 LIMIT 10000",
  'SELECT id FROM t WHERE 1 = 1) OR (1 = 1 LIMIT 10000',
  "SELECT id FROM t WHERE region IN ('jp') LIMIT 10",
  'SELECT count(*) FROM t WHERE cast(secret AS INT) = 1',
  'SELECT count(*) FROM t WHERE cast(name AS INT) = 1',
  'SELECT count(*) FROM t WHERE "cast"(concat(name, region, \'-\') AS LONG) > 1',
  'EXPLAIN PLAN FOR SELECT id FROM t',
  'SELECT $docId, $segmentName, $hostName FROM t LIMIT 10',
  'SELECT "t.$segmentName" FROM t LIMIT 10',
  "SELECT lookUp('t', 'secret', 'id', id) FROM c LIMIT 10",
  "SELECT count(*) FROM c WHERE in_subquery(id, 'SELECT idset(id) FROM t') = 1",
  'SELECT idset(id) FROM t',
  'SET skipUpsert = true; SELECT id FROM t LIMIT 10',
  'SELECT id FROM t LIMIT 10 OPTION(trace=true)',
  'SELECT id FROM t_OFFLINE LIMIT 100000',
  'SELECT id FROM T LIMIT 100000',
  'SELECT id FROM "default".t LIMIT 100000',
  "SELECT distinctCountThetaSketch(id, '', 'secret = ''outside-5''', '$1') FROM t",
  'SELECT groovy(\'{"returnType":"STRING","isSingleValue":true}\', \'arg0\', secret) FROM t LIMIT 10',
  'SELECT "as"(\'eu\', region) FROM t LIMIT 100000',
  'SELECT id FROM t, c LIMIT 10',
  'SELECT * FROM (SELECT * FROM t) LIMIT 10',
  'SELECT id FROM c UNION ALL SELECT id FROM t LIMIT 10',
  'TABLE t',
  'DESCRIBE t',
];

it(
  'attacks show nothing outside of the part, in rows, errors and statistics',
  async () => {
    const [, part] = PARTS as readonly [Part, Part, Part];
    const own = new Set<number>();
    const { resultTable } = JSON.parse(await pinot.query(`SELECT id FROM ${copyOf(part.table)} LIMIT 100000`)) as {
      readonly resultTable: { readonly rows: readonly [number][] };
    };
    for (const [id] of resultTable.rows) own.add(id);
    const shown: string[] = [];
    for (const attack of ATTACKS)
      for (const [path, more] of [
        ['/query/sql', {}],
        ['/query/sql?doPaginate=true&numRows=10000', {}],
        ['/sql', {}],
        ['/query/sql', { queryOptions: 'useMultistageEngine=true' }],
        ['/query/sql', { trace: true }],
        ['/query/sql', { queryOptions: 'enableNullHandling=true;explainPlanVerbose=true' }],
      ] as const) {
        const sql = attack.replaceAll(/\b([tTc])(?:\b|(?=_OFFLINE))(?=[ ._,)']|$)/g, (_, name: string) =>
          name === 'c' ? copyOf(part.table) : name === 'T' ? part.table.toUpperCase() : part.table,
        );
        const { body } = await app.inject({ method: 'POST', url: path, payload: { sql, ...more } });
        const { resultTable: table } = JSON.parse(body) as Answer;
        const ids = /^SELECT id FROM/i.test(sql) ? (table?.rows ?? []).map((row) => Number((row as unknown[])[0])) : [];
        if (
          /outside-\d|totalDocs|numDocsScanned|numSegments|traceInfo/.test(body.replaceAll("'outside-", '')) ||
          ids.some((id) => !own.has(id))
        )
          shown.push(`${path} ${sql}: ${body.slice(0, 300)}`);
      }
    expect(shown).toEqual([]);
    expect(own.size).toBeGreaterThan(100);
  },
  LIMIT_MS,
);
