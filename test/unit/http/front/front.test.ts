import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answerOf, FrontServer, requestOf, type Seen } from './front-server.ts';

let front: FrontServer;

beforeEach(async () => {
  // What is slow is what a test says, not a busy machine.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  front = await new FrontServer().listen();
});

afterEach(async () => {
  vi.useRealTimers();
  await front.close();
});

const seenBy = (by: Seen['by'], url: string, body = ''): Seen => ({
  by,
  method: body === '' ? 'GET' : 'POST',
  url,
  body,
});

describe('a request in two packets', () => {
  const SPLIT: [string, string][] = [
    ['/lane', ''],
    ['/lane', 'a body'],
    ['/node', ''],
    ['/node', 'a body'],
  ];

  it.each(SPLIT)('is seen once and whole, wherever it is cut: %s %s', async (url, body) => {
    const request = requestOf(url, body);
    const client = await front.client();
    const expected = seenBy(url === '/lane' ? 'lane' : 'node', url, body);
    for (let cut = 1; cut < request.length; cut++) {
      front.seen.length = 0;
      await client.send(request.slice(0, cut));
      expect(await client.ask(request.slice(cut)), `cut at ${cut}`).toBe(answerOf(expected));
      expect(front.seen, `cut at ${cut}`).toEqual([expected]);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it.each(SPLIT)('is Node’s where the second is late, wherever it is cut: %s %s', async (url, body) => {
    const request = requestOf(url, body);
    for (let cut = 1; cut < request.length; cut++) {
      front.seen.length = 0;
      const client = await front.client();
      await client.send(request.slice(0, cut));
      vi.advanceTimersByTime(20);
      const expected = seenBy('node', url, body);
      expect(await client.ask(request.slice(cut)), `cut at ${cut}`).toBe(answerOf(expected));
      expect(front.seen, `cut at ${cut}`).toEqual([expected]);
      // It comes back where it is certain where the request ended: its length was known when it was lent.
      const again = cut < request.length - body.length ? 'node' : 'lane';
      expect(await client.ask(requestOf('/lane/2')), `after a cut at ${cut}`).toBe(answerOf(seenBy(again, '/lane/2')));
      client.socket.destroy();
    }
  });

  it('or byte by byte is the same', async () => {
    const client = await front.client();
    const [request, other] = [requestOf('/lane', 'a body'), requestOf('/node', 'a body')];
    for (const byte of request) {
      await client.send(byte);
      expect(vi.getTimerCount()).toBeLessThan(2);
    }
    for (const byte of other) await client.send(byte);
    await client.next(2);
    expect(front.seen).toEqual([seenBy('lane', '/lane', 'a body'), seenBy('node', '/node', 'a body')]);
  });

  it('is not waited for where it is longer than any that a lane takes', async () => {
    const client = await front.client();
    const body = 'x'.repeat(1024 * 1024 + 16 * 1024);
    const request = requestOf('/lane', body);
    await client.send(request.slice(0, 1_000));
    await client.ask(request.slice(1_000));
    expect(front.seen.map(({ by, url, body }) => [by, url, body.length])).toEqual([['node', '/lane', body.length]]);
  });
});

/** Whom a connection's requests go to, by what they are. */
const KINDS = {
  lane: { text: (url: string) => requestOf(`/lane${url}`), url: '/lane', body: '', by: 'lane', leaves: 'free' },
  laneBody: {
    text: (url: string) => requestOf(`/lane${url}`, 'x'),
    url: '/lane',
    body: 'x',
    by: 'lane',
    leaves: 'free',
  },
  node: { text: (url: string) => requestOf(`/node${url}`), url: '/node', body: '', by: 'node', leaves: 'free' },
  nodeBody: {
    text: (url: string) => requestOf(`/node${url}`, 'x'),
    url: '/node',
    body: 'x',
    by: 'node',
    leaves: 'free',
  },
  special: {
    text: (url: string) => requestOf(`/lane${url}`, 'x', 'TE: trailers\r\n'),
    url: '/lane',
    body: 'x',
    by: 'node',
    leaves: 'free',
  },
  chunked: {
    text: (url: string) =>
      `POST /lane${url} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
    url: '/lane',
    body: 'x',
    by: 'node',
    leaves: 'given',
  },
} as const;
type Kind = keyof typeof KINDS;
const kinds = Object.keys(KINDS) as Kind[];
const orders = kinds.flatMap((a) => kinds.flatMap((b) => kinds.map((c): Kind[] => [a, b, c])));

function expectedOf(order: readonly Kind[], atOnce = false): Seen[] {
  let given = atOnce;
  return order.map((kind, i) => {
    const { url, body, by, leaves } = KINDS[kind];
    const seen = seenBy(given ? 'node' : by, `${url}/${i}`, body);
    given ||= leaves === 'given';
    return seen;
  });
}

describe('requests of one connection', () => {
  it('go to a lane and to Node’s server in any order', async () => {
    for (const order of orders) {
      front.seen.length = 0;
      const client = await front.client();
      const expected = expectedOf(order);
      for (const [i, kind] of order.entries()) {
        expect(await client.ask(KINDS[kind].text(`/${i}`)), order.join()).toBe(answerOf(expected[i] as Seen));
      }
      expect(front.seen, order.join()).toEqual(expected);
      client.socket.destroy();
    }
  });

  it('in one packet are answered in order, by Node’s server', async () => {
    for (const order of orders) {
      front.seen.length = 0;
      const client = await front.client();
      await client.send(order.map((kind, i) => KINDS[kind].text(`/${i}`)).join(''));
      const answers = await client.next(order.length);
      const expected = expectedOf(order, true);
      expect(answers.map(({ body }) => body)).toEqual(expected.map(answerOf));
      expect(front.seen.toSorted((a, b) => a.url.slice(-1).localeCompare(b.url.slice(-1)))).toEqual(expected);
      client.socket.destroy();
    }
  });

  it('that do not wait are answered in order, though the first takes longest', async () => {
    for (const order of orders) {
      front.seen.length = 0;
      const held: (() => void)[] = [];
      const { take, handler } = front;
      front.take = (request, response, longWay) => {
        if (!request.url.startsWith('/lane')) return false;
        if (!request.url.endsWith('/0')) return take(request, response, longWay);
        held.push(() => front.answer(request, response));
        return true;
      };
      front.handler = (request, response) => {
        if (request.url?.endsWith('/0')) held.push(() => handler(request, response));
        else handler(request, response);
      };
      const client = await front.client();
      for (const [i, kind] of order.entries()) await client.send(KINDS[kind].text(`/${i}`));
      expect(held, order.join()).toHaveLength(1);
      expect(client.received).toBe('');
      held[0]?.();
      const urls = (await client.next(order.length)).map(({ body }) => body.split(' ').slice(1, 3));
      expect(urls, order.join()).toEqual(expectedOf(order).map(({ method, url }) => [method, url]));
      expect(front.seen).toHaveLength(order.length);
      client.socket.destroy();
      Object.assign(front, { take, handler });
    }
  });

  it('wait while a lane answers, in any number', async () => {
    const held = Promise.withResolvers<void>();
    const { take } = front;
    front.take = (request, response, longWay) => {
      void held.promise.then(() => take(request, response, longWay));
      return request.url.startsWith('/lane');
    };
    const client = await front.client();
    for (let i = 0; i < 20; i++) await client.send(requestOf(`/lane/${i}`, 'x'.repeat(i)));
    // They wait with the client, not here.
    expect(client.served.isPaused()).toBe(true);
    held.resolve();
    const answers = await client.next(20);
    const expected = Array.from({ length: 20 }, (_, i) => `/lane/${i} ${'x'.repeat(i)}`);
    expect(answers.map(({ body }) => body.split(' ').slice(2).join(' '))).toEqual(expected);
    expect(front.seen).toHaveLength(20);
  });
});
