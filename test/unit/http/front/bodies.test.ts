import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Client, FrontServer, requestOf } from './front-server.ts';

let front: FrontServer;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  front = await new FrontServer().listen();
});

afterEach(async () => {
  vi.useRealTimers();
  expect(front.defects).toEqual([]);
  await front.close();
});

/** What a lane would take if it were a request. */
const HIDDEN = requestOf('/lane/hidden');
const AFTER = requestOf('/lane/after');

/** Answers before the body is read, as a refusal does. */
function refuse(request: IncomingMessage, response: ServerResponse): void {
  if (request.url !== '/refused') return void front.record(request).then(() => front.reply(response, 'read'));
  void front.record(request).catch(() => undefined);
  front.reply(response, 'refused', 401);
}

const urls = (): string[] => front.seen.map(({ by, url }) => `${by} ${url}`);
const hidden = (): string[] => urls().filter((seen) => seen.includes('hidden'));

/** Ways to send a body of which no byte is a request. */
const CARRIERS: Record<string, (url: string, body: string) => string> = {
  plain: (url, body) => requestOf(url, body),
  special: (url, body) => requestOf(url, body, 'TE: trailers\r\n'),
  'of a connection that asks': (url, body) => requestOf(url, body, 'Connection: x\r\n'),
  'old connection': (url, body) => requestOf(url, body, 'Proxy-Connection: keep-alive\r\n'),
  upgrade: (url, body) => requestOf(url, body, 'Connection: upgrade\r\nUpgrade: h2c\r\n'),
  'after 100': (url, body) => requestOf(url, body, 'Expect: 100-continue\r\n'),
  'of 1.0': (url, body) => requestOf(url, body, 'Connection: keep-alive\r\n').replace('HTTP/1.1', 'HTTP/1.0'),
  chunked: (url, body) =>
    `POST ${url} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
};

async function deliver(client: Client, text: string, cuts: readonly number[], late: readonly boolean[]): Promise<void> {
  const places = [...new Set(cuts.map((cut) => cut % text.length)), text.length].sort((a, b) => a - b);
  for (const [i, place] of places.entries()) {
    await client.send(text.slice(places[i - 1] ?? 0, place));
    if (late[i] === true) vi.advanceTimersByTime(20);
    await client.settle();
  }
}

describe('a body that looks like requests', () => {
  it.each(Object.keys(CARRIERS))('is none, cut anywhere, refused or read: %s', async (name) => {
    front.handler = refuse;
    const carrier = CARRIERS[name] as (typeof CARRIERS)[string];
    const cuts = fc.array(fc.nat(1_000), { maxLength: 4 });
    const times = fc.array(fc.boolean(), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('/refused', '/read'),
        fc.integer({ min: 1, max: 3 }),
        cuts,
        times,
        async (url, repeated, cuts, late) => {
          front.seen.length = 0;
          const client = await front.client();
          const body = HIDDEN.repeat(repeated);
          await deliver(client, carrier(url, body), cuts, late);
          await client.send(AFTER);
          while (front.seen.length < 2 && !client.ended && !client.closed) await client.settle();
          expect(hidden()).toEqual([]);
          expect(front.seen[0]).toMatchObject({ by: 'node', url, body });
          if (!client.ended) expect(front.seen[1]?.url).toBe('/lane/after');
          client.socket.destroy();
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is none behind a refusal at once, whenever the rest of it comes', async () => {
    front.handler = refuse;
    const body = 'x'.repeat(100) + HIDDEN;
    const request = requestOf('/refused', body, 'TE: trailers\r\n');
    for (let cut = request.length - body.length; cut < request.length; cut++) {
      front.seen.length = 0;
      const client = await front.client();
      await client.send(request.slice(0, cut));
      expect((await client.next())[0]).toMatchObject({ status: 401 });
      await client.settle();
      await client.send(request.slice(cut));
      await client.settle();
      await client.send(AFTER);
      await client.next();
      expect(hidden(), `cut at ${cut}`).toEqual([]);
      expect(urls()).toEqual(['node /refused', 'node /lane/after']);
      client.socket.destroy();
    }
  });

  it('is none where Node’s server asks for it', async () => {
    front.handler = refuse;
    const client = await front.client();
    const body = HIDDEN;
    const request = requestOf('/read', body, 'Expect: 100-continue\r\n');
    await client.send(request.slice(0, -body.length));
    expect((await client.next())[0]).toMatchObject({ status: 100 });
    await client.send(body);
    expect((await client.next())[0]).toMatchObject({ status: 200, body: 'read' });
    expect(await client.ask(AFTER)).toMatch('lane GET /lane/after');
    expect(urls()).toEqual(['node /read', 'lane /lane/after']);
  });

  it('is none at the end of one that is larger than a lane takes', async () => {
    front.handler = refuse;
    for (const url of ['/refused', '/read']) {
      front.seen.length = 0;
      const client = await front.client();
      const body = 'x'.repeat(3 * 1024 * 1024) + HIDDEN;
      const request = requestOf(url, body);
      await client.send(request.slice(0, -HIDDEN.length));
      await client.settle();
      await client.send(HIDDEN);
      await client.next();
      await client.ask(AFTER);
      expect(hidden()).toEqual([]);
      expect(front.seen.map(({ url, body }) => [url, body.length])).toEqual([
        [url, body.length],
        ['/lane/after', 0],
      ]);
    }
  });

  it('is none where nobody reads it, and the answer comes when it is there', async () => {
    front.handler = (_request, response) => front.reply(response, 'unread');
    const client = await front.client();
    for (const size of [10, 100_000]) {
      expect(await client.ask(requestOf('/node', 'x'.repeat(size) + HIDDEN))).toBe('unread');
      await client.settle();
      expect(await client.ask(AFTER)).toMatch('/lane/after');
    }
    expect(hidden()).toEqual([]);
  });

  it('is none behind an answer that broke off', async () => {
    front.handler = (_request, response) => {
      response.writeHead(200, { 'content-length': 5 });
      response.write('12');
      response.destroy();
    };
    const client = await front.client();
    await client.send(requestOf('/node', HIDDEN) + AFTER);
    await client.over();
    expect(urls()).toEqual([]);
  });

  it.each([
    ['two lengths', `Content-Length: 1\r\nContent-Length: ${HIDDEN.length}\r\n`],
    ['a length and chunks', `Transfer-Encoding: chunked\r\nContent-Length: ${HIDDEN.length}\r\n`],
    ['a bare line feed', `a: b\nContent-Length: ${HIDDEN.length}\r\n`],
    ['a space before the colon', `Content-Length : ${HIDDEN.length}\r\n`],
    ['a folded length', `Content-Length:\r\n ${HIDDEN.length}\r\n`],
  ])('is refused with %s, and nothing behind it is read', async (_what, headers) => {
    for (const late of [false, true]) {
      const client = await front.client();
      await client.send(`POST /lane/first HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
      if (late) vi.advanceTimersByTime(20);
      await client.send(HIDDEN);
      await client.over();
      expect(client.answers[0]).toMatchObject({ status: 400 });
      expect(hidden()).toEqual([]);
    }
  });
});

describe('a connection that Node’s server ends with an answer', () => {
  it('takes no other request', async () => {
    front.handler = (request, response) => {
      response.setHeader('connection', 'close');
      // Right behind the end of the answer, before the end of the connection can be seen.
      response.once('close', () => queueMicrotask(() => request.socket.emit('data', Buffer.from(AFTER))));
      void front.record(request).then(() => front.reply(response, 'last'));
    };
    const client = await front.client();
    await client.send(requestOf('/node'));
    await client.over();
    await client.settle();
    expect(urls()).toEqual(['node /node']);
  });

  it('by an upgrade takes no other request', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    front.server.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
      void once(socket, 'data').then(([bytes]: Buffer[]) => resolve(String(bytes)));
    });
    const client = await front.client();
    await client.send(requestOf('/lane', '', 'Connection: upgrade\r\nUpgrade: x\r\n'));
    expect((await client.next())[0]).toMatchObject({ status: 101 });
    await client.send(HIDDEN);
    expect(await promise).toBe(HIDDEN);
    expect(urls()).toEqual([]);
  });
});
