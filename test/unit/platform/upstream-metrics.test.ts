import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PeerClient } from '../../../src/api/queries/peer-client.ts';
import { createEngine, type EngineOptions } from '../../../src/pinot/connection.ts';
import { readBody } from '../../../src/pinot/controller.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import type { Engine, EngineEndpoint, EngineResponse, KnownTables } from '../../../src/pinot/types.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { observeUpstreams } from '../../../src/platform/upstream-metrics.ts';
import { Upstream, type UpstreamObserver } from '../../../src/platform/upstreams.ts';
import { QueryError } from '../../../src/results/errors.ts';
import type { ObjectClient } from '../../../src/results/stores/object/object-client.ts';
import { observedClient } from '../../../src/results/stores/object/observed-client.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { once } from '../../support/once.ts';
import { until } from '../../support/until.ts';

// What an operator sees of each address that a process sends requests to, over real connections.

const NOWHERE = 'http://127.0.0.1:1';
const QUERY = { method: 'POST', path: '/query/sql', body: '{}', repeatable: true };
const TABLES = [tableNameOf('orders')];

let registry: Registry;
let observer: UpstreamObserver;
let closers: (() => Promise<unknown>)[] = [];

beforeEach(() => {
  registry = new Registry();
  observer = observeUpstreams(registry, systemClock);
});
afterEach(async () => {
  for (const close of closers.toReversed()) await close();
  closers = [];
});

async function fake(): Promise<FakeEngine> {
  const made = new FakeEngine();
  await made.listen();
  closers.push(() => made.close());
  return made;
}

function engineOf(options: Partial<EngineOptions>): Engine & KnownTables {
  const made = createEngine({ controllerUrls: ['http://127.0.0.1:2'], observer, ...options });
  closers.push(() => made.close());
  return made;
}

/** A server that does this with each connection. */
async function server(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const made: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection(socket);
  });
  await once(made.listen(0, '127.0.0.1'), 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    return once(made.close(), 'close');
  });
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`;
}

async function ask(endpoint: EngineEndpoint, more: object = {}): Promise<EngineResponse | Error> {
  try {
    const answer = await endpoint.request({ ...QUERY, ...more });
    await readBody(answer.body, 1e6, 'it');
    return answer;
  } catch (error) {
    return error as Error;
  }
}

/** The values of a metric by its labels, without those that are 0. */
async function values(name: string): Promise<Record<string, number>> {
  const text = await registry.metrics();
  const found = text.matchAll(new RegExp(`^olap_warden_upstream_${name}\\{(.*)\\} (\\S+)$`, 'gm'));
  return Object.fromEntries(
    [...found].map(([, labels = '', value]) => [labels, Number(value)]).filter(([, value]) => value !== 0),
  );
}

const labels = (role: string, url: string, outcome?: string): string =>
  `role="${role}",address="${new URL(url).host}"${outcome === undefined ? '' : `,outcome="${outcome}"`}`;

describe('requests to a broker are counted by outcome', () => {
  const broker = (url: string): Promise<EngineEndpoint> => engineOf({ brokerUrls: [url] }).brokerFor(TABLES);

  it.each([
    [200, 'ok'],
    [404, 'client-error'],
    [503, 'server-error'],
  ] as const)('of a response with status %i', async (status, outcome) => {
    const to = await fake();
    to.json('POST /query/sql', {}, status);
    await ask(await broker(to.url));
    expect(await values('requests_total')).toEqual({ [labels('broker', to.url, outcome)]: 1 });
    expect(await values('request_seconds_count')).toEqual({ [labels('broker', to.url)]: 1 });
    expect(await values('connections_used')).toEqual({});
  });

  it('that refuses connections', async () => {
    await ask(await broker(NOWHERE));
    expect(await values('requests_total')).toEqual({ [labels('broker', NOWHERE, 'refused')]: 1 });
    expect(await values('suspected')).toEqual({ [labels('broker', NOWHERE)]: 1 });
  });

  it('that closes the connection before a response, or within it', async () => {
    const silent = await server((socket) => socket.once('data', () => socket.destroy()));
    await ask(await broker(silent));
    const cut = await server((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"half')),
    );
    await ask(await broker(cut));
    expect(await values('requests_total')).toEqual({
      [labels('broker', silent, 'reset')]: 1,
      [labels('broker', cut, 'reset')]: 1,
    });
  });

  it('that does not respond in time, or with something else than HTTP', async () => {
    const silent = await server(() => undefined);
    await ask(await broker(silent), { headersTimeoutMs: 20 });
    const strange = await server((socket) => socket.once('data', () => socket.end('220 mail.example.com ESMTP\r\n')));
    await ask(await broker(strange));
    expect(await values('requests_total')).toEqual({
      [labels('broker', silent, 'timeout')]: 1,
      [labels('broker', strange, 'bad-response')]: 1,
    });
  });

  it('whose caller goes away, and how many run and wait meanwhile', async () => {
    const silent = await server(() => undefined);
    const engine = engineOf({ brokerUrls: [silent], limits: { connections: 2, queue: 1, share: 1 } });
    const endpoint = await engine.brokerFor(TABLES);
    const leaving = new AbortController();
    const running = Array.from({ length: 3 }, () => ask(endpoint, { signal: leaving.signal }));
    await until(
      'two requests run and one waits',
      async () => (await values('waiting'))[labels('broker', silent)] === 1,
    );
    expect(await values('connections_used')).toEqual({ [labels('broker', silent)]: 2 });
    await ask(endpoint);
    leaving.abort();
    await Promise.all(running);
    expect(await values('requests_total')).toEqual({
      [labels('broker', silent, 'overloaded')]: 1,
      [labels('broker', silent, 'aborted')]: 3,
    });
  });
});

it('shows at which broker a query was tried again, and that it is avoided', async () => {
  const working = await fake();
  const engine = engineOf({ brokerUrls: [NOWHERE, working.url] });
  await ask(await engine.brokerFor(TABLES));
  expect(await values('requests_total')).toEqual({
    [labels('broker', NOWHERE, 'refused')]: 1,
    [labels('broker', working.url, 'ok')]: 1,
  });
  expect(await values('retries_total')).toEqual({ [labels('broker', NOWHERE)]: 1 });
  expect(await values('suspected')).toEqual({ [labels('broker', NOWHERE)]: 1 });
});

it('tells controllers from brokers, and leaves out servers', async () => {
  const [controller, server] = [await fake(), await fake()];
  const engine = engineOf({ controllerUrls: [controller.url] });
  await ask(engine.controller);
  await ask(engine.endpoint(server.url));
  expect(await values('requests_total')).toEqual({ [labels('controller', controller.url, 'ok')]: 1 });
});

it('counts the requests to other gateways', async () => {
  const peer = await fake();
  const client = new PeerClient({ observer });
  closers.push(() => client.close());
  const at = (url: string) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) });
  await client.identify(at(peer.url));
  await client.identify(at(NOWHERE));
  expect(await values('requests_total')).toEqual({
    [labels('gateway', peer.url, 'ok')]: 1,
    [labels('gateway', NOWHERE, 'refused')]: 1,
  });
});

describe('calls of a bucket', () => {
  const URL_OF_BUCKET = 'https://s3.eu-west-1.amazonaws.com';
  const failing = (cause: unknown): ObjectClient =>
    ({
      get: async () => {
        throw new QueryError('store-unavailable', 'the bucket failed', { cause });
      },
    }) as unknown as ObjectClient;

  it.each([
    ['server-error', { $metadata: { httpStatusCode: 503 } }],
    ['client-error', { status: 403, code: 403 }],
    ['refused', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
    ['reset', Object.assign(new Error('reset'), { code: 'ECONNRESET' })],
    ['timeout', Object.assign(new Error('over'), { name: 'TimeoutError' })],
    ['bad-response', new Error('not XML')],
  ])('are counted as %s', async (outcome, cause) => {
    const context = { gatewayId: 'a', clock: systemClock, onProblem: () => undefined, observer };
    const client = observedClient(failing(cause), URL_OF_BUCKET, context);
    await expect(client.get('key', new AbortController().signal)).rejects.toThrow('the bucket failed');
    expect(await values('requests_total')).toEqual({
      [`role="store",address="s3.eu-west-1.amazonaws.com:443",outcome="${outcome}"`]: 1,
    });
  });
});

describe('the series of an address', () => {
  let clock: FakeClock;
  beforeEach(() => {
    clock = new FakeClock();
    registry = new Registry();
    observer = observeUpstreams(registry, clock);
  });
  const upstream = (address: string): Upstream => new Upstream({ role: 'broker', address, clock, observer });
  const count = async (name: string): Promise<number> =>
    [...(await registry.metrics()).matchAll(new RegExp(`^olap_warden_upstream_${name}\\{`, 'gm'))].length;

  it('end an hour after its last request, but not while one runs', async () => {
    upstream('gone:8099')
      .begin(() => 'POST /query', 'POST', undefined)
      .end();
    const running = upstream('slow:8099').begin(() => 'POST /query', 'POST', undefined);
    await clock.advance(3_600_000);
    expect(await count('requests_total')).toBe(1);
    expect(await registry.metrics()).not.toContain('gone:8099');
    running.end('timeout');
    expect(await registry.metrics()).toContain('outcome="timeout"} 1');
  });

  it('continue when its connections were opened again', async () => {
    upstream('b:8099')
      .begin(() => 'POST /query', 'POST', undefined)
      .end();
    upstream('b:8099')
      .begin(() => 'POST /query', 'POST', undefined)
      .end();
    expect(await registry.metrics()).toContain('address="b:8099",outcome="ok"} 2');
    expect(await count('request_seconds_count')).toBe(1);
  });

  it('are those of at most 2,000 addresses', async () => {
    for (let i = 0; i < 2_100; i++)
      upstream(`b${i}:8099`)
        .begin(() => 'POST /query', 'POST', undefined)
        .end();
    const text = await registry.metrics();
    expect(text.match(/^olap_warden_upstream_requests_total\{/gm)).toHaveLength(2_000);
    expect(text.match(/^olap_warden_upstream_request_seconds_count\{/gm)).toHaveLength(2_000);
    expect(text).toContain('b2099:8099');
  });
});
