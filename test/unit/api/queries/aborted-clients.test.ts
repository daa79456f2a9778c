// @module-tag slow
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryQueue } from '../../../../src/api/server/admission/memory.ts';
import { fileProperties } from '../../../support/result-stores.ts';
import { TEST_HEADERS, TEST_TOKEN } from '../../../support/app.ts';
import { answerText, responseOf, rowTexts, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from './gateways.ts';
import { once } from '../../../support/once.ts';

const CLIENTS = 300;
const MB = 1024 * 1024;

async function openFiles(folder: string): Promise<number> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter((target) => target.startsWith(folder)).length;
}

describe('clients that disconnect', () => {
  let folder: string;
  let gateway: TestGateway;
  let endpoint: StubEndpoint;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-aborts-'));
    endpoint = new StubEndpoint();
    [gateway] = (await startGateways(1, {
      engine: engineOf(endpoint),
      store: () => fileProperties(folder),
      // The downloads of one caller are limited before its memory.
      memory: memoryQueue({ totalBytes: 512 * MB, bytesPerCaller: 512 * MB }),
    })) as [TestGateway];
  });
  afterAll(async () => {
    await stopGateways([gateway]);
    await rm(folder, { recursive: true });
  });

  async function submit(): Promise<{ requestId: string }> {
    const answer = await fetch(`${gateway.url}/query/sql?doPaginate=true&numRows=1`, {
      method: 'POST',
      headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
      body: JSON.stringify({ sql: 'SELECT * FROM orders' }),
    });
    return (await answer.json()) as { requestId: string };
  }

  /** Requests a page and reads only its first bytes. */
  async function readBeginning(path: string): Promise<Socket> {
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_TOKEN}\r\n\r\n`);
    await once(socket, 'data');
    return socket.pause();
  }

  const readAndDisconnect = async (path: string): Promise<void> => void (await readBeginning(path)).destroy();

  it('free all resources when they disconnect during a page', async () => {
    const rows = Array.from({ length: 100_000 }, (_, i) => `[${i},"${'x'.repeat(80)}"]`);
    endpoint.answer = () => responseOf(answerText(rows));
    const { requestId } = await submit();
    // Pages of 2 MB and 9 MB, larger than the memory for a page.
    const paths = [20_000, 100_000].map((numRows) => `/query/${requestId}/results?offset=0&numRows=${numRows}`);
    for (let i = 0; i < CLIENTS; i += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, k) => readAndDisconnect(paths[(i + k) % 2] as string)));
    }
    // One handle stays open as a cache after reading.
    await expect.poll(() => openFiles(folder)).toBe(1);
    const connections = (): Promise<number> =>
      new Promise((resolve, reject) =>
        gateway.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      );
    await expect.poll(connections).toBeLessThanOrEqual(2);
    const answer = await fetch(`${gateway.url}/query/${requestId}/results?offset=99999`, { headers: TEST_HEADERS });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain(`"rows":[${rows.at(-1)}]`);
  });

  it('free the places of their downloads', async () => {
    const rows = Array.from({ length: 200_000 }, (_, i) => `[${i},"${'x'.repeat(80)}"]`);
    endpoint.answer = () => responseOf(answerText(rows));
    const { requestId } = await submit();
    for (const format of ['jsonl', 'csv', 'arrow', 'parquet']) {
      // Not all rows: those are a file in a format of columns, which needs no place.
      const path = `/query/${requestId}/results?format=${format}&numRows=199999`;
      const sockets = await Promise.all(Array.from({ length: 4 }, () => readBeginning(path)));
      const refused = await fetch(gateway.url + path, { headers: TEST_HEADERS });
      expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
        503,
        '2',
        expect.objectContaining({ message: expect.stringContaining('limit (4) of one caller exceeded') }),
      ]);
      for (const socket of sockets) socket.destroy();
      const numRows = async (): Promise<string | null> => {
        const answer = await fetch(`${gateway.url}${path}&offset=199999`, { headers: TEST_HEADERS });
        await answer.arrayBuffer();
        return answer.headers.get('x-olap-warden-rows');
      };
      await expect.poll(numRows).toBe('1');
      await expect.poll(() => openFiles(folder)).toBe(2);
    }
  });

  it('end the engine’s query when they disconnect during submission, and leave nothing in the store', async () => {
    const before = (await readdir(join(folder, 'data'))).length;
    const bodies: Readable[] = [];
    endpoint.answer = () => {
      const head = answerText(rowTexts(1)).split('"rows":[')[0];
      const body = Readable.from(
        (async function* () {
          yield Buffer.from(`${head}"rows":[[0]`);
          for (let i = 1; ; i++) {
            await new Promise((resolve) => setTimeout(resolve, 1));
            yield Buffer.from(`,[${i},"${'y'.repeat(1000)}"]`);
          }
        })(),
      );
      bodies.push(body);
      return { status: 200, headers: {}, body };
    };
    const clients = Array.from({ length: 30 }, () => {
      const request = httpRequest(`${gateway.url}/query/sql?doPaginate=true`, {
        method: 'POST',
        headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
        agent: false,
      });
      request.on('error', () => undefined);
      request.end(JSON.stringify({ sql: 'SELECT * FROM orders' }));
      return request;
    });
    await expect.poll(() => bodies.length).toBe(30);
    for (const client of clients) client.destroy();
    await expect.poll(() => bodies.every((body) => body.destroyed)).toBe(true);
    await expect.poll(() => readdir(join(folder, 'temp'))).toEqual([]);
    expect((await readdir(join(folder, 'data'))).length).toBe(before);
    endpoint.answer = () => responseOf(answerText(rowTexts(3)));
    expect((await submit()).requestId).toBeTypeOf('string');
  });

  it('a page is complete although its result is deleted meanwhile', async () => {
    const rows = Array.from({ length: 60_000 }, (_, i) => `[${i},"${'z'.repeat(150)}"]`);
    endpoint.answer = () => responseOf(answerText(rows));
    const { requestId } = await submit();
    const response = await new Promise<Readable>((resolve, reject) => {
      httpRequest(
        `${gateway.url}/query/${requestId}/results?offset=0&numRows=60000`,
        { headers: TEST_HEADERS, agent: false },
        resolve,
      )
        .once('error', reject)
        .end();
    });
    const chunks: Buffer[] = [];
    await once(response, 'readable');
    const deletion = await fetch(`${gateway.url}/query/resultStore/${requestId}`, {
      method: 'DELETE',
      headers: TEST_HEADERS,
    });
    expect(deletion.status).toBe(200);
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const page = JSON.parse(Buffer.concat(chunks).toString()) as { resultTable: { rows: unknown[] } };
    expect(page.resultTable.rows).toHaveLength(60_000);
  });
});
