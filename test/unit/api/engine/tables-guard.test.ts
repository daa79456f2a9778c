import { expect, it } from 'vitest';
import { unexpectedTables } from '../../../../src/api/engine/tables-guard.ts';
import type { TableName } from '../../../../src/pinot/table-name.ts';

const tail = (tables: readonly string[]): Buffer => Buffer.from(`]},"tablesQueried":${JSON.stringify(tables)}}`);

/** @param allowed spellings that the caller may query */
function unexpected(reported: string, judged: readonly string[], allowed: readonly string[]): string[] {
  const mayQuery = (table: TableName): boolean => allowed.includes(table);
  return unexpectedTables(tail([reported]), { names: judged as readonly TableName[], mayQuery, explains: false });
}

it.each(['Orders', 'Orders_OFFLINE', 'ORDERS_REALTIME'])(
  'decides again on `%s` for a query of `orders`',
  (reported) => {
    const spelled = reported.replace(/_.*$/, '');
    expect(unexpected(reported, ['orders'], ['orders'])).toEqual([reported]);
    expect(unexpected(reported, ['orders'], ['orders', spelled])).toEqual([]);
  },
);

it.each(['orders', 'orders_OFFLINE', 'sales.orders'])(
  'accepts `%s`, which was decided before the query',
  (reported) => {
    expect(unexpected(reported, ['orders', 'sales.orders'], [])).toEqual([]);
  },
);

it('accepts a judged table with letters beyond ASCII', () => {
  expect(unexpected('größen', ['größen'], [])).toEqual([]);
});

it('refuses a table that was not judged in any letter case, whatever the caller may query', () => {
  expect(unexpected('customers', ['orders'], ['orders', 'customers'])).toEqual(['customers']);
});
