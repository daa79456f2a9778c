import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { TEST_HEADERS } from '../../support/app.ts';
import { type GcsServer, startGcs } from '../../support/gcs.ts';
import { fileProperties, gcsProperties, memoryProperties, s3Properties } from '../../support/result-stores.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { arrowBatches, CODINGS, type Coding, download, hashOf, parquetGroups } from '../../support/truth-readers.ts';
import { trueRows, TruthRows } from '../../support/truth-rows.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from '../../unit/api/queries/gateways.ts';
import { responseOf, StubEndpoint } from '../../unit/results/answers.ts';

const ROWS = Number(process.env['TRUTH_ROWS'] ?? 1_000_000);
const PAGE = 10_007;
/** For a busy machine. A quiet one takes a tenth of it. */
const LIMIT_MS = 300_000;

/** To decode a million rows takes seconds: Arrow in every other store, Parquet in the others. */
const formatsOf = (store: number): readonly ('jsonl' | 'csv' | 'arrow' | 'parquet')[] => [
  'jsonl',
  'csv',
  store % 2 === 1 ? 'arrow' : 'parquet',
];

let s3: S3Server;
let gcs: GcsServer;
let folder: string;
let truth: TruthRows;
let answer: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-truth-'));
  [s3, gcs] = await Promise.all([startS3(), startGcs()]);
  truth = new TruthRows(ROWS, PAGE);
  answer = truth.answer();
}, LIMIT_MS);
afterAll(async () => {
  await s3?.stop();
  await gcs?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

const compressed = (protocol: 'file' | 's3' | 'gcs', properties: PropertyValues): PropertyValues => ({
  ...properties,
  [`olap.broker.pagination.${protocol}.compression`]: 'zstd',
});

const STORES: readonly [string, () => Promise<PropertyValues>][] = [
  ['memory', async () => ({ ...memoryProperties(), 'olap.broker.pagination.memory.max.bytes': 1_000_000_000 })],
  ['file', async () => fileProperties(folder)],
  ['compressed file', async () => compressed('file', fileProperties(folder, 'compressed', 'temp-compressed'))],
  ['s3', async () => s3Properties(await s3.bucket('truth'))],
  ['compressed s3', async () => compressed('s3', s3Properties(await s3.bucket('truth-compressed')))],
  ['gcs', async () => gcsProperties(await gcs.bucket('truth'))],
  ['compressed gcs', async () => compressed('gcs', gcsProperties(await gcs.bucket('truth-compressed')))],
];

describe.each(STORES.map(([name, properties], number) => ({ name, properties, number })))(
  `a result of ${ROWS} rows in the $name store`,
  ({ properties, number }) => {
    let gateways: TestGateway[] = [];
    let results: string;

    beforeAll(async () => {
      const endpoint = new StubEndpoint();
      endpoint.answer = () => responseOf(answer);
      const store = await properties();
      gateways = await startGateways(1, { engine: engineOf(endpoint), store: () => store, isSingle: true });
      const { url } = gateways[0] as TestGateway;
      const response = await fetch(`${url}/query/sql?doPaginate=true&numRows=1`, {
        method: 'POST',
        headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
        body: JSON.stringify({ sql: 'SELECT * FROM orders' }),
      });
      const { requestId, numRowsResultSet } = (await response.json()) as Record<string, unknown>;
      expect(numRowsResultSet).toBe(ROWS);
      results = `${url}/query/${String(requestId)}/results`;
    }, LIMIT_MS);
    afterAll(() => stopGateways(gateways));

    const offsets = (): number[] => truth.offsets();
    /** In an order that does not repeat a neighbour. */
    const scattered = (): number[] => offsets().map((_, i, all) => all[(i * 7919) % all.length] as number);

    it.each<[string, Coding, () => number[]]>([
      ['forward', 'identity', offsets],
      ['backward', 'gzip', () => offsets().toReversed()],
      ['scattered', 'zstd', scattered],
    ])(
      'has the rows of the engine in its pages: %s, %s',
      async (_order, coding, order) => {
        const wrong: number[] = [];
        for (const offset of order()) {
          const page = await buffer(await download(`${results}?offset=${offset}&numRows=${PAGE}`, coding));
          if (!truth.isPage(offset, page)) wrong.push(offset);
        }
        expect([new Set(order()).size, wrong]).toEqual([offsets().length, []]);
      },
      LIMIT_MS,
    );

    // Each format in each coding, in some of the stores.
    it.each(formatsOf(number).map((format, i) => [format, CODINGS[(number + i) % CODINGS.length] as Coding] as const))(
      'has them as %s, %s',
      async (format, coding) => {
        // Pages of Parquet are compressed within the file.
        const sent = format === 'parquet' ? 'identity' : coding;
        const body = await download(`${results}?format=${format}`, coding, sent);
        if (format === 'jsonl') expect(await hashOf(body)).toBe(truth.jsonlHash);
        else if (format === 'csv') expect(await hashOf(body)).toBe(truth.csvHash);
        else expect(await trueRows(format === 'arrow' ? arrowBatches(body) : parquetGroups(body))).toBe(ROWS);
      },
      LIMIT_MS,
    );
  },
);
