import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { writePage } from '../../../../../src/api/queries/data-plane/send.ts';
import { disconnectStalledReader } from '../../../../../src/api/server/admission/reader.ts';
import type { WholePage } from '../../../../../src/results/page.ts';
import { once } from '../../../../support/once.ts';

const PIECE = Buffer.alloc(1024 * 1024, 'a');

/** A page of the given size in MB. */
function pageOf(pieces: number): WholePage {
  const rows = Array.from({ length: pieces }, () => PIECE);
  const length = 2 + pieces * PIECE.length;
  return { head: Buffer.from('<'), rows, tail: Buffer.from('>'), length, numRows: 1, nextUrl: undefined };
}

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

/** Serves one page. @returns the port, and the result of `writePage` */
async function serve(page: WholePage, stallMs: number): Promise<{ port: number; outcome: Promise<boolean> }> {
  const { promise: outcome, resolve } = Promise.withResolvers<boolean>();
  const listening = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': page.length });
    disconnectStalledReader(response, () => undefined, stallMs);
    resolve(writePage(response, page));
  });
  server = listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return { port: (listening.address() as AddressInfo).port, outcome };
}

describe('sending a page', () => {
  it('is aborted if the client reads nothing, so that it does not hold memory', async () => {
    const { port, outcome } = await serve(pageOf(64), 200);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined).pause();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await outcome).toBe(false);
    socket.destroy();
  });

  it('continues for a slow client', async () => {
    const stallMs = 1_000;
    const { port, outcome } = await serve(pageOf(48), stallMs);
    const socket = connect(port, '127.0.0.1');
    const startedAt = performance.now();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    let bytes = 0;
    let pauses = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= pauses * PIECE.length) return;
      pauses++;
      socket.pause();
      setTimeout(() => socket.resume(), 40);
    });
    expect(await outcome).toBe(true);
    // Longer than without any progress.
    expect(performance.now() - startedAt).toBeGreaterThan(stallMs);
    await expect.poll(() => bytes).toBeGreaterThan(48 * PIECE.length);
    socket.destroy();
  });

  it.each([0, 1])('is complete for small pages (%i MB)', async (pieces) => {
    const { port, outcome } = await serve(pageOf(pieces), 1000);
    const text = await (await fetch(`http://127.0.0.1:${port}`)).text();
    expect([text.length, text.at(0), text.at(-1)]).toEqual([2 + pieces * PIECE.length, '<', '>']);
    expect(await outcome).toBe(true);
  });
});
