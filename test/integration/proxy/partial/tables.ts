import type { Mask, TableConditions } from '../../../../src/access/conditions.ts';
import { parseMask, parseRowFilter } from '../../../../src/access/sql/row-filter.ts';
import type { PinotClient } from '../../../support/pinot.ts';

export type Row = Readonly<Record<string, string | number | readonly string[]>>;

export const COLUMNS: Readonly<Record<string, 'INT' | 'LONG' | 'DOUBLE' | 'STRING' | 'STRINGS'>> = {
  id: 'INT',
  region: 'STRING',
  level: 'INT',
  amount: 'DOUBLE',
  at: 'LONG',
  name: 'STRING',
  tags: 'STRINGS',
  secret: 'STRING',
};

/** Of the first row. */
export const FIRST_TIME = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

export function filter(text: string) {
  const found = parseRowFilter(text);
  if (!found.ok) throw new Error(found.reason);
  return found;
}

export function mask(column: string, text: string): Mask {
  const found = parseMask(text, column);
  if (!found.ok) throw new Error(found.reason);
  return { expression: found.expression, text };
}

export type Conditions = Omit<TableConditions, 'key'>;

/** A table of which a caller may read a part. */
export interface Part {
  readonly table: string;
  readonly conditions: Conditions;
  /** The row as the caller may read it; undefined for a row that may not be read. */
  readonly copied: (row: Row) => Row | undefined;
}

export const isOwn = ({ region, level }: Row): boolean => region === 'eu' || (region === 'it' && Number(level) < 4);
export const OWN = [[filter(`region = 'eu'`)], [filter(`region = 'it'`), filter('level < 4')]];

function without(row: Row, name: string): Row {
  return Object.fromEntries(Object.entries(row).filter(([key]) => key !== name));
}

export const PARTS: readonly Part[] = [
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
        ['name', mask('name', 'upper(name)')],
        ['secret', mask('secret', 'substr(secret, 0, 7)')],
      ]),
    },
    copied: (row) => (isOwn(row) ? { ...row, name: String(row['name']).toUpperCase(), secret: 'outside' } : undefined),
  },
];

export const copyOf = (table: string): string => `${table}_copy`;

export function rowOf(id: number, random: () => number): Row {
  const one = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  return {
    id,
    region: one(['eu', 'us', 'it', 'jp']),
    level: Math.floor(random() * 8),
    amount: Math.floor(random() * 4_000) / 8,
    at: FIRST_TIME + id * 7 * MINUTE,
    name: one(['Ada', 'Bob', 'Cleo', "d'Arc", 'Éva', '']),
    tags: [one(['x', 'y']), one(['x', 'z'])],
    secret: `outside-${id}`,
  };
}

/** Creates a table with these rows in two segments. */
export async function create(pinot: PinotClient, table: string, rows: readonly Row[]): Promise<void> {
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
