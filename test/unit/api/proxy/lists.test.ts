import { expect, it } from 'vitest';
import { rewriteOf } from '../../../../src/api/proxy/lists.ts';

const visible = (name: string): boolean => name.startsWith('deals');

it.each([
  [
    ['tenants', 'T', 'tables'],
    {
      tables: ['deals_OFFLINE', 'secret_OFFLINE'],
      tablesWithProperties: [{ tableNameWithType: 'deals_OFFLINE' }, { tableNameWithType: 'secret_OFFLINE' }, {}],
    },
    { tables: ['deals_OFFLINE'], tablesWithProperties: [{ tableNameWithType: 'deals_OFFLINE' }] },
  ],
  [
    ['schemas', 'info'],
    { schemasInfo: [{ schemaName: 'deals' }, { schemaName: 'secret' }], uncachedSchemas: ['deals', 'secret'] },
    { schemasInfo: [{ schemaName: 'deals' }], uncachedSchemas: ['deals'] },
  ],
])('the list of %j has only visible tables', (path, answer, expected) => {
  expect(
    rewriteOf('GET', path)?.(answer, { visible, broker: undefined, tables: async () => [], allDatabases: false }),
  ).toEqual(expected);
});
