import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileProperties, gcsProperties, s3Properties } from '../../support/result-stores.ts';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { type GcsServer, startGcs } from '../../support/gcs.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { execute } from '../../support/execute.ts';

const PROGRAM = join(import.meta.dirname, 'large-result-program.ts');
const MB = 1024 * 1024;
/** Parts of an upload, the read-ahead of pages, and the row index. */
const MAX_HELD_MB = 96;
/** Of a page or a download that is streamed. */
const MAX_READING_MB = 64;
/** For a busy machine. A quiet one takes a twentieth of it. */
const TIMEOUT_MS = 600_000;

let s3: S3Server;
let gcs: GcsServer;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-large-'));
  [s3, gcs] = await Promise.all([startS3(), startGcs()]);
});
afterAll(async () => {
  await s3?.stop();
  await gcs?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** In the other stores, only the reading of rows differs. */
const ALL_FORMATS = ['jsonl', 'csv', 'arrow', 'parquet'];
const STORES: readonly [string, number, readonly string[], () => Promise<PropertyValues>][] = [
  ['file', 1024, ALL_FORMATS, async () => fileProperties(folder)],
  [
    'compressed file',
    256,
    ['jsonl'],
    async () => ({ ...fileProperties(folder, 'compressed'), 'olap.broker.pagination.file.compression': 'zstd' }),
  ],
  ['s3', 1024, ['jsonl'], async () => s3Properties(await s3.bucket('large'))],
  // fake-gcs-server copies all stored bytes for each part: one gigabyte would take minutes.
  ['gcs', 120, ['jsonl'], async () => gcsProperties(await gcs.bucket('large'))],
];

describe('a large result', () => {
  it.each(STORES)(
    'is stored in the %s store (%i MB), read again and downloaded as %j in bounded memory',
    async (_protocol, megabytes, formats, properties) => {
      const store = JSON.stringify(await properties());
      const { stdout } = await execute(
        process.execPath,
        ['--expose-gc', PROGRAM, store, String(megabytes), ...formats],
        { timeout: TIMEOUT_MS - 10_000 },
      );
      const { grewBytes, readingGrewBytes, bytes } = JSON.parse(stdout) as Record<string, number>;
      expect(bytes).toBeGreaterThan(megabytes * MB * 0.99);
      expect((grewBytes ?? NaN) / MB).toBeLessThan(MAX_HELD_MB);
      expect((readingGrewBytes ?? NaN) / MB).toBeLessThan(MAX_READING_MB);
    },
    TIMEOUT_MS,
  );
});
