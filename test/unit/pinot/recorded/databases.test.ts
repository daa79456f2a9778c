// @module-tag slow
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { StrictGateway } from '../../../support/strict-gateway.ts';

// Every spelling of a table, in both query engines, with and without the header and the option `database`: what Pinot 1.5.1 itself reads, and what the gateway
// judges and makes it read. `customers` is a table of the databases `default` and `sales`.
const GOLDEN = join(import.meta.dirname, '../../../golden/databases/spellings.txt');

let gateway: StrictGateway;
beforeAll(async () => {
  gateway = await StrictGateway.start('databases');
});
afterAll(() => gateway.close());
afterEach(() => expect(gateway.pinot.unknown.splice(0)).toEqual([]));

const SPELLINGS = [
  'customers',
  '"customers"',
  'default.customers',
  '"default"."customers"',
  '"default.customers"',
  'customers_OFFLINE',
  'sales.customers',
  '"sales"."customers"',
  '"sales.customers"',
  'sales.customers_OFFLINE',
  'nosuch.customers',
];
const HEADERS = [undefined, 'default', 'sales'];
const OPTIONS = [undefined, 'sales'];
const NAMES = ['customers', 'sales.customers', 'nosuch.customers'];
/** Rows of the column `name` in one table only. */
const TABLE_OF_ROW = (name: unknown) => (name === 'of customers' ? 'sales.customers' : 'customers');

interface Case {
  readonly multistage: boolean;
  readonly header: string | undefined;
  readonly option: string | undefined;
  readonly spelling: string;
}

const CASES: readonly Case[] = [false, true].flatMap((multistage) =>
  HEADERS.flatMap((header) =>
    OPTIONS.flatMap((option) => SPELLINGS.map((spelling) => ({ multistage, header, option, spelling }))),
  ),
);

function request({ multistage, header, option, spelling }: Case): [sql: string, headers: Record<string, string>] {
  const database = option === undefined ? '' : `SET database='${option}'; `;
  const engine = multistage ? 'SET useMultistageEngine=true; ' : '';
  return [`${engine}${database}SELECT name FROM ${spelling} LIMIT 1`, header === undefined ? {} : { database: header }];
}

/** The table that the rows are from, or the codes of the errors. */
function read(answer: Readonly<Record<string, unknown>>): string {
  const { resultTable, exceptions } = answer as {
    resultTable?: { rows: unknown[][] };
    exceptions?: { errorCode: number }[];
  };
  const codes = (exceptions ?? []).map(({ errorCode }) => errorCode);
  return codes.length > 0 ? `error ${codes.join(', ')}` : TABLE_OF_ROW(resultTable?.rows[0]?.[0]);
}

/** What Pinot does with the request of the client, without the gateway. */
async function directly(sql: string, headers: Record<string, string>): Promise<string> {
  const answer = await fetch(`${gateway.pinot.urlOf('broker')}/query/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ sql }),
  });
  return read((await answer.json()) as Record<string, unknown>);
}

/** The tables to which the caller needs a right, each of which alone is not enough if there are several. */
async function judged(sql: string, headers: Record<string, string>): Promise<string[] | string> {
  gateway.grant(['Query', 'srn2:table#none']);
  const { status, json } = await gateway.query(sql, headers);
  if (status === 400) return '400';
  expect(status).toBe(403);
  const needed: string[] = [];
  for (const name of NAMES) {
    const others = NAMES.filter((other) => other !== name).map((other) => `srn2:table#${other}`);
    gateway.grant(['Query', ...others]);
    const without = await gateway.query(sql, headers);
    if (without.status === 403) needed.push(name);
  }
  expect([json['status'] ?? 403, needed.length]).toEqual([403, expect.toSatisfy((count: number) => count > 0)]);
  return needed;
}

const rows: string[] = [];

describe.each(CASES)('$spelling, multi-stage: $multistage, header: $header, option: $option', (one) => {
  it('is judged as the table that Pinot reads', async () => {
    const [sql, headers] = request(one);
    const own = await directly(sql, headers);
    const needed = await judged(sql, headers);
    let outcome = '–';
    if (typeof needed === 'string') {
      // Only what Pinot refuses is refused, too.
      expect(own).toMatch(/^error/);
    } else {
      gateway.grant(['Query', ...needed.map((name) => `srn2:table#${name}`)]);
      const { status, json } = await gateway.query(sql, headers);
      expect(status).toBe(200);
      outcome = read(json);
      // Nothing but a judged table is read, and nothing else than what Pinot alone would read.
      if (!outcome.startsWith('error')) expect(needed).toContain(outcome);
      if (!own.startsWith('error')) expect(outcome).toBe(own);
    }
    const { multistage, header = '–', option = '–', spelling } = one;
    const cells = [
      multistage ? 'multi' : 'single',
      header,
      option,
      spelling,
      own,
      [needed].flat().join(' + '),
      outcome,
    ];
    rows.push(
      cells
        .map((cell, i) => cell.padEnd([7, 8, 7, 24, 16, 28, 0][i] as number))
        .join('')
        .trimEnd(),
    );
  });
});

it('all together are the table', async () => {
  const title =
    'engine header  option spelling                Pinot alone     right to tables             through the gateway';
  await expect(`${[title, ...rows].join('\n')}\n`).toMatchFileSnapshot(GOLDEN);
});
