import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { hasBody } from '../../../../../src/api/server/admission/body-rate.ts';
import { once } from '../../../../support/once.ts';

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

it.each([
  ['GET / HTTP/1.1\r\nhost: x\r\n\r\n', false],
  ['POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n', false],
  ['POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n', true],
  ['POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n', true],
])('only requests with a body are watched: %j', async (bytes, watched) => {
  server = createServer((request, response) => {
    response.end(String(hasBody(request)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(bytes);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  expect(String(answer)).toMatch(new RegExp(`${watched}(\\r\\n0\\r\\n\\r\\n)?$`));
});
