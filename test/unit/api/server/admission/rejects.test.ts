import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setInterval } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { Admission } from '../../../../../src/api/server/admission/admission.ts';
import { Rejects } from '../../../../../src/api/server/admission/rejects.ts';
import { createLogger } from '../../../../../src/platform/logging.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { once } from '../../../../support/once.ts';

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

it.each(['CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n', 'GARBAGE\r\n\r\n'])(
  'a client that goes on sending after its response is disconnected: %j',
  async (bytes) => {
    const clock = new FakeClock();
    const connections = { total: 10, perAddress: 10 };
    const admission = new Admission({ clock, connections, minRates: { body: 0, reader: 0 } });
    const rejects = new Rejects({ clock, log: createLogger('silent') });
    const closed = Promise.withResolvers<void>();
    server = createServer();
    admission.attach(server);
    rejects.attach(server);
    server.on('clientError', rejects.clientError);
    server.on('connection', (socket) => socket.once('close', closed.resolve));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.write(bytes);
    await once(socket, 'data');
    socket.write('x');
    await clock.advance(5_000);
    const sending = new AbortController();
    const sent = (async () => {
      for await (const _ of setInterval(20, undefined, { signal: sending.signal })) socket.write('x');
    })().catch(() => undefined);
    try {
      await Promise.race([closed.promise, once(socket, 'close')]);
      expect(clock.timers).toBe(0);
    } finally {
      sending.abort();
      await sent;
      socket.destroy();
    }
  },
);
