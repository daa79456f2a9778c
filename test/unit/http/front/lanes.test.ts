import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LaneRequest, LaneResponse } from '../../../../src/http/front/lane.ts';
import { FrontServer, requestOf } from './front-server.ts';

let front: FrontServer;
/** What the lane has taken, in order. */
let taken: { request: LaneRequest; response: LaneResponse; longWay: () => void; closes: number }[];

/** A lane that takes, and does nothing until a test does. */
function hold(): void {
  front.take = (request, response, longWay) => {
    if (!request.url.startsWith('/held')) return request.url.startsWith('/lane') && front.answer(request, response);
    const held = { request, response, longWay, closes: 0 };
    response.on('close', () => held.closes++);
    return taken.push(held) > 0;
  };
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  front = await new FrontServer().listen();
  taken = [];
  hold();
});

afterEach(async () => {
  vi.useRealTimers();
  await front.close();
});

const urls = (): string[] => front.seen.map(({ by, url, body }) => `${by} ${url} ${body}`);
const HELD = requestOf('/held', 'body');

describe('a lane', () => {
  it('that declines late leaves the whole request to Node’s server, and the next one is shown to it', async () => {
    const client = await front.client();
    for (let i = 0; i < 3; i++) {
      await client.send(HELD);
      expect(urls()).toEqual([]);
      taken.at(-1)?.longWay();
      expect(await client.next()).toMatchObject([{ body: 'node POST /held body' }]);
      expect(await client.ask(requestOf('/lane'))).toMatch('lane GET /lane');
      expect(urls()).toEqual(['node /held body', 'lane /lane ']);
      front.seen.length = 0;
    }
  });

  it('that declines late is not asked for what came meanwhile', async () => {
    const client = await front.client();
    await client.send(HELD);
    await client.send(requestOf('/lane/next', 'next'));
    taken[0]?.longWay();
    const answers = await client.next(2);
    expect(answers.map(({ body }) => body)).toEqual(['node POST /held body', 'node POST /lane/next next']);
    expect(taken).toHaveLength(1);
  });

  it('that declines twice, or what it has answered, is not heard', async () => {
    const client = await front.client();
    await client.send(HELD);
    taken[0]?.longWay();
    taken[0]?.longWay();
    await client.next();
    taken[0]?.longWay();
    await client.send(HELD);
    front.reply(taken[1]?.response as LaneResponse, 'held');
    taken[1]?.longWay();
    expect(await client.next()).toMatchObject([{ body: 'held' }]);
    taken[1]?.longWay();
    await client.settle();
    expect(urls()).toEqual(['node /held body']);
    expect(client.received).toBe('');
  });

  it('that throws is told of, and its request goes the long way', async () => {
    const client = await front.client();
    const error = new Error('thrown');
    front.take = () => {
      throw error;
    };
    expect(await client.ask(HELD)).toBe('node POST /held body');
    hold();
    expect(await client.ask(requestOf('/lane'))).toMatch('lane');
    expect(front.defects).toEqual([error]);
  });

  it('that throws behind a head ends the connection, and nobody else answers', async () => {
    const error = new Error('thrown');
    for (const body of ['', '123']) {
      front.take = (_request, response) => {
        response.writeHead(200, { 'content-length': 5 });
        if (body !== '') response.write(Buffer.from(body));
        throw error;
      };
      const client = await front.client();
      await client.send(HELD);
      await client.over();
      expect(client.received).not.toMatch('node');
    }
    expect(urls()).toEqual([]);
    expect(front.defects).toEqual([error, error]);
  });

  it('is told once that its client has left, and may go on as if not', async () => {
    for (const begun of [false, true]) {
      const client = await front.client();
      await client.send(HELD);
      const held = taken.at(-1);
      if (held === undefined) throw new Error('the lane has nothing');
      const { response } = held;
      if (begun) {
        response.writeHead(200, { 'content-length': 5 });
        response.write(Buffer.from('1'));
      }
      client.socket.resetAndDestroy();
      while (held.closes === 0) await client.settle();
      expect(response).toMatchObject({ destroyed: true, writableFinished: false, headersSent: begun });
      held.longWay();
      const done = vi.fn();
      if (!begun) response.writeHead(200, { 'content-length': 1 });
      response.write(Buffer.from('1'), done);
      response.end('1', done);
      held.longWay();
      await client.settle();
      expect(done).toHaveBeenCalledTimes(2);
      expect(held.closes).toBe(1);
    }
    expect(urls()).toEqual([]);
  });
});

describe('a client that leaves', () => {
  it('in the middle of a request leaves nothing behind', async () => {
    for (const cut of [10, HELD.length - 1]) {
      const client = await front.client();
      await client.send(HELD.slice(0, cut));
      expect(vi.getTimerCount()).toBe(1);
      client.socket.resetAndDestroy();
      while (!client.served.closed) await client.settle();
      expect(vi.getTimerCount()).toBe(0);
    }
    expect([taken, urls()]).toEqual([[], []]);
  });

  it('in the moment in which its request is given up is not served that', async () => {
    const handler = vi.fn<RequestListener>();
    front.handler = handler;
    for (const cut of [10, HELD.length - 1]) {
      const client = await front.client();
      await client.send(HELD.slice(0, cut));
      client.served.destroy();
      vi.advanceTimersByTime(20);
      await once(client.served, 'close');
    }
    const client = await front.client();
    await client.send(HELD);
    client.served.destroy();
    taken[0]?.longWay();
    await once(client.served, 'close');
    expect(handler).not.toHaveBeenCalled();
  });

  it.each(['before', 'behind'])(
    'while another request of its waits is not served that one, %s its answer',
    async (when) => {
      const client = await front.client();
      await client.send(HELD);
      await client.send(requestOf('/lane'));
      if (when === 'before') client.served.destroy();
      front.reply(taken[0]?.response as LaneResponse, 'late');
      client.served.destroy();
      await once(client.served, 'close');
      await client.settle();
      expect(urls()).toEqual([]);
    },
  );

  it('while Node’s server answers is told of by that, and the next one is served', async () => {
    const left = Promise.withResolvers<void>();
    front.handler = (_request, response) => void response.once('close', left.resolve);
    const client = await front.client();
    await client.send(requestOf('/node'));
    client.socket.resetAndDestroy();
    await left.promise;
    expect(await (await front.client()).ask(requestOf('/lane'))).toMatch('lane');
  });
});

describe('a client that says no more', () => {
  const SIZE = 16 * 1024 * 1024;

  it.each(['/lane', '/node'])('gets the whole answer that was given by then, when it reads it: %s', async (url) => {
    const answer = (response: LaneResponse | ServerResponse): true => {
      response.writeHead(200, { 'content-length': SIZE });
      response.end(Buffer.alloc(SIZE, 'x'));
      return true;
    };
    front.take = (_request, response) => url === '/lane' && answer(response);
    front.handler = (_request, response) => answer(response);
    const client = await front.client();
    client.socket.pause();
    await client.send(requestOf(url));
    client.socket.end();
    while (!client.served.readableEnded) await client.settle();
    await client.settle();
    client.socket.resume();
    await client.over();
    expect(client.answers.map(({ body }) => body.length)).toEqual([SIZE]);
  });

  it('gets a small one with its end', async () => {
    const client = await front.client();
    client.socket.end(requestOf('/lane'));
    await client.over();
    expect(client.answers).toMatchObject([{ body: 'lane GET /lane ' }]);
  });

  it('before its answer is begun is left, and the lane told', async () => {
    const client = await front.client();
    await client.send(HELD);
    client.socket.end();
    await client.over();
    expect(taken).toMatchObject([{ closes: 1, response: { destroyed: true, writableFinished: false } }]);
  });

  it('in the middle of a request is left', async () => {
    const client = await front.client();
    await client.send(HELD.slice(0, -1));
    client.socket.end();
    await client.over();
    expect([taken, urls(), client.received]).toEqual([[], [], '']);
  });

  it.each([
    ['that has asked nothing', ''],
    ['that a lane has answered', requestOf('/lane')],
    ['that Node’s server has answered', requestOf('/node')],
  ])('is left where nothing is under way, on a connection %s', async (_what, request) => {
    const client = await front.client();
    if (request !== '') await client.ask(request);
    client.socket.end();
    await client.over();
    while (!client.served.destroyed) await client.settle();
    expect(client.received).toBe('');
  });
});
