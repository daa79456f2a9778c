import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { FileSender } from '../../../../src/http/front/file-sender.ts';
import { putFilePage, writePage } from '../../../../src/http/query/send.ts';
import type { WholePage } from '../../../../src/query/page.ts';
import type { RowFile } from '../../../../src/query/result-store.ts';
import { FrontServer, requestOf } from '../front/front-server.ts';

const PIECE = Buffer.alloc(1024 * 1024, 'a');

/** Pages of that many MB. */
function pageOf(pieces: number): WholePage {
  const rows = Array.from({ length: pieces }, () => PIECE);
  return { head: Buffer.from('<'), rows, tail: Buffer.from('>'), length: 2 + pieces * PIECE.length, numRows: 1 };
}

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

/** Serves one page and tells what became of it. */
async function serve(page: WholePage, stallMs: number): Promise<{ port: number; outcome: Promise<boolean> }> {
  const { promise: outcome, resolve } = Promise.withResolvers<boolean>();
  const listening = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': page.length });
    resolve(writePage(response, page, stallMs));
  });
  server = listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return { port: (listening.address() as AddressInfo).port, outcome };
}

describe('a page on its way', () => {
  it('is left where its caller takes nothing, so that it holds no memory for good', async () => {
    const { port, outcome } = await serve(pageOf(64), 200);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined).pause();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await outcome).toBe(false);
    socket.destroy();
  });

  it('goes on for a caller that is slow but reads', async () => {
    const { port, outcome } = await serve(pageOf(32), 300);
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes % 7 === 0) {
        socket.pause();
        setTimeout(() => socket.resume(), 20);
      }
    });
    expect(await outcome).toBe(true);
    await expect.poll(() => bytes).toBeGreaterThan(32 * PIECE.length);
    socket.destroy();
  });

  it.each([0, 1])('is whole, however small (%i MB)', async (pieces) => {
    const { port, outcome } = await serve(pageOf(pieces), 1000);
    const text = await (await fetch(`http://127.0.0.1:${port}`)).text();
    expect([text.length, text.at(0), text.at(-1)]).toEqual([2 + pieces * PIECE.length, '<', '>']);
    expect(await outcome).toBe(true);
  });
});

describe('a page whose rows are in a file', () => {
  const file: RowFile = {
    readNow: () => PIECE,
    send: () => 0,
    readInto: async (buffer, from, to) => buffer.subarray(0, to - from),
  };
  const none: FileSender = { head: () => 0, file: () => 0 };

  it.each([
    ['is left where its caller takes nothing', 16 * 1024 * 1024, 200, false],
    ['goes out to one that does, however long that connection then asks nothing', 100_000, 50, true],
  ])('%s', async (_what, length, stallMs, whole) => {
    const front = await new FrontServer(undefined, 5_000, none).listen();
    const outcome = Promise.withResolvers<boolean>();
    front.take = (_request, response) => {
      response.once('close', () => outcome.resolve(response.writableFinished));
      const rows = { file, from: 0, to: length };
      response.writeHead(200, { 'content-length': length + 2 });
      const page = { head: Buffer.from('<'), rows, tail: Buffer.from('>'), length: length + 2, numRows: 1 };
      putFilePage(response, page, (error) => outcome.reject(error), stallMs);
      return true;
    };
    const client = await front.client();
    if (!whole) client.socket.pause();
    await client.send(requestOf('/'));
    expect(await outcome.promise).toBe(whole);
    if (whole) {
      expect((await client.next())[0]?.body).toHaveLength(length + 2);
      await sleep(4 * stallMs);
      expect(client.closed).toBe(false);
    }
    await front.close();
  });
});
