// @module-tag slow
import { describe, expect, it } from 'vitest';
import { execute } from '../../support/execute.ts';

/** For a busy machine. The process ends by itself. */
const LIMIT_MS = 50_000;

// A server that sends a body and closes the connection; a caller that reads only the status.
const UNREAD = `
import { createServer } from 'node:net';
const server = createServer((socket) => {
  socket.once('data', () => {
    socket.write('HTTP/1.1 503 Service Unavailable\\r\\nContent-Length: 65536\\r\\nConnection: close\\r\\n\\r\\n');
    socket.end(Buffer.alloc(65536, 97));
  });
});
server.listen(0, '127.0.0.1', async () => {
  const answer = await fetch('http://127.0.0.1:' + server.address().port);
  setTimeout(() => { console.log(answer.status); process.exit(0); }, 500);
});`;

describe('the global fetch', () => {
  it('keeps the process running when a server closes the connection before the response is read', async () => {
    const args = [
      '--import',
      new URL('../../../src/platform/fetch.ts', import.meta.url).href,
      '--input-type=module',
      '--eval',
      UNREAD,
    ];
    const { stdout } = await execute(process.execPath, args, { timeout: LIMIT_MS });
    expect(stdout.trim()).toBe('503');
  });
});
