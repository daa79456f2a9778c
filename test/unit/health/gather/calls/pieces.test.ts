import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEngine } from '../../../../../src/pinot/connection.ts';
import type { Engine, EngineRequest } from '../../../../../src/pinot/types.ts';
import { askForPieces, type PieceConsumer } from '../../../../../src/health/gather/calls/pieces.ts';

let server: Server;
let engine: Engine;
let answer: RequestListener;
let over: AbortController;

beforeEach(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  engine = createEngine({ controllerUrls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`] });
  over = new AbortController();
});

afterEach(async () => {
  await engine.close();
  server.closeAllConnections();
  server.close();
});

const request = (): EngineRequest & { signal: AbortSignal } => ({ method: 'GET', path: '/', signal: over.signal });
const ask = <T>(consumer: PieceConsumer<T>) => askForPieces(engine.controller, request(), consumer);

/** Keeps every piece until the end. */
function keeping(): PieceConsumer<Buffer[]> {
  const pieces: Buffer[] = [];
  return {
    push: (piece) => void pieces.push(piece),
    end: () => pieces,
  };
}

const hashes = (pieces: readonly Buffer[]): string => Buffer.concat(pieces).toString('base64');

describe('a response in pieces', () => {
  it('is complete, and kept pieces do not change while others are received', async () => {
    const bodies = [1, 2, 3].map((n) => Buffer.alloc(900_000 + n, `${n} 2 3 `));
    let next = 0;
    answer = (_, response) => void response.end(bodies[next++]);
    const kept: Buffer[][] = [];
    for (const body of bodies) {
      const delivered = await ask(keeping());
      if (!('value' in delivered)) throw new Error(`status ${delivered.status}`);
      kept.push(delivered.value);
      expect(hashes(delivered.value)).toBe(body.toString('base64'));
    }
    expect(kept.map(hashes)).toEqual(bodies.map((body) => body.toString('base64')));
  });

  it('has the status and the text of an error', async () => {
    answer = (_, response) => void response.writeHead(404).end('{"error":"no such table"}');
    expect(await ask(keeping())).toEqual({ status: 404, text: '{"error":"no such table"}' });
  });

  it('rejects with an error of the consumer, on a piece and at the end', async () => {
    answer = (_, response) => void response.end(Buffer.alloc(3_000_000));
    const wrong = new Error('this is not JSON');
    const refuse = (): never => {
      throw wrong;
    };
    await expect(ask({ push: refuse, end: () => 1 })).rejects.toBe(wrong);
    await expect(ask({ push: () => undefined, end: refuse })).rejects.toBe(wrong);
  });

  it('rejects if the response ends unexpectedly', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': 1_000_000 });
      response.write('x'.repeat(1_000), () => response.destroy());
    };
    await expect(ask(keeping())).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('rejects when it is aborted, before and during the response', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': 1_000_000 });
      response.write('x'.repeat(1_000));
    };
    const within = ask({
      push: () => over.abort(),
      end: () => 1,
    });
    await expect(within).rejects.toMatchObject({ code: 'aborted' });
    await expect(ask(keeping())).rejects.toMatchObject({ name: 'EngineError' });
  });
});
