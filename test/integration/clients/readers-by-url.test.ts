import { createCipheriv } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { parquetMetadata } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEST_HEADERS } from '../../support/app.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { once } from '../../support/once.ts';
import { until } from '../../support/until.ts';
import { fileProperties } from '../../support/result-stores.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from '../../unit/api/queries/gateways.ts';
import { StubEndpoint } from '../../unit/results/answers.ts';
import { pythonWithUrlReaders, run } from './install.ts';

// Programs that read a Parquet download by its URL. What they fetch is counted by a proxy between them and the gateway.
const PROGRAM = join(import.meta.dirname, 'python/by_url.py');
const ROWS = 60_000;
const TEXT_BYTES = 30;
const READ = ['id', 'number', 'text'];
const NAMES = [...READ, ...Array.from({ length: 37 }, (_, i) => `other${i}`)];
const TOKEN = TEST_HEADERS.authorization.slice('Bearer '.length);
/** For an installation of the programs. */
const SETUP_MS = 1_200_000;

/** Hexadecimal digits, which can be compressed to a half. */
const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16));
const text = (bytes = 10): string => noise.update(Buffer.alloc(bytes)).toString('hex');

let gateways: TestGateway[] = [];
let proxy: Server;
let folder: string;
let packages: string;
let path: string;
let expected: { rows: number; sum: number; text: number };
let fetchedBytes = 0;

beforeAll(async () => {
  packages = await pythonWithUrlReaders();
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-by-url-'));
  const endpoint = new StubEndpoint();
  endpoint.answer = () => ({ status: 200, headers: {}, body: Readable.from(answer()) });
  const store = (): ReturnType<typeof fileProperties> => fileProperties(folder);
  gateways = await startGateways(1, { engine: engineOf(endpoint), store });
  const body = JSON.stringify({ sql: 'SELECT * FROM orders' });
  const headers = { ...TEST_HEADERS, 'content-type': 'application/json' };
  const submitted = await fetch(`${gateways[0]!.url}/query/sql?doPaginate=true&numRows=1`, {
    method: 'POST',
    body,
    headers,
  });
  path = `/query/${((await submitted.json()) as { requestId: string }).requestId}/results?format=parquet`;
  // A busy machine may take longer to make the file than a request waits.
  const url = gateways[0]!.url + path;
  await until('the file of the download', async () => (await fetch(url, { method: 'HEAD', headers: TEST_HEADERS })).ok);
  proxy = createServer(countingProxy);
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
}, SETUP_MS);
afterAll(async () => {
  proxy?.close();
  proxy?.closeAllConnections();
  await stopGateways(gateways);
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

function* answer(): Iterable<Buffer> {
  const schema = { columnNames: NAMES, columnDataTypes: ['LONG', 'LONG', ...NAMES.slice(2).map(() => 'STRING')] };
  yield Buffer.from(`{"resultTable":{"dataSchema":${JSON.stringify(schema)},"rows":[`);
  expected = { rows: ROWS, sum: 0, text: 2 * TEXT_BYTES * ROWS };
  for (let row = 0; row < ROWS; row++) {
    const number = Number.parseInt(text().slice(0, 8), 16);
    expected.sum += number;
    const texts = Array.from({ length: NAMES.length - 2 }, (_, i) => `"${text(i === 0 ? TEXT_BYTES : undefined)}"`);
    yield Buffer.from(`${row === 0 ? '' : ','}[${row},${number},${texts.join(',')}]`);
  }
  yield Buffer.from(']},"exceptions":[],"numServersQueried":1}');
}

const countingProxy: Parameters<typeof createServer>[1] = (incoming, outgoing) => {
  const { method, url, headers } = incoming;
  const forwarded = httpRequest(
    gateways[0]!.url + url,
    { method, headers: { ...TEST_HEADERS, ...headers } },
    (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.on('data', (bytes: Buffer) => (fetchedBytes += bytes.length));
      response.pipe(outgoing);
    },
  );
  forwarded.on('error', () => outgoing.destroy());
  forwarded.end();
};

async function read(program: string, least: number): Promise<unknown> {
  const { port } = proxy.address() as AddressInfo;
  fetchedBytes = 0;
  const args = [PROGRAM, program, `http://127.0.0.1:${port}${path}`, TOKEN, String(least)];
  const env = { ...process.env, PYTHONPATH: packages, HOME: folder, NO_PROXY: '127.0.0.1' };
  const { stdout } = await run('python3', args, { env, timeout: WAIT_LIMIT_MS });
  return JSON.parse(stdout);
}

/** Bytes of the read columns in the file, of the row groups whose rows are not all before one. */
async function columnBytes(least = 0): Promise<number> {
  const response = await fetch(gateways[0]!.url + path, { headers: TEST_HEADERS });
  const { row_groups: groups } = parquetMetadata(await response.arrayBuffer());
  let bytes = 0;
  let row = 0;
  for (const { columns, num_rows: count } of groups) {
    row += Number(count);
    if (row <= least) continue;
    for (const { meta_data: data } of columns)
      if (READ.includes(data!.path_in_schema[0]!)) bytes += Number(data!.total_compressed_size);
  }
  return bytes;
}

describe.each(['pyarrow', 'polars', 'duckdb'])('%s', (program) => {
  it('reads three columns of forty by the URL, and fetches little more than these', async () => {
    expect(await read(program, 0)).toEqual(expected);
    expect(fetchedBytes).toBeLessThan(1.3 * (await columnBytes()));
  });

  it('leaves out the row groups that a filter excludes', async () => {
    const least = ROWS - 10;
    expect(await read(program, least)).toMatchObject({ rows: 10 });
    const [needed, all] = [await columnBytes(least), await columnBytes()];
    expect(needed).toBeLessThan(all / 2);
    expect(fetchedBytes).toBeLessThan(needed + 0.3 * all);
  });
});
