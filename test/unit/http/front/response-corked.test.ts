import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LaneResponse } from '../../../../src/http/front/lane.ts';
import { type Client, FrontServer, requestOf } from './front-server.ts';

let front: FrontServer;
let client: Client;
let response: LaneResponse;
let closes: number;

beforeEach(async () => {
  front = await new FrontServer().listen();
  front.take = (_request, given) => {
    response = given;
    closes = 0;
    response.on('close', () => closes++);
    return true;
  };
  client = await front.client();
  await client.send(requestOf('/lane'));
});

afterEach(() => front.close());

describe('an answer that was corked', () => {
  it('goes out with its end though it was corked and nobody uncorks it, as Node’s own', async () => {
    response.cork();
    response.writeHead(200, { 'content-length': 1 });
    response.end('x');
    for (let i = 0; i < 50; i++) await turn();
    expect(client.answers.map(({ body }) => body)).toEqual(['x']);
  });

  it('tells of `drain` where what had been corked must wait', async () => {
    const drained = vi.fn();
    client.socket.pause();
    response.on('drain', drained);
    response.writeHead(200, {});
    const piece = Buffer.alloc(30_000);
    // The system has all it takes, and less waits than would be told of.
    while (response.writableLength === 0) response.write(piece);
    expect(response.writableNeedDrain).toBe(false);
    response.cork();
    response.write(piece);
    response.write(piece);
    response.uncork();
    expect(response.writableNeedDrain).toBe(true);
    client.socket.resume();
    for (let i = 0; i < 2000 && drained.mock.calls.length === 0; i++) await turn();
    expect(drained).toHaveBeenCalledTimes(1);
  });

  it('tells of each piece where the connection goes while it is corked', async () => {
    const done = vi.fn();
    response.writeHead(200, {});
    response.cork();
    response.write(Buffer.from('x'), done);
    client.served.destroy();
    await vi.waitUntil(() => closes > 0);
    for (let i = 0; i < 20; i++) await turn();
    expect(done).toHaveBeenCalledTimes(1);
  });
});
