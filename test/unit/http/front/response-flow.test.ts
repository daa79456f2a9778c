import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LaneResponse } from '../../../../src/http/front/lane.ts';
import { type Client, FrontServer, requestOf } from './front-server.ts';

/** More than the sockets between the two hold. */
const LARGE = 16 * 1024 * 1024;

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

const state = ({ headersSent, writableEnded, writableFinished, destroyed }: LaneResponse): boolean[] => [
  headersSent,
  writableEnded,
  writableFinished,
  destroyed,
];

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}

const sizes = [0, 1, 40_000, 300, 0, LARGE, 10];

describe('the pieces of an answer', () => {
  it.each([
    ['of known length', { 'content-length': sizes.reduce((sum, size) => sum + size) }],
    ['in chunks', {}],
  ])('are told of once each when they have gone, in order, and then the end: %s', async (_what, headers) => {
    const order: (number | string)[] = [];
    response.once('close', () => order.push('close'));
    response.writeHead(200, headers);
    for (const [i, size] of sizes.slice(0, -1).entries()) {
      if (i === 1 || i === 4) response.cork();
      response.write(Buffer.alloc(size), () => order.push(i));
      if (i === 2 || i === 5) response.uncork();
    }
    response.end(Buffer.alloc(sizes.at(-1) ?? 0), () => order.push('end'));
    expect(order).toEqual([]);
    expect(state(response)).toEqual([true, true, false, false]);
    await until(() => closes > 0);
    expect(state(response)).toEqual([true, true, true, true]);
    expect(order.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([0, 1, 2, 3, 4, 5, 'close', 'end']);
    // Empty ones have nothing to wait for.
    expect(order.filter((of) => ![0, 4].includes(of as number))).toEqual([1, 2, 3, 5, 'end', 'close']);
    await client.settle();
    expect(closes).toBe(1);
  });

  it.each([
    ['its client', () => client.socket.resetAndDestroy()],
    ['the lane', () => void response.destroy()],
    ['the server', () => front.server.closeAllConnections()],
  ])('are told of once each where the connection is broken off by %s', async (_what, breakOff) => {
    const dones = Array.from({ length: 8 }, () => vi.fn());
    response.writeHead(200, {});
    for (const [i, done] of dones.slice(0, 5).entries()) response.write(Buffer.alloc(sizes[i + 2] ?? 5), done);
    breakOff();
    response.write(Buffer.alloc(10), dones[5]);
    response.write(Buffer.alloc(LARGE), dones[6]);
    await until(() => closes > 0);
    response.end(Buffer.alloc(10), dones[7]);
    await client.settle();
    for (const [i, done] of dones.entries()) expect(done, `piece ${i}`).toHaveBeenCalledTimes(1);
    expect(closes).toBe(1);
    expect([response.destroyed, response.writableFinished]).toEqual([true, false]);
  });

  it('are told of once each where the end has been given, and has not gone', async () => {
    const done = vi.fn();
    const ended = vi.fn();
    response.writeHead(200, { 'content-length': LARGE + 1 });
    response.write(Buffer.alloc(LARGE), done);
    response.end('x', ended);
    client.socket.resetAndDestroy();
    await until(() => closes > 0);
    await client.settle();
    expect([done.mock.calls.length, ended.mock.calls.length, closes]).toEqual([1, 1, 1]);
    expect(response.writableFinished).toBe(false);
  });

  it.each([200, 204])('are told of though they are nothing, with status %s', async (status) => {
    const done = vi.fn();
    response.writeHead(status, {});
    response.write(Buffer.alloc(status === 204 ? 1 : 0), done);
    response.end('', done);
    await until(() => closes > 0);
    expect(done).toHaveBeenCalledTimes(2);
  });

  it('go out as one where they are corked', async () => {
    const write = vi.spyOn(client.served, 'write');
    response.writeHead(200, {});
    response.cork();
    for (const letter of 'ab') response.write(Buffer.from(letter));
    response.cork();
    response.write(Buffer.from('c'));
    response.uncork();
    expect(write).not.toHaveBeenCalled();
    response.end('d');
    response.uncork();
    expect(write).toHaveBeenCalledTimes(1);
    await until(() => closes > 0);
    await until(() => client.received.endsWith('1\r\na\r\n1\r\nb\r\n1\r\nc\r\n1\r\nd\r\n0\r\n\r\n'));
  });

  it('are not sent behind the end', async () => {
    const done = vi.fn();
    response.writeHead(200, { 'content-length': 1 });
    response.end('x');
    response.write(Buffer.from('y'), done);
    response.end('z', done);
    await until(() => closes > 0);
    response.write(Buffer.from('y'), done);
    response.end('z', done);
    await client.settle();
    expect(done).toHaveBeenCalledTimes(4);
    expect((await client.next())[0]?.body).toBe('x');
    expect([client.received, closes]).toEqual(['', 1]);
  });

  it('are not changed by what is written to their memory once they have gone', async () => {
    response.writeHead(200, {});
    const piece = Buffer.alloc(LARGE, 'a');
    response.write(piece, () => piece.fill('b'));
    response.end();
    await until(() => client.received.endsWith('0\r\n\r\n'));
    expect([client.received.includes('b\r\n0'), client.received.includes('aab')]).toEqual([false, false]);
    expect(client.received.length).toBeGreaterThan(LARGE);
  });

  it('of two answers in turn are not mixed, though their memory is used again', async () => {
    const other = await front.client();
    for (let i = 0; i < 20; i++) {
      const answers: LaneResponse[] = [];
      front.take = (_request, given) => answers.push(given) > 0;
      if (i === 0) answers.push(response);
      else await client.send(requestOf('/lane'));
      await other.send(requestOf('/lane'));
      const letters = ['a', 'b'];
      for (const [j, answer] of answers.entries()) {
        answer.writeHead(200, { 'content-length': 60_000 });
        answer.write(Buffer.alloc(30_000, letters[j]));
      }
      for (const [j, answer] of answers.entries()) answer.end(Buffer.alloc(30_000, letters[j]));
      const bodies = [(await client.next())[0]?.body, (await other.next())[0]?.body];
      expect(bodies.map((body, j) => body === letters[j]?.repeat(60_000))).toEqual([true, true]);
    }
  });
});

describe('a client that reads slowly', () => {
  it('is waited for, and the lane told to go on each time', async () => {
    client.socket.pause();
    response.writeHead(200, {});
    const chunk = Buffer.alloc(256 * 1024, 'x');
    let drains = 0;
    let written = 0;
    response.on('drain', () => drains++);
    // What the system takes at once is not waiting.
    const fill = (): void => {
      for (let goesOn = true; goesOn || response.writableLength === 0; written++) goesOn = response.write(chunk);
    };
    for (let round = 1; round <= 3; round++) {
      fill();
      expect([response.writableNeedDrain, response.writableLength > 0, drains]).toEqual([true, true, round - 1]);
      client.socket.resume();
      await until(() => drains === round);
      expect(response.writableNeedDrain).toBe(false);
      client.socket.pause();
    }
    client.socket.resume();
    response.end();
    await until(() => client.received.endsWith('\r\n0\r\n\r\n'));
    expect(client.received.match(/x/g)).toHaveLength(written * chunk.length);
  });

  it('is not told of to a lane that is done, and the next answer is as any', async () => {
    const drained = vi.fn();
    client.socket.pause();
    response.on('drain', drained);
    response.writeHead(200, { 'content-length': LARGE });
    response.write(Buffer.alloc(LARGE / 2));
    response.end(Buffer.alloc(LARGE / 2));
    client.socket.resume();
    await client.next();
    await until(() => closes > 0);
    drained.mockClear();
    const before = client.served.listenerCount('drain');
    await client.send(requestOf('/lane'));
    response.writeHead(200, { 'content-length': LARGE });
    response.end(Buffer.alloc(LARGE));
    await client.next();
    await until(() => closes > 0);
    expect(drained).not.toHaveBeenCalled();
    expect(client.served.listenerCount('drain')).toBe(before);
  });

  it('leaves no listeners behind, however many answers a connection has', async () => {
    const names = ['data', 'drain', 'timeout', 'close', 'error', 'end', 'finish'];
    const counts = (): number[] => names.map((name) => client.served.listenerCount(name));
    const before = counts();
    for (let i = 0; i < 5; i++) {
      if (i > 0) await client.send(requestOf('/lane'));
      response.setTimeout(1_000, () => undefined);
      response.setTimeout(2_000, () => undefined);
      response.writeHead(200, { 'content-length': LARGE / 8 });
      response.write(Buffer.alloc(LARGE / 8));
      response.end();
      await client.next();
      await until(() => closes > 0);
    }
    expect(counts()).toEqual(before);
  });
});

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
