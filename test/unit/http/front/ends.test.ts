import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LaneResponse } from '../../../../src/http/front/lane.ts';
import { newCertificate } from './certificate.ts';
import { type Client, FrontServer, requestOf } from './front-server.ts';

const KEEP_ALIVE_MS = 7_000;

let front: FrontServer;
let held: LaneResponse[];

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await start(new FrontServer(undefined, KEEP_ALIVE_MS));
});

afterEach(async () => {
  vi.useRealTimers();
  await front.close();
});

async function start(server: FrontServer): Promise<void> {
  front = await server.listen();
  held = [];
  const { take } = front;
  front.take = (request, response, longWay) =>
    request.url === '/held' ? held.push(response) > 0 : take(request, response, longWay);
}

/** Connections on which nothing is under way. */
const IDLE: [string, string[]][] = [
  ['has asked nothing', []],
  ['a lane has answered', [requestOf('/lane')]],
  ['Node’s server has answered', [requestOf('/node')]],
  ['both have answered', [requestOf('/node'), requestOf('/lane')]],
];

async function idle(requests: readonly string[]): Promise<Client> {
  const client = await front.client();
  for (const request of requests) await client.ask(request);
  await client.settle();
  return client;
}

/** A connection on which a lane answers. */
async function busy(before: readonly string[] = []): Promise<Client> {
  const client = await idle(before);
  await client.send(requestOf('/held'));
  expect(held).not.toEqual([]);
  return client;
}

describe('the end of a server', () => {
  it.each(IDLE)('does not wait for a client that %s', async (_what, requests) => {
    const client = await idle(requests);
    const closed = once(front.server, 'close');
    front.server.close();
    // The client does not end its side.
    await closed;
    await client.over();
  });

  it.each(IDLE)('waits for the answer of a lane to a client that %s before, and no longer', async (_what, requests) => {
    const client = await busy(requests);
    const others = await Promise.all(IDLE.map(([, requests]) => idle(requests)));
    const closed = once(front.server, 'close');
    let over = false;
    void closed.then(() => (over = true));
    front.server.close();
    for (const other of others) await other.over();
    expect([over, client.ended]).toEqual([false, false]);
    front.reply(held[0] as LaneResponse, 'x'.repeat(4 * 1024 * 1024));
    await client.over();
    expect(client.answers.map(({ body }) => body.length)).toEqual([4 * 1024 * 1024]);
    await closed;
  });

  it('closes what Node’s server has for good as soon as no lane answers any more', async () => {
    const given = await front.client();
    await given.send(requestOf('/lane') + requestOf('/lane'));
    await given.next(2);
    const client = await busy([requestOf('/node')]);
    const closed = once(front.server, 'close');
    front.server.close();
    client.socket.resetAndDestroy();
    await given.over();
    await closed;
  });

  it('knows nothing of connections that have gone', async () => {
    const client = await idle([requestOf('/lane')]);
    client.socket.end();
    if (!client.served.closed) await once(client.served, 'close');
    const destroy = vi.spyOn(client.served, 'destroy');
    front.server.closeAllConnections();
    expect(destroy).not.toHaveBeenCalled();
  });

  it.each(IDLE)('serves a request that has begun, of a client that %s', async (_what, requests) => {
    const client = await idle(requests);
    const request = requestOf('/lane/last', 'x');
    await client.send(request.slice(0, 20));
    front.server.close();
    await client.settle();
    expect(await client.ask(request.slice(20))).toBe('node POST /lane/last x');
  });

  it('serves no request that it could not answer', async () => {
    const handler = vi.fn<RequestListener>();
    front.handler = handler;
    const client = await idle([requestOf('/lane')]);
    front.server.close();
    client.served.emit('data', Buffer.from(requestOf('/lane')));
    await client.over();
    expect([front.seen.length, handler.mock.calls.length]).toEqual([1, 0]);
  });

  it('leaves a request to Node’s server that came while a lane answered', async () => {
    const client = await busy();
    await client.send(requestOf('/lane/next'));
    front.server.close();
    front.reply(held[0] as LaneResponse, 'held');
    expect((await client.next(2)).map(({ body }) => body)).toEqual(['held', 'node GET /lane/next ']);
  });

  it('by force leaves nobody', async () => {
    const clients = await Promise.all([
      ...IDLE.map(([, requests]) => idle(requests)),
      busy(),
      busy([requestOf('/node')]),
    ]);
    const gathering = await idle([]);
    await gathering.send('GET');
    const closes = held.map((response) => once(response as never, 'close'));
    const closed = once(front.server, 'close');
    front.server.close();
    front.server.closeAllConnections();
    await closed;
    await Promise.all([...clients, gathering].map((client) => client.over()));
    await Promise.all(closes);
    expect(closes).toHaveLength(2);
    expect(front.seen.filter(({ by }) => by === 'node')).toHaveLength(3);
  });

  it('begins with the long way for all that is asked, also where a lane would', async () => {
    const client = await busy();
    front.front.close();
    expect(await (await front.client()).ask(requestOf('/lane'))).toMatch('node');
    front.reply(held[0] as LaneResponse, 'held');
    expect(await client.next()).toMatchObject([{ body: 'held' }]);
    expect(await client.ask(requestOf('/lane'))).toMatch('node');
  });
});

describe('an idle connection', () => {
  it.each(IDLE.slice(1))('is kept longer than its client was told, where %s', async (_what, requests) => {
    const client = await front.client();
    for (const request of requests) await client.send(request);
    const answers = await client.next(requests.length);
    expect(answers.at(-1)?.head).toMatch(`Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n`);
    await client.settle();
    expect(client.served.timeout).toBe(KEEP_ALIVE_MS + 1_000);
    client.served.emit('timeout');
    await client.over();
  });

  it('is not kept for good where it asks nothing', async () => {
    const client = await front.client();
    expect(client.served.timeout).toBe(60_000);
    client.served.emit('timeout');
    await client.over();
  });

  it.each(IDLE)('that %s is none while a lane answers', async (_what, requests) => {
    const client = await busy(requests);
    client.served.emit('timeout');
    await client.settle();
    expect(client.ended).toBe(false);
    front.reply(held[0] as LaneResponse, 'held');
    expect(await client.next()).toMatchObject([{ body: 'held' }]);
    await client.settle();
    expect(client.served.timeout).toBe(KEEP_ALIVE_MS + 1_000);
  });

  it('has the time of a lane while that answers, and its own again behind it', async () => {
    for (const requests of [[], [requestOf('/node')]]) {
      const client = await busy(requests);
      const expired = vi.fn();
      const response = held.pop() as LaneResponse;
      response.setTimeout(1_234, expired);
      expect(client.served.timeout).toBe(1_234);
      client.served.emit('timeout');
      expect(expired).toHaveBeenCalledTimes(1);
      response.setTimeout(2_345, expired);
      front.reply(response, 'held');
      await client.next();
      await client.settle();
      expect(client.served.timeout).toBe(KEEP_ALIVE_MS + 1_000);
      client.served.emit('timeout');
      expect(expired).toHaveBeenCalledTimes(1);
    }
  });

  it('has no time of its own while Node’s server answers', async () => {
    for (const requests of [[], [requestOf('/lane')], [requestOf('/node'), requestOf('/lane')]]) {
      const client = await idle(requests);
      const asked = Promise.withResolvers<number | undefined>();
      const { handler } = front;
      front.handler = (request, response) => {
        asked.resolve(request.socket.timeout);
        handler(request, response);
      };
      await client.ask(requestOf('/node'));
      expect(await asked.promise).toBe(0);
      front.handler = handler;
    }
  });

  it('is kept for good where the server keeps all', async () => {
    await front.close();
    await start(new FrontServer(undefined, 0));
    const client = await front.client();
    await client.send(requestOf('/lane'));
    const [answer] = await client.next();
    expect(answer?.head).toMatch('Connection: keep-alive\r\n');
    expect(answer?.head).not.toMatch('Keep-Alive:');
    await client.settle();
    expect(client.served.timeout).toBe(0);
  });
});

describe('over TLS', () => {
  beforeEach(async () => {
    await front.close();
    await start(new FrontServer(await newCertificate(), KEEP_ALIVE_MS));
  });

  it('requests go to a lane and to Node’s server in turn, and the end waits for a lane', async () => {
    const client = await front.client();
    for (let i = 0; i < 3; i++) {
      expect(await client.ask(requestOf('/lane', 'a'))).toBe('lane POST /lane a');
      expect(await client.ask(requestOf('/node', 'b'))).toBe('node POST /node b');
    }
    await client.send(requestOf('/lane', 'c') + requestOf('/lane', 'd'));
    expect((await client.next(2)).map(({ body }) => body)).toEqual(['node POST /lane c', 'node POST /lane d']);
    const [one, ...others] = [await front.client(), await front.client(), await idle([requestOf('/lane')])] as const;
    await one.send(requestOf('/held'));
    while (held.length === 0) await one.settle();
    const closed = once(front.server, 'close');
    front.server.close();
    for (const other of others) await other.over();
    front.reply(held[0] as LaneResponse, 'x'.repeat(1_000_000));
    expect((await one.next()).map(({ body }) => body.length)).toEqual([1_000_000]);
    await closed;
  });
});
