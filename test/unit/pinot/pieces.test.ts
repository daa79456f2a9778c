import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createEngine } from '../../../src/pinot/connection.ts';
import { requestPieces } from '../../../src/pinot/pieces.ts';
import type { EngineEndpoint, EngineResponse } from '../../../src/pinot/types.ts';
import { MemoryStore } from '../../../src/results/stores/memory/memory-store.ts';
import { storeResponse } from '../../../src/results/submit/submit.ts';
import { answerText, submission } from '../results/answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const MB = 1024 * 1024;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(listener: RequestListener): Promise<{ endpoint: EngineEndpoint; server: Server }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const engine = createEngine({ controllerUrls: [url] });
  closers.push(
    () => server.close(),
    () => engine.close(),
  );
  return { endpoint: engine.controller, server };
}

const ask = (endpoint: EngineEndpoint, path = '/', signal?: AbortSignal): Promise<EngineResponse> =>
  requestPieces(endpoint, { method: 'POST', path, body: '{}', ...(signal && { signal }) });

/** Waits before each piece, like a slow store, and copies the piece only after the wait. */
async function collect(pieces: AsyncIterable<Uint8Array> | undefined, pause: () => Promise<unknown>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const piece of pieces ?? []) {
    await pause();
    parts.push(Buffer.from(piece));
  }
  return Buffer.concat(parts);
}

/** Bytes that identify the response they belong to. */
const bytesOf = (name: string): Buffer => Buffer.alloc(3 * MB, `${name} is what this says; `);

describe('a response in pieces', () => {
  it('is separate from concurrent responses, also slow ones', { tags: 'slow' }, async () => {
    const { endpoint } = await serve((request, response) => {
      const bytes = bytesOf(request.url ?? '');
      const chunked = request.url?.endsWith('chunked') === true;
      response.writeHead(200, chunked ? {} : { 'content-length': bytes.length });
      for (let at = 0; at < bytes.length; at += 50_001) response.write(bytes.subarray(at, at + 50_001));
      response.end();
    });
    const names = Array.from({ length: 12 }, (_, i) => `/${i}${i % 2 === 0 ? 'chunked' : ''}`);
    const read = await Promise.all(
      names.map(async (name, i) => {
        const { pieces } = await ask(endpoint, name);
        return collect(pieces, i % 3 === 0 ? () => sleep(2) : turn);
      }),
    );
    for (const [i, name] of names.entries()) expect(read[i]?.equals(bytesOf(name)), name).toBe(true);
  });

  it('has the status and the headers by lower-case names, and the same bytes as a stream', async () => {
    const { endpoint } = await serve((_, response) => {
      response.writeHead(404, { 'X-One': 'a', 'Set-Cookie': ['b=1', 'c=2'] });
      response.end('no such table');
    });
    const { status, headers, body } = await ask(endpoint);
    expect(status).toBe(404);
    expect(headers).toMatchObject({ 'x-one': 'a', 'set-cookie': ['b=1', 'c=2'] });
    expect(String(Buffer.concat(await body.toArray()))).toBe('no such table');
  });

  it('applies backpressure to the engine while no piece is requested', async () => {
    let sent = 0;
    const { endpoint } = await serve((_, response) => {
      const piece = Buffer.alloc(64 * 1024, 1);
      const more = (): void => {
        for (;;) {
          if (sent >= 64 * MB) return void response.end();
          sent += piece.length;
          if (!response.write(piece)) return void response.once('drain', more);
        }
      };
      more();
    });
    const { pieces } = await ask(endpoint);
    const iterator = pieces?.[Symbol.asyncIterator]();
    expect((await iterator?.next())?.done).toBe(false);
    let before = -1;
    await expect
      .poll(async () => {
        const unchanged = sent === before;
        before = sent;
        await sleep(100);
        return unchanged && sent === before;
      })
      .toBe(true);
    // Only the buffers of the system on both sides, and little more.
    expect(sent).toBeLessThan(32 * MB);
    let bytes = 0;
    for (;;) {
      const next = await iterator?.next();
      if (next?.done !== false) break;
      bytes += next.value.length;
    }
    expect(bytes).toBeGreaterThan(63 * MB);
  });

  it.each([
    ['not read', async ({ pieces }: EngineResponse) => void pieces?.destroy()],
    ['an unread stream', async ({ body }: EngineResponse) => void body.destroy()],
    [
      'read partially',
      async ({ pieces }: EngineResponse) => {
        for await (const piece of pieces ?? []) if (piece.length > 0) break;
      },
    ],
    [
      'a partially read stream',
      async ({ body }: EngineResponse) => {
        for await (const piece of body) if ((piece as Buffer).length > 0) break;
      },
    ],
  ])('aborts the engine’s request if it is %s', async (_, leave) => {
    const left = Promise.withResolvers<void>();
    const { endpoint } = await serve((_request, response) => {
      response.write(Buffer.alloc(MB));
      response.once('close', left.resolve);
    });
    await leave(await ask(endpoint));
    await left.promise;
  });

  it('is aborted with its caller, before and after the headers', async () => {
    const reached: string[] = [];
    const left = Promise.withResolvers<void>();
    const { endpoint } = await serve((request, response) => {
      reached.push(request.url ?? '');
      response.once('close', left.resolve);
      if (request.url === '/late') response.write(Buffer.alloc(1000));
    });
    const early = new AbortController();
    const never = ask(endpoint, '/never', early.signal);
    await expect.poll(() => reached).toEqual(['/never']);
    early.abort();
    await expect(never).rejects.toMatchObject({ code: 'aborted' });

    const late = new AbortController();
    const { pieces } = await ask(endpoint, '/late', late.signal);
    const read = collect(pieces, turn);
    await sleep(20);
    late.abort();
    await expect(read).rejects.toThrow('aborted');
    await left.promise;
    await expect(ask(endpoint, '/', AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
    expect(reached).toEqual(['/never', '/late']);
  });

  it('fails after the received bytes if it ends unexpectedly', async () => {
    const { endpoint } = await serve((_, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('the beginning', () => response.destroy());
    });
    const { pieces } = await ask(endpoint);
    let came = '';
    const reading = (async () => {
      for await (const piece of pieces ?? []) came += Buffer.from(piece).toString();
    })();
    await expect(reading).rejects.toThrow('ended unexpectedly');
    expect(came).toBe('the beginning');
  });

  it.each(['identity', 'gzip'])('is stored (content coding %s)', { tags: 'slow' }, async (coding) => {
    const rows = Array.from({ length: 50_000 }, (_, i) => `[${i},"${String(i).repeat(9)}"]`);
    const text = answerText(rows);
    const { endpoint } = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': coding });
      response.end(coding === 'gzip' ? gzipSync(text) : text);
    });
    const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
    const store = new MemoryStore({ maxBytes: 64 * MB });
    const outcome = await storeResponse(await ask(endpoint), store, submission(), signal);
    if (outcome.kind !== 'stored') throw new Error('not stored');
    const { record } = outcome.reader;
    expect(record.rowCount).toBe(50_000);
    const stored = Buffer.concat(await outcome.reader.read(0, record.rowBytes, signal));
    expect(stored.equals(Buffer.from(rows.join(',')))).toBe(true);
  });
});
