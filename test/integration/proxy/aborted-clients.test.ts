import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { once } from '../../support/once.ts';

const CLIENTS = 300;
/** Concurrent queries: below the limit of one caller. */
const AT_ONCE = 30;
const BODY = JSON.stringify({ sql: 'SELECT * FROM orders' });

let engine: FakeEngine;
let gateway: Standalone;
/** The state of the engine's responses. */
let begun = 0;
let whole = 0;
let brokenOff = 0;

/** An endless response, sent as fast as it is read. */
function endless(response: ServerResponse): void {
  begun++;
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const more = () => {
    let room = true;
    while (room && !response.destroyed) room = response.write(chunk);
  };
  response.on('drain', more);
  response.on('finish', () => whole++);
  response.on('close', () => brokenOff++);
  response.writeHead(200, { 'content-type': 'application/json' });
  more();
}

beforeAll(async () => {
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE']);
  gateway = await startStandalone({ controllers: engine.url });
});

afterAll(async () => {
  await gateway.stop();
  await engine.close();
});

/** Sends a query, reads `wanted` pieces of its response, and disconnects after `leave`. */
async function askAndLeave(wanted: number, leave: Promise<void> = Promise.resolve()): Promise<void> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const head = [
    'POST /query/sql HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${gateway.token}`,
    'Content-Type: application/json',
    `Content-Length: ${BODY.length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${BODY}`);
  for (let piece = 0; piece < wanted; piece++) {
    const [data] = (await once(socket, 'data')) as [Buffer];
    if (piece === 0) expect(data.subarray(0, 15).toString()).toBe('HTTP/1.1 200 OK');
  }
  await leave;
  socket.destroy();
}

describe('clients that disconnect', () => {
  it('during a response free the engine, and other clients are served', async () => {
    engine.answers.set('POST /query/sql', (_request, response) => endless(response));
    for (let client = 0; client < CLIENTS; client += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => askAndLeave(1 + (i % 5))));
      await until('the engine is free', () => brokenOff === client + AT_ONCE);
    }
    expect({ begun, brokenOff, whole }).toEqual({ begun: CLIENTS, brokenOff: CLIENTS, whole: 0 });
    engine.json('POST /query/sql', { resultTable: { rows: [[1]] } });
    const answer = await gateway.call('POST', '/query/sql', BODY);
    expect([answer.status, await answer.json()]).toEqual([200, { resultTable: { rows: [[1]] } }]);
  });

  it('before the engine responds free it, too', async () => {
    let left = 0;
    let asked = 0;
    engine.answers.set('POST /query/sql', (_request, response) => {
      asked++;
      response.on('close', () => left++);
    });
    for (let round = 0; round < 4; round++) {
      const wanted = asked + AT_ONCE;
      const allAsked = until('the engine has all queries', () => asked === wanted);
      await Promise.all(Array.from({ length: AT_ONCE }, () => askAndLeave(0, allAsked)));
      await until('the engine is free', () => left === wanted);
    }
    // At any time, also before the engine has the query.
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => askAndLeave(0, sleep(i))));
    await until('the engine is free again', () => left === asked);
    engine.json('POST /query/sql', {});
    expect((await gateway.call('POST', '/query/sql', BODY)).status).toBe(200);
  });

  it('that stay connected without reading slow the engine down and use no memory of the gateway', async () => {
    let written = 0;
    engine.answers.set('POST /query/sql', (_request, response) => {
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const more = () => {
        let room = true;
        while (room && !response.destroyed) {
          written += chunk.length;
          room = response.write(chunk);
        }
      };
      response.on('drain', more);
      response.writeHead(200);
      more();
    });
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    const head = `POST /query/sql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}Content-Length: ${BODY.length}\r\n\r\n${BODY}`);
    await once(socket, 'readable');
    let last = -1;
    while (written !== last) {
      last = written;
      await sleep(300);
    }
    // The kernel's buffers of two connections, and the gateway's limit.
    expect(written).toBeLessThan(24 * 1024 * 1024);
    socket.resume();
    await until('the engine continues', () => written > last * 2);
    socket.destroy();
  });
});
