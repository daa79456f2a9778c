import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { writePage } from '../../../../../src/api/queries/data-plane/send.ts';
import { Admission } from '../../../../../src/api/server/admission/admission.ts';
import { disconnectStalledReaders } from '../../../../../src/api/server/admission/min-rate.ts';
import type { WholePage } from '../../../../../src/results/rows/page.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { once } from '../../../../support/once.ts';

/** A client that takes nothing for this long, or twice as long, is disconnected. */
const STALL_MS = 1000;
const PAUSE_MS = 50;
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
async function serve(page: WholePage): Promise<{ port: number; outcome: Promise<boolean> }> {
  const { promise: outcome, resolve } = Promise.withResolvers<boolean>();
  const admission = new Admission({ clock: new FakeClock(), connections: { total: 10, perAddress: 10 } });
  const listening = createServer(
    admission.listener((_request, response) => {
      response.writeHead(200, { 'content-length': page.length });
      resolve(writePage(response, page));
    }),
  );
  disconnectStalledReaders(listening, () => undefined, STALL_MS);
  server = listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return { port: (listening.address() as AddressInfo).port, outcome };
}

describe('sending a page', () => {
  it('is aborted if the client reads nothing, so that it does not hold memory', async () => {
    const { port, outcome } = await serve(pageOf(64));
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined).pause();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await outcome).toBe(false);
    socket.destroy();
  });

  it('continues for a client that pauses', async () => {
    const { port, outcome } = await serve(pageOf(48));
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    let bytes = 0;
    let pauses = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= pauses * 8 * PIECE.length) return;
      pauses++;
      socket.pause();
      setTimeout(() => socket.resume(), PAUSE_MS);
    });
    expect(await outcome).toBe(true);
    await expect.poll(() => bytes).toBeGreaterThan(48 * PIECE.length);
    expect(pauses).toBeGreaterThan(3);
    socket.destroy();
  });

  it.each([0, 1])('is complete for small pages (%i MB)', async (pieces) => {
    const { port, outcome } = await serve(pageOf(pieces));
    const text = await (await fetch(`http://127.0.0.1:${port}`)).text();
    expect([text.length, text.at(0), text.at(-1)]).toEqual([2 + pieces * PIECE.length, '<', '>']);
    expect(await outcome).toBe(true);
  });
});
