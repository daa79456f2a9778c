// @module-tag slow
import { mkdtemp, open, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { drain } from '../../../../src/api/server/drain.ts';
import { listen } from '../../../../src/api/server/server.ts';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { dataPlaneOf, TEST_HEADERS, TEST_TOKEN, testApp } from '../../../support/app.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { fileProperties } from '../../../support/result-stores.ts';
import { answerText, responseOf, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from '../queries/gateways.ts';
import { once } from '../../../support/once.ts';

// A response without a length ends with its connection in HTTP/1.0: an incomplete one must not look complete. nginx speaks HTTP/1.0 to its servers by default.

const SQL = JSON.stringify({ sql: 'SELECT * FROM orders' });
const ROWS = Array.from({ length: 60_000 }, (_, i) => `[${i},"${'x'.repeat(150)}"]`);

/** Sends a request of HTTP/1.0. */
async function send(port: number, target: string, body?: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const content = body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`];
  const head = [`${body === undefined ? 'GET' : 'POST'} ${target} HTTP/1.0`, `Authorization: Bearer ${TEST_TOKEN}`];
  socket.write(`${[...head, ...content].join('\r\n')}\r\n\r\n${body ?? ''}`);
  return socket;
}

/** Reads to the end. @returns how the connection ended, and what came */
async function received(socket: Socket): Promise<{ end: 'whole' | 'cut'; text: string }> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    return { end: 'whole', text: Buffer.concat(chunks).toString() };
  } catch {
    return { end: 'cut', text: Buffer.concat(chunks).toString() };
  }
}

describe('an incomplete response to HTTP/1.0 ends with a reset', () => {
  let folder: string;
  let gateway: TestGateway;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-cut-'));
    const endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(answerText(ROWS));
    [gateway] = (await startGateways(1, {
      engine: engineOf(endpoint),
      store: () => fileProperties(folder),
    })) as [TestGateway];
  });
  afterAll(async () => {
    await stopGateways([gateway]);
    await rm(folder, { recursive: true });
  });

  async function submit(): Promise<string> {
    const headers = { ...TEST_HEADERS, 'content-type': 'application/json' };
    const url = `${gateway.url}/query/sql?doPaginate=true&numRows=1`;
    const answer = await fetch(url, { method: 'POST', headers, body: SQL });
    return ((await answer.json()) as { requestId: string }).requestId;
  }

  async function damage(requestId: string): Promise<void> {
    const file = await open(join(folder, 'data', `${requestId}.rows`), 'r+');
    await file.write(Buffer.alloc(1000, '!'), 0, 1000, 5_000_000);
    await file.close();
  }

  it.each(['csv', 'jsonl', 'arrow', 'parquet'])('where a download as %s finds damaged rows', async (format) => {
    const requestId = await submit();
    // Not from the first row: all of them are a file, which was made before.
    const path = `/query/${requestId}/results?format=${format}&offset=1`;
    const whole = await received(await send(gateway.port, path));
    expect(whole.end).toBe('whole');
    const [head = ''] = whole.text.split('\r\n\r\n', 1);
    expect(head).toContain('HTTP/1.1 200');
    await damage(requestId);
    const { end } = await received(await send(gateway.port, path));
    expect(end).toBe('cut');
  });
});

describe('a response of the engine to HTTP/1.0', () => {
  let fake: FakeEngine;
  let port: number;
  let close: () => Promise<void>;
  let app: Awaited<ReturnType<typeof testApp>>;

  beforeEach(async () => {
    fake = new FakeEngine();
    await fake.listen();
    fake.serve(['orders_OFFLINE']);
    const engine = createEngine({ controllerUrls: [fake.url] });
    app = await testApp({ register: async () => undefined, parts: { dataPlane: dataPlaneOf(engine) } });
    port = await listen(app, '127.0.0.1', 0);
    close = async () => {
      await app.close();
      await engine.close();
      await fake.close();
    };
    return () => close();
  });

  it('ends with a reset where the engine breaks it off', async () => {
    fake.answers.set('POST /query/sql', (_request, response) => {
      response.writeHead(200).write('x'.repeat(1024 * 1024), () => response.destroy());
    });
    expect((await received(await send(port, '/query/sql', SQL))).end).toBe('cut');
    fake.answers.set('POST /query/sql', (_request, response) => response.writeHead(200).end('{"exceptions":[]}'));
    const { end, text } = await received(await send(port, '/query/sql', SQL));
    expect([end, text.endsWith('{"exceptions":[]}')]).toEqual(['whole', true]);
  });

  it('ends with a reset where the gateway stops first', async () => {
    fake.answers.set('POST /query/sql', (_request, response) => {
      response.writeHead(200).write('x'.repeat(1024 * 1024));
    });
    const socket = await send(port, '/query/sql', SQL);
    await once(socket, 'readable');
    const [{ end }, completed] = await Promise.all([received(socket), drain(app, 10)]);
    expect([end, completed]).toEqual(['cut', false]);
  });
});
