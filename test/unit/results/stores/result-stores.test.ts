import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/platform/clock.ts';
import type { PropertyValues } from '../../../../src/platform/setting-schema.ts';
import {
  createResultStore,
  inFolder,
  RESULT_STORE_PROPERTIES,
  RESULT_STORES,
} from '../../../../src/results/stores/result-stores.ts';
import { memoryProperties, storeProperties } from '../../../support/result-stores.ts';

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

describe('the folder of a cluster in a shared result store', () => {
  it.each([
    ['file.data.dir', '/results', '/results/sales'],
    ['file.data.dir', 'file:///results/', 'file:///results/sales'],
    ['file.data.dir', 's3://bucket/prefix', 's3://bucket/prefix/sales'],
    ['file.data.dir', '/', '/sales'],
    ['s3.prefix', '', 'sales'],
    ['s3.prefix', 'a/b/', 'a/b/sales'],
    ['gcs.prefix', 'a', 'a/sales'],
  ])('with %s `%s` is `%s`', (name, place, expected) => {
    const key = `olap.broker.pagination.${name}`;
    expect(inFolder({ [key]: place, 'olap.broker.pagination.s3.bucket': 'b' }, 'sales')).toEqual({
      [key]: expected,
      'olap.broker.pagination.s3.bucket': 'b',
    });
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

describe('a store by its properties', () => {
  const signal = new AbortController().signal;
  const keys = { 's3.access.key': 'access', 's3.secret.key': 'secret', 's3.path.style': true };

  /** Address of a link, and the region that it is signed for. */
  async function linkOf(properties: PropertyValues): Promise<{ address: string; region: string | undefined }> {
    const store = await createResultStore(properties, context);
    const { origin, pathname, searchParams } = new URL((await store.link!('r1', 60_000, signal)).url);
    await store.close();
    return { address: origin + pathname, region: searchParams.get('X-Amz-Credential')?.split('/')[2] };
  }

  it('of files is in the bucket of a URI, below its path', async () => {
    const own = { 'file.data.dir': 's3://results/team%20a/b/', 's3.endpoint': 'http://s3.example' };
    const { address } = await linkOf(storeProperties('file', { ...keys, ...own }));
    expect(address).toBe('http://s3.example/results/team%20a/b/r1.rows');
  });

  it('is in the region of its own property, or of the one that Pinot has for URIs', async () => {
    const region = async (own: Readonly<Record<string, unknown>>, other?: string): Promise<string | undefined> => {
      const properties = storeProperties('s3', { ...keys, 's3.bucket': 'results', ...own });
      return (await linkOf({ ...properties, 'olap.broker.storage.factory.s3.region': other })).region;
    };
    expect(await region({ 's3.region': 'eu-north-1' }, 'eu-west-1')).toBe('eu-north-1');
    expect(await region({ 's3.region': 'eu-north-1' })).toBe('eu-north-1');
    expect(await region({}, 'eu-west-1')).toBe('eu-west-1');
  });

  it('has 256 MiB of memory by default', async () => {
    expect((await createResultStore(memoryProperties(), context)).capacityBytes).toBe(256 * 1024 * 1024);
  });

  it.each([
    ['none', undefined],
    ['zstd', 'zstd'],
  ])('with the compression %s writes results with %s', async (value, compression) => {
    for (const [protocol, own] of [
      ['file', { 'file.data.dir': '/data', 'file.compression': value }],
      ['file', { 'file.data.dir': 'file:///data', 'file.compression': value }],
      ['s3', { 's3.bucket': 'results', 's3.compression': value }],
      ['gcs', { 'gcs.bucket': 'results', 'gcs.compression': value }],
    ] as const) {
      const store = await createResultStore(storeProperties(protocol, own), context);
      expect(store.compression, protocol).toBe(compression);
      await store.close();
    }
  });

  it.each([
    ['memory', {}, []],
    ['file', { 'file.data.dir': '/data' }, []],
    [
      'file',
      {},
      ['missing `olap.broker.pagination.file.data.dir`: it is required with `olap.broker.pagination.protocol` `file`'],
    ],
    [
      's3',
      {},
      ['missing `olap.broker.pagination.s3.bucket`: it is required with `olap.broker.pagination.protocol` `s3`'],
    ],
    ['gcs', { 'gcs.bucket': 'results' }, []],
  ])('says which one is missing: %s %j', (protocol, own, expected) => {
    const values = storeProperties(protocol, own);
    expect(RESULT_STORE_PROPERTIES.flatMap(({ problems }) => problems?.(values) ?? [])).toEqual(expected);
  });

  it('has a known protocol', () => {
    expect(() => createResultStore(storeProperties('hdfs'), context)).toThrow(
      'unknown `olap.broker.pagination.protocol` `hdfs`',
    );
  });
});
