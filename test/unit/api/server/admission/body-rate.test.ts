import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Admission } from '../../../../../src/api/server/admission/admission.ts';
import { BODIES } from '../../../../../src/api/server/admission/min-rate.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { once } from '../../../../support/once.ts';

const RATE = 100;

let clock: FakeClock;
let server: Server;
let refused: string[];
let socket: Socket;
let answers: string;

beforeEach(async () => {
  clock = new FakeClock();
  refused = [];
  answers = '';
  const onRefusal = (limit: string): unknown => refused.push(limit);
  const metrics = { watch: () => undefined, onStart: () => undefined, onRefusal };
  const admission = new Admission({ clock, connections: { total: 10 }, minRates: { body: RATE, reader: 0 }, metrics });
  const listener = admission.listener((request, response) => {
    request.on('error', () => undefined).resume();
    request.on('end', () => {
      if (request.url === '/now') response.end('.');
    });
  });
  server = createServer(admission.serverOptions, listener);
  server.on('clientError', (_error, client) => void client.destroy());
  admission.attach(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined).on('data', (bytes) => (answers += String(bytes)));
});
afterEach(() => {
  socket.destroy();
  server.closeAllConnections();
  server.close();
});

async function send(bytes: string): Promise<void> {
  const before = socket.bytesWritten;
  socket.write(bytes);
  await expect.poll(() => socket.bytesWritten).toBeGreaterThan(before);
  await settle();
}

async function seconds(count: number): Promise<void> {
  for (let second = 0; second < count; second++) await clock.advance(1_000);
}

const head = (path: string, bytes: number): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`;
const answered = (): number => answers.split('HTTP/1.1 200 OK').length - 1;

describe('the body of a request', () => {
  it('must arrive at the minimum rate', async () => {
    const begun = once(server, 'request');
    await send(head('/now', 1_000));
    await begun;
    await seconds(BODIES.graceSeconds - 2);
    expect(refused).toEqual([]);
    await seconds(10);
    expect(refused).toEqual(['body-rate']);
  });

  it('must arrive at the minimum rate on a connection whose earlier requests were complete', async () => {
    await send(`${head('/now', 1)}x`);
    await expect.poll(answered).toBe(1);
    await seconds(600);
    const begun = once(server, 'request');
    await send(head('/now', 1_000));
    await begun;
    await seconds(2 * BODIES.graceSeconds);
    expect(refused).toEqual(['body-rate']);
  });

  it.each(['GET /later HTTP/1.1\r\nhost: x\r\n\r\n', head('/later', 0), `${head('/later', 1)}x`])(
    'is not waited for where it is complete, however long the response takes: %j',
    async (request) => {
      const begun = once(server, 'request');
      await send(request);
      await begun;
      await settle();
      await seconds(600);
      expect(refused).toEqual([]);
    },
  );
});
