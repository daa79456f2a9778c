import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/platform/clock.ts';
import { createResultStore, RESULT_STORES } from '../../../../src/results/stores/result-stores.ts';
import { storeProperties } from '../../../support/result-stores.ts';

const ROOT = join(import.meta.dirname, '../../../..');
/** Keys that the specification and Pinot define without the protocol. */
const OTHER_KEYS = new Set([
  'olap.broker.pagination.temp.dir',
  'olap.broker.storage.factory.s3.region',
  'olap.broker.storage.factory.class.s3',
]);
const context = { gatewayId: 'gateway-0', clock: systemClock, onProblem: () => undefined };

describe.each(RESULT_STORES)('the definition of the result store $protocol', ({ protocol, properties, required }) => {
  it('declares keys with its own prefix, among them the required one', () => {
    const foreign = Object.keys(properties).filter((key) => !key.startsWith(`olap.broker.pagination.${protocol}.`));
    expect(foreign.filter((key) => !OTHER_KEYS.has(key))).toEqual([]);
    if (required !== undefined) expect(Object.keys(properties)).toContain(required);
  });

  it('has a row in the table of docs/paginated-queries.md', async () => {
    const document = await readFile(join(ROOT, 'docs/paginated-queries.md'), 'utf8');
    expect(document).toMatch(new RegExp(`^\\| \`${protocol}\` \\|`, 'm'));
  });

  it('is tested by the contract of result stores', async () => {
    const folder = join(ROOT, 'test/contract');
    const tests = (await readdir(folder)).filter(
      (name) => name.startsWith('result-store.') && name.endsWith('.test.ts'),
    );
    const texts = await Promise.all(tests.map((name) => readFile(join(folder, name), 'utf8')));
    expect(texts.join()).toContain(`resultStoreContract('${protocol}',`);
  });
});

describe('the location of a result store', () => {
  it.each([
    ['file', {}, '`olap.broker.pagination.file.data.dir` must be set'],
    [
      'file',
      { 'file.data.dir': 'hdfs://name/path' },
      '`olap.broker.pagination.file.data.dir` is `hdfs://name/path`, but only',
    ],
    ['file', { 'file.data.dir': 's3:///path' }, '`olap.broker.pagination.s3.bucket` must be set'],
    ['file', { 'file.data.dir': 'gs:///path' }, '`olap.broker.pagination.gcs.bucket` must be set'],
    ['s3', { 's3.bucket': '' }, '`olap.broker.pagination.s3.bucket` must be set'],
    ['gcs', {}, '`olap.broker.pagination.gcs.bucket` must be set'],
  ])('is required: %s %j', async (protocol, own, message) => {
    await expect(createResultStore(storeProperties(protocol, own), context)).rejects.toThrow(message);
  });
});
