import { describe, expect, it } from 'vitest';
import { schemaFit, type KnownSchemas } from '../../../../src/access/policy/conditions/schema-fit.ts';
import type { Conditions, Statement } from '../../../../src/resources/policy.ts';
import { statement } from '../../../builders/resources.ts';

const SCHEMAS: Readonly<Record<string, readonly string[]>> = {
  deals: ['owner', 'region', 'amount'],
  'sales.de': ['owner', 'region'],
  'sales.fr': ['owner', 'land'],
  twins: ['owner', 'Owner'],
};

/** Reads of schemas, in order. */
let read: string[];

function known(more: Partial<KnownSchemas> = {}): KnownSchemas {
  read = [];
  return {
    deployment: { environment: 'olap', cluster: 'pinot' },
    tables: Object.keys(SCHEMAS),
    columnsOf: async (table) => {
      read.push(table);
      const columns = SCHEMAS[table];
      return columns && new Set(columns);
    },
    ...more,
  };
}

const on = (resource: string, conditions: Conditions): Statement =>
  statement({ resources: [`srn2:table#${resource}`], conditions });

describe('conditions that do not fit the schemas of their tables', () => {
  it.each<[Statement, string, string]>([
    [
      on('deals', { rowFilters: ["region = 'eu'", 'ownr = 1'] }),
      '.rowFilters[1]',
      '`ownr` does not exist in `deals`; did you mean `owner`?',
    ],
    [
      on('deals', { rowFilters: ['Owner = 1'] }),
      '.rowFilters[0]',
      '`Owner` does not exist in `deals`; did you mean `owner`?',
    ],
    [
      on('deals', { columns: { allow: ['owner', 'zip'] } }),
      '.columns.allow[1]',
      'the column `zip` does not exist in `deals`',
    ],
    [on('deals', { columns: { deny: ['zip'] } }), '.columns.deny[0]', 'the column `zip` does not exist in `deals`'],
    [on('deals', { columns: { mask: { zip: "''" } } }), '.columns.mask', 'the column `zip` does not exist in `deals`'],
    [on('sales.*', { rowFilters: ['zip = 1'] }), '.rowFilters[0]', 'does not exist in `sales.de`, `sales.fr`'],
    [on('deals', { columns: { deny: ['owner', 'region', 'amount'] } }), '', 'allow none of its columns'],
    [on('twins', { rowFilters: ['owner = 1'] }), '', 'differ in the case of letters only'],
  ])('are errors where no table has the column: %j', async (one, at, message) => {
    const { errors, warnings, unchecked } = await schemaFit([statement(), one], known());
    expect(errors).toEqual([{ path: `statements[1].conditions${at}`, message: expect.stringContaining(message) }]);
    expect([warnings, unchecked]).toEqual([[], []]);
  });

  it('are warnings where some tables of a pattern lack the column', async () => {
    const { errors, warnings } = await schemaFit([on('sales.*', { rowFilters: ["land = 'fr'"] })], known());
    expect(errors).toEqual([]);
    expect(warnings).toEqual([
      {
        path: 'statements[0].conditions.rowFilters[0]',
        message: 'the column `land` does not exist in `sales.de`; their queries are refused',
      },
    ]);
  });

  it('are warnings in a statement that the policy has already', async () => {
    const stored = on('deals', { rowFilters: ['gone = 1'] });
    const { errors, warnings } = await schemaFit([on('deals', { rowFilters: ['owner = 1'] }), stored], known(), [
      stored,
    ]);
    expect([errors, warnings.map(({ path }) => path)]).toEqual([[], ['statements[1].conditions.rowFilters[0]']]);
  });

  it.each([
    on('deals', { rowFilters: ['owner = ${subject.email} AND amount IN (${subject.claims.amounts})'] }),
    on('deals', { columns: { deny: ['amount'], mask: { owner: 'lower(owner)' } } }),
    on('none', { rowFilters: ['zip = 1'] }),
    statement({ resources: ['srn2:cluster#other:table#deals'], conditions: { rowFilters: ['zip = 1'] } }),
  ])('are not found in %j', async (one) => {
    expect(await schemaFit([one], known())).toEqual({ errors: [], warnings: [], unchecked: [] });
  });
});

describe('what cannot be compared', () => {
  const zip = on('*', { rowFilters: ['zip = 1'] });

  it('is said where a schema cannot be read, and is no error', async () => {
    const columnsOf = async (table: string) => {
      if (table === 'deals') throw new Error('status 500');
      return table === 'twins' ? undefined : new Set(SCHEMAS[table]);
    };
    const { errors, warnings, unchecked } = await schemaFit([zip], known({ columnsOf }));
    expect([errors, warnings.length]).toEqual([[], 1]);
    expect(unchecked).toEqual([
      {
        path: 'statements[0].conditions',
        message: 'the columns of `deals` (status 500), `twins` (it has no schema) could not be checked',
      },
    ]);
  });

  it('is said where the tables are not known', async () => {
    const { unchecked } = await schemaFit([zip], known({ tables: undefined }));
    expect([unchecked.map(({ path }) => path), read]).toEqual([['statements[0].conditions'], []]);
    const without = await schemaFit([statement()], known({ tables: undefined }));
    expect(without.unchecked).toEqual([]);
  });

  it('is said beyond a number of tables, whose schemas are not read', async () => {
    const tables = Array.from({ length: 1_000 }, (_, at) => `t${at}`);
    const { errors, unchecked } = await schemaFit([zip, zip], known({ tables }));
    expect([errors, read.length]).toEqual([[], 50]);
    expect(unchecked.at(-1)?.message).toContain('only 50 tables are compared');
    const many = Array.from({ length: 200 }, () => zip);
    expect((await schemaFit(many, known({ tables }))).unchecked.length).toBeLessThanOrEqual(20);
  });
});

it('leaves the event loop to others meanwhile', async () => {
  const columns = new Set(Array.from({ length: 1000 }, (_, index) => `c${index}`));
  const tables = Array.from({ length: 50 }, (_, index) => `t${index}`);
  const statements = Array.from({ length: 30 }, (_, index) => on('*', { columns: { deny: [`c${index}`] } }));
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns++;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  const { errors, warnings } = await schemaFit(statements, known({ tables, columnsOf: async () => columns }));
  done = true;
  expect([errors, warnings]).toEqual([[], []]);
  expect(turns).toBeGreaterThan(3);
});

describe('conditions of tables in several clusters', () => {
  const others = known({ otherClusters: ['second'] });
  const conditions: Conditions = { rowFilters: ["country = 'de'"] };

  it('are a warning where a table of another cluster may have the columns', async () => {
    const { errors, warnings } = await schemaFit([on('deals', conditions)], others);
    expect(errors).toEqual([]);
    expect(warnings).toMatchObject([{ path: 'statements[0].conditions.rowFilters[0]' }]);
  });

  it('are refused where the statement names this cluster', async () => {
    const own = statement({ resources: ['srn2:cluster#pinot:table#deals'], conditions });
    const { errors } = await schemaFit([own], others);
    expect(errors).toMatchObject([{ message: 'the column `country` does not exist in `deals`' }]);
  });
});
