// Stores a large result, reads it as a page and downloads it in some formats. Prints the growth of the memory in use, of it while reading, and the size of
// the rows, in bytes.
// Arguments: the store's properties as JSON, megabytes, the formats. Requires --expose-gc: the amount of uncollected garbage depends on the load of the machine
// and is not counted.
import { Readable } from 'node:stream';
import { parquetMetadata } from 'hyparquet';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { LruCache } from '../../../src/platform/lru.ts';
import type { CsvLayout } from '../../../src/results/export/csv-layout.ts';
import { exportRows } from '../../../src/results/export/export.ts';
import type { ExportFormat } from '../../../src/results/export/format.ts';
import { readPage } from '../../../src/results/rows/page.ts';
import type { ResultStore } from '../../../src/results/result-store.ts';
import { createResultStore } from '../../../src/results/stores/result-stores.ts';
import { storeResponse } from '../../../src/results/submit/submit.ts';
import { answerText, submission } from '../../unit/results/answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const MB = 1024 * 1024;
const TEXT_BYTES = 980;
const ROW = `[9007199254740993,"${'x'.repeat(TEXT_BYTES)}"]`;
/** More than the metadata at the end of a Parquet file has. */
const FOOTER_BYTES = 64 * 1024;
const ROWS_IN_PIECE = 64;
const WARM_MB = 40;
const SAMPLE_MS = 250;

const [properties, megabytes, ...formats] = process.argv.slice(2) as [string, string, ...ExportFormat[]];
/** Whether the result is stored, and is being read. */
let reading = false;

function* pieces(megabytes: number): Iterable<Buffer> {
  const [head = '', tail = ''] = answerText(['']).split('"rows":[]');
  yield Buffer.from(`${head}"rows":[${ROW}`);
  const piece = Buffer.from(`,${ROW}`.repeat(ROWS_IN_PIECE));
  for (let sent = 0; sent < megabytes * MB; sent += piece.length) yield piece;
  yield Buffer.from(`]${tail}`);
}

async function storeAndRead(store: ResultStore, megabytes: number, requestId: string): Promise<number> {
  const signal = AbortSignal.timeout(600_000);
  const response = { status: 200, headers: {}, body: Readable.from(pieces(megabytes)) };
  const outcome = await storeResponse(response, store, submission({ requestId }), signal);
  if (outcome.kind !== 'stored') throw new Error('the response was not stored');
  const { rowCount, rowBytes } = outcome.reader.record;
  reading = true;
  const { rows } = await readPage(outcome.reader, { offset: 0, numRows: rowCount }, {}, signal);
  let read = 0;
  for await (const piece of rows) read += piece.length;
  if (read !== rowBytes || rowBytes !== rowCount * (ROW.length + 1) - 1) {
    throw new Error(`${read} bytes were read of ${rowBytes} in ${rowCount} rows`);
  }
  const layouts = new LruCache<string, CsvLayout>({ maxWeight: 1 });
  const all = { offset: 0, numRows: rowCount };
  for (const format of formats) {
    const found = await exportRows(outcome.reader, { format, layouts }, all, signal);
    let downloaded = 0;
    let end = Buffer.alloc(0);
    for await (const piece of found.body(0, found.length ?? Number.MAX_SAFE_INTEGER, signal)) {
      downloaded += piece.length;
      if (format === 'parquet') end = Buffer.concat([end, piece]).subarray(-FOOTER_BYTES);
    }
    if (!isWhole(format, rowCount, downloaded, end))
      throw new Error(`${downloaded} bytes of ${format} were read of ${rowCount} rows of ${rowBytes} bytes`);
  }
  reading = false;
  await outcome.reader.close();
  await store.delete(requestId, signal);
  return rowBytes;
}

/** @param end the last bytes of a Parquet file, which have its number of rows */
function isWhole(format: ExportFormat, rowCount: number, bytes: number, end: Buffer): boolean {
  if (format === 'parquet') return Number(parquetMetadata(new Uint8Array(end).buffer).num_rows) === rowCount;
  // Without brackets and quotes, and with a line end.
  if (format === 'csv') return bytes === 'id,city\r\n'.length + rowCount * (ROW.length - 2);
  // At least a number of 8 bytes and the text. A line of JSON lines is a row with a line feed.
  return format === 'arrow' ? bytes > rowCount * (8 + TEXT_BYTES) : bytes === rowCount * (ROW.length + 1);
}

function heldBytes(): number {
  if (globalThis.gc === undefined) throw new Error('run it with --expose-gc');
  // Buffers that one collection frees may be swept in another thread, and are counted until the next one.
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const store = await createResultStore(JSON.parse(properties) as PropertyValues, {
  gatewayId: 'gateway-0',
  clock: systemClock,
  onProblem: (message) => process.stderr.write(`${message}\n`),
});
await store.start(AbortSignal.timeout(WAIT_LIMIT_MS));
await storeAndRead(store, WARM_MB, '00000000-000000000000000000000000000001');
const idle = heldBytes();
let highest = idle;
let highestReading = idle;
const sampler = setInterval(() => {
  const held = heldBytes();
  highest = Math.max(highest, held);
  if (reading) highestReading = Math.max(highestReading, held);
}, SAMPLE_MS);
const bytes = await storeAndRead(store, Number(megabytes), '00000000-000000000000000000000000000002');
clearInterval(sampler);
process.stdout.write(JSON.stringify({ grewBytes: highest - idle, readingGrewBytes: highestReading - idle, bytes }));
await store.close();
