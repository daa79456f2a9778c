import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileProperties } from '../../../../support/result-stores.ts';
import { memoryQueue } from '../../../../../src/api/server/admission/memory.ts';
import { TEST_HEADERS, TEST_TOKEN } from '../../../../support/app.ts';
import { answerText, responseOf, StubEndpoint } from '../../../results/answers.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from '../gateways.ts';
import { once } from '../../../../support/once.ts';

const MB = 1024 * 1024;
const CONNECTIONS = 10;
/** The most that a connection may send at once. */
const REQUESTS = 17;
const ROWS = 1_000;
const PAGE_BYTES = MB;

let folder: string;
let gateway: TestGateway;
let requestId: string;
const memory = memoryQueue();
const responses: ServerResponse[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-pipelined-'));
  const endpoint = new StubEndpoint();
  const rows = Array.from({ length: ROWS }, (_, i) => `[${i},"${'x'.repeat(PAGE_BYTES / ROWS)}"]`);
  endpoint.answer = () => responseOf(answerText(rows));
  [gateway] = (await startGateways(1, {
    engine: engineOf(endpoint),
    memory,
    store: () => fileProperties(folder),
  })) as [TestGateway];
  const answer = await fetch(`${gateway.url}/query/sql?doPaginate=true&numRows=1`, {
    method: 'POST',
    headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
    body: JSON.stringify({ sql: 'SELECT * FROM orders' }),
  });
  ({ requestId } = (await answer.json()) as { requestId: string });
  gateway.app.server.on('request', (_request, response: ServerResponse) => responses.push(response));
});

afterAll(async () => {
  await stopGateways([gateway]);
  await rm(folder, { recursive: true });
});

const pathOf = (numRows: number): string => `/query/${requestId}/results?offset=0&numRows=${numRows}`;

async function open(): Promise<Socket> {
  const socket = connect(gateway.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

function pipeline(socket: Socket, requests: number): void {
  const request = `GET ${pathOf(ROWS)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_TOKEN}\r\n\r\n`;
  socket.write(request.repeat(requests));
}

/** Response bytes that are buffered in the gateway. */
const bufferedBytes = (): number => responses.reduce((sum, response) => sum + response.writableLength, 0);

describe('pipelined requests for pages', () => {
  it('hold one page per connection while the client reads nothing, and delay no other caller', async () => {
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, open));
    for (const socket of sockets) {
      socket.pause();
      pipeline(socket, REQUESTS);
    }
    await expect.poll(() => memory.used).toBeGreaterThan(5 * PAGE_BYTES);
    // Time of the processor, which does not depend on other programs.
    const startedAt = process.threadCpuUsage();
    for (let i = 0; i < 5; i++) {
      const answer = await fetch(gateway.url + pathOf(10), { headers: TEST_HEADERS });
      expect([answer.status, (await answer.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
    }
    const { user, system } = process.threadCpuUsage(startedAt);
    expect((user + system) / 1_000).toBeLessThan(1_000);
    expect(bufferedBytes()).toBeLessThan(2 * CONNECTIONS * PAGE_BYTES);
    expect(memory.used).toBeLessThan(2 * CONNECTIONS * PAGE_BYTES);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => memory.used).toBe(0);
  });

  it('are all served, completely and in order, to a client that reads', async () => {
    const single = await fetch(gateway.url + pathOf(ROWS), { headers: TEST_HEADERS });
    const body = Buffer.from(await single.arrayBuffer());
    const socket = await open();
    pipeline(socket, REQUESTS);
    let received = Buffer.alloc(0);
    let complete = 0;
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer]);
      for (;;) {
        const at = received.indexOf('\r\n\r\n');
        if (at < 0 || received.length < at + 4 + body.length) break;
        expect(received.subarray(at + 4, at + 4 + body.length).equals(body)).toBe(true);
        received = received.subarray(at + 4 + body.length);
        complete++;
      }
      if (complete === REQUESTS) break;
    }
    expect([complete, received.length]).toEqual([REQUESTS, 0]);
  });
});
