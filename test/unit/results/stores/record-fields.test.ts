import { describe, expect, it } from 'vitest';
import { changed, type Fields } from '../rows/changed-fields.ts';
import { recordFromJson, recordToJson } from '../../../../src/results/stores/record-json.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import type { ResultRecord } from '../../../../src/results/result-store.ts';

// Each field of a record that this version cannot have written makes it invalid: whoever can write to the store can write anything.

const RECORD: ResultRecord = {
  version: 1,
  requestId: '00000000-000000000000000000000000000001',
  brokerId: 'Broker_a',
  owner: 'srn2:user#alice@example.com',
  tables: [tableNameOf('orders')],
  submissionTimeMs: 1,
  expirationTimeMs: 2,
  rowCount: 3,
  rowBytes: 100_000,
  stride: 1,
  checkpoints: 3,
  dataSchema: '{"columnNames":[]}',
  tableFields: [{ name: 'a', value: '1' }],
  fields: [{ name: 'b', value: '{}' }],
};
const FULL: ResultRecord = {
  ...RECORD,
  sql: 'SELECT 1',
  storedTimeMs: 5,
  warnings: ['the default of 10 rows applied'],
  checksums: { blockBytes: 65_536, blocks: 2, index: 7 },
  compression: { coding: 'zstd', bytes: 50 },
};

describe('a record', () => {
  it.each([
    ['no more fields than the first releases', RECORD],
    ['all fields', FULL],
    [
      'numbers that are 0',
      { ...RECORD, submissionTimeMs: 0, expirationTimeMs: 0, rowCount: 0, rowBytes: 0, checkpoints: 0 },
    ],
    ['the largest numbers', { ...RECORD, rowBytes: 1024 ** 4, checkpoints: 65_536 }],
    ['the largest blocks', { ...FULL, checksums: { blockBytes: 1024 * 1024, blocks: 1, index: 0 } }],
    ['the smallest blocks', { ...FULL, checksums: { blockBytes: 1, blocks: 100_000, index: 0 } }],
    ['no rows', { ...FULL, rowBytes: 0, checksums: { blockBytes: 65_536, blocks: 0, index: 0 } }],
    ['empty lists', { ...FULL, tables: [], tableFields: [], fields: [], warnings: [] }],
    ['a schema that is no object', { ...FULL, dataSchema: 'null' }],
  ] as const)('can have %s', (_what, record) => {
    expect(recordFromJson(recordToJson(record))).toEqual(record);
    // As releases without checksums wrote it.
    expect(recordFromJson(JSON.stringify(record))).toEqual(record);
  });

  const COUNTS = ['submissionTimeMs', 'expirationTimeMs', 'rowCount', 'rowBytes', 'stride', 'checkpoints'];
  const TEXTS = ['requestId', 'brokerId', 'owner', 'dataSchema'];
  const LISTS = ['tables', 'tableFields', 'fields'];
  const INVALID: readonly (readonly [path: string, value: unknown])[] = [
    ...[...COUNTS, 'checksums.blockBytes', 'checksums.index', 'compression.bytes'].flatMap((path) =>
      [-1, 1.5, '1', null, undefined, 2 ** 53].map((value) => [path, value] as const),
    ),
    ...TEXTS.flatMap((path) => [1, null, undefined, ['x']].map((value) => [path, value] as const)),
    ...LISTS.flatMap((path) => [1, null, undefined, {}, 'x', [1], [null], [{}]].map((value) => [path, value] as const)),
    ...['tableFields', 'fields'].flatMap((path) =>
      [['x'], [{ name: 'a' }], [{ value: '1' }], [{ name: 1, value: '1' }], [{ name: 'a', value: 1 }]].map(
        (value) => [path, value] as const,
      ),
    ),
    ...['checksums', 'compression'].flatMap((path) => [null, 1, 'x', {}, []].map((value) => [path, value] as const)),
    ['version', 2],
    ['version', undefined],
    ['stride', 0],
    ['checkpoints', 65_537],
    ['rowBytes', 1024 ** 4 + 1],
    ['dataSchema', '{'],
    ['tables', ['orders', 1]],
    ['fields', [{ name: 'a', value: '1' }, null]],
    ['checksums', undefined],
    ['checksums', { blockBytes: 1024 * 1024 + 1, blocks: 1, index: 0 }],
    ['checksums.blocks', 1],
    ['checksums.blocks', 3],
    ['compression.coding', 'gzip'],
    ['sql', 1],
    ['sql', null],
    ['storedTimeMs', 1.5],
    ['storedTimeMs', null],
    ['warnings', 'x'],
    ['warnings', null],
    ['warnings', ['x', 1]],
  ];
  it.each(INVALID)('with the %s %j is not valid', (path, value) => {
    const whole: Fields = path === 'rowBytes' ? { ...RECORD } : { ...FULL };
    expect(() => recordFromJson(JSON.stringify(changed(whole, path, value)))).toThrow('its record is not valid');
  });

  it.each(['null', '5', '"x"', '[]', '{}'])('is not %s', (json) => {
    expect(() => recordFromJson(json)).toThrow('its record is not valid');
  });

  it('has no blocks without bytes', () => {
    for (const rowBytes of [100_000, 0]) {
      const record = { ...RECORD, rowBytes, checksums: { blockBytes: 0, blocks: 'many', index: 0 } };
      // The number is Infinity.
      const json = JSON.stringify(record).replace('"many"', '1e400');
      expect(() => recordFromJson(json)).toThrow('its record is not valid');
    }
  });

  it('does not match its checksum where a byte differs', () => {
    const json = recordToJson(RECORD);
    const wrong = 'its record does not match its checksum';
    expect(() => recordFromJson(json.replace('"rowCount":3', '"rowCount":4'))).toThrow(wrong);
    expect(() => recordFromJson(json.replace(/.(?="\}$)/, (digit) => (digit === '0' ? '1' : '0')))).toThrow(wrong);
    expect(() => recordFromJson(json.slice(0, 20))).toThrow('its record is not valid JSON');
  });
});
