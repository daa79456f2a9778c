import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { createEngine, type EngineOptions } from '../../../src/pinot/connection.ts';
import { getJson, readBody } from '../../../src/pinot/controller.ts';
import { credentialFromFile } from '../../../src/pinot/credential.ts';
import type { Engine, EngineResponse, KnownTables } from '../../../src/pinot/types.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

let now = 0;
let fakes: FakeEngine[] = [];
let engines: Engine[] = [];
const NOWHERE = 'http://127.0.0.1:1';
const PATIENT = { timeout: WAIT_LIMIT_MS, interval: 5 };

async function fake(): Promise<FakeEngine> {
  const made = new FakeEngine();
  await made.listen();
  fakes.push(made);
  return made;
}

function engine(options: Partial<EngineOptions> & Pick<EngineOptions, 'controllerUrls'>): Engine & KnownTables {
  const made = createEngine({ clock: { ...systemClock, monotonic: () => now }, ...options });
  engines.push(made);
  return made;
}

const names = (...texts: readonly string[]) => texts.map(tableNameOf);
const text = async (answer: EngineResponse) => (await readBody(answer.body, 1e6, 'it')).toString();
const query = { method: 'POST', path: '/query/sql', body: '{}', repeatable: true };

beforeEach(() => {
  now = 1_000_000;
});

afterEach(async () => {
  await Promise.all(engines.map((made) => made.close()));
  await Promise.all(fakes.map((made) => made.close()));
  engines = [];
  fakes = [];
});

describe('headers', () => {
  it('are forwarded without the caller’s credential and hop-by-hop headers', async () => {
    const controller = await fake();
    const { controller: endpoint } = engine({
      controllerUrls: [controller.url],
      credential: { header: () => 'Bearer own', refused: () => undefined },
    });
    const headers = {
      authorization: 'Bearer caller',
      cookie: 'a=b',
      connection: 'close, x-mine',
      'x-mine': '1',
      te: 'trailers',
      accept: 'a/b',
    };
    await text(await endpoint.request({ method: 'GET', path: '/', headers }));
    expect(controller.seen[0]?.headers).toEqual({
      host: `127.0.0.1:${controller.port}`,
      connection: 'keep-alive',
      accept: 'a/b',
      authorization: 'Bearer own',
    });
  });
});

describe('the credential in a file', () => {
  it('is read in each format, and again when it is old or rejected', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-credential-'));
    const path = join(folder, 'credential');
    try {
      await writeFile(path, 'admin:verysecret\n');
      const credential = credentialFromFile(path, { monotonic: () => now });
      expect(await credential.header()).toBe('Basic YWRtaW46dmVyeXNlY3JldA==');
      await writeFile(path, 'Bearer abc');
      expect(credential.header()).toBe('Basic YWRtaW46dmVyeXNlY3JldA==');
      now += 10_000;
      void credential.header();
      await expect.poll(() => credential.header()).toBe('Bearer abc');
      await writeFile(path, 'token');
      now += 1_000;
      credential.refused();
      await expect.poll(() => credential.header()).toBe('Bearer token');
      await rm(path);
      now += 10_000;
      expect(credential.header()).toBe('Bearer token');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('rejects requests if it is invalid, without revealing its content', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-credential-'));
    const path = join(folder, 'credential');
    await writeFile(path, 'two\nsecrets');
    const controller = await fake();
    const { controller: endpoint } = engine({
      controllerUrls: [controller.url],
      credential: credentialFromFile(path, { monotonic: () => now }),
    });
    const asked = endpoint.request({ method: 'GET', path: '/' });
    await expect(asked).rejects.toThrow(/must contain one line/);
    await expect(asked).rejects.not.toThrow(/secrets/);
    await rm(folder, { recursive: true });
  });
});

describe('failures', () => {
  it('are distinguished', async () => {
    const slow = await fake();
    slow.otherwise = () => undefined;
    const { controller } = engine({ controllerUrls: [slow.url], limits: { connections: 1, queue: 0 } });
    const get = { method: 'GET', path: '/' };
    await expect(controller.request({ ...get, headersTimeoutMs: 30 })).rejects.toMatchObject({ code: 'timeout' });
    const leaving = new AbortController();
    const left = controller.request({ ...get, signal: leaving.signal });
    await expect(controller.request(get)).rejects.toMatchObject({ code: 'overloaded' });
    leaving.abort();
    await expect(left).rejects.toMatchObject({ code: 'aborted' });
    const away = engine({ controllerUrls: [NOWHERE] }).controller;
    await expect(away.request(get)).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('of a response that is too long or not JSON are the engine’s', async () => {
    const controller = await fake();
    controller.answers.set('GET /x', (_request, response) => response.end('no JSON'));
    const { controller: endpoint } = engine({ controllerUrls: [controller.url] });
    await expect(getJson(endpoint, '/x')).rejects.toMatchObject({ code: 'bad-response' });
    await expect(readBody(Readable.from([Buffer.alloc(10)]), 5, 'it')).rejects.toMatchObject({ code: 'bad-response' });
  });

  it('do not count as running requests afterwards', async () => {
    const controller = await fake();
    const { controller: endpoint } = engine({ controllerUrls: [controller.url], limits: { connections: 1, queue: 0 } });
    for (let request = 0; request < 5; request++) {
      // The only connection is freed shortly after the end of the previous response.
      const answer = await vi.waitFor(() => endpoint.request({ method: 'GET', path: '/' }), PATIENT);
      if (request % 2 === 0) answer.body.destroy();
      else await text(answer);
    }
  });
});

describe('several controllers', () => {
  it('are interchangeable', async () => {
    const second = await fake();
    const { controller } = engine({ controllerUrls: [NOWHERE, second.url] });
    expect((await controller.request({ method: 'POST', path: '/tables', body: '{}' })).status).toBe(200);
    expect(controller.url).toBe(second.url);
    now += 10_001;
    expect(controller.url).toBe(NOWHERE);
  });

  it('do not get a request twice that may have been executed, unless it is repeatable', async () => {
    const [first, second] = [await fake(), await fake()];
    first.otherwise = (_request, response) => response.socket?.destroy();
    const ask = (repeatable: boolean) =>
      engine({ controllerUrls: [first.url, second.url] }).controller.request({ ...query, repeatable });
    await expect(ask(false)).rejects.toMatchObject({ code: 'unreachable' });
    expect(second.seen).toHaveLength(0);
    expect((await ask(true)).status).toBe(200);
  });
});

describe('a controller that accepts a request and does not respond', () => {
  const read = { method: 'GET', path: '/tables', headersTimeoutMs: 15_000 };
  const probes = ({ seen }: FakeEngine) => seen.filter(({ url }) => url === '/health');
  const seen = (controller: FakeEngine, path: string) =>
    expect.poll(() => controller.seen.filter(({ url }) => url === path).length, PATIENT);

  async function controllers(first: FakeEngine['otherwise'], limits: EngineOptions['limits'] = {}) {
    const [one, two] = [await fake(), await fake()];
    one.otherwise = first;
    const clock = new FakeClock();
    return { one, two, clock, endpoint: engine({ controllerUrls: [one.url, two.url], clock, limits }).controller };
  }

  it('is left for the next one within the time-out of the request, and avoided for a minute', async () => {
    const { one, two, clock, endpoint } = await controllers(() => undefined);
    const answers = [endpoint.request(read), endpoint.request(read)];
    await seen(one, '/tables').toBe(2);
    await clock.advance(2_000);
    await seen(one, '/health').toBe(1);
    await clock.advance(2_000);
    for (const { url, body } of await Promise.all(answers)) {
      expect(url).toBe(two.url);
      body.resume();
    }
    // Requests that wait at the same time share a probe.
    expect(probes(one)).toHaveLength(1);
    expect(endpoint.url).toBe(two.url);
    await clock.advance(59_000);
    expect(endpoint.url).toBe(two.url);
    await clock.advance(2_000);
    expect(endpoint.url).toBe(one.url);
  });

  it('is left also while all connections to it are in use', async () => {
    const { one, two, clock, endpoint } = await controllers(() => undefined, { connections: 1, queue: 8 });
    const answers = [endpoint.request(read), endpoint.request(read), endpoint.request(read)];
    await seen(one, '/tables').toBe(1);
    await clock.advance(2_000);
    await seen(one, '/health').toBe(1);
    await clock.advance(2_000);
    for (const { url, body } of await Promise.all(answers)) {
      expect(url).toBe(two.url);
      body.resume();
    }
  });

  it('gets its share of a short time-out only', async () => {
    const { one, two, clock, endpoint } = await controllers(() => undefined);
    const answer = endpoint.request({ ...read, headersTimeoutMs: 4_000 });
    await seen(one, '/tables').toBe(1);
    await clock.advance(1_000);
    await seen(one, '/health').toBe(1);
    await clock.advance(1_000);
    expect(await text(await answer)).toContain('/tables');
    expect(two.seen).toHaveLength(1);
  });

  it('is waited for if it responds to `GET /health`, because only the request is slow', async () => {
    let respond = (): void => undefined;
    const { one, two, clock, endpoint } = await controllers((request, response) => {
      if (request.url === '/tables') respond = () => void response.end('late');
    });
    one.answers.set('GET /health', (_request, response) => response.writeHead(503).end());
    const answer = endpoint.request(read);
    await seen(one, '/tables').toBe(1);
    await clock.advance(2_000);
    await seen(one, '/health').toBe(1);
    await clock.advance(2_000);
    respond();
    expect(await text(await answer)).toBe('late');
    expect(two.seen).toEqual([]);
  });

  it('is waited for if the request must not be repeated; other requests go elsewhere meanwhile', async () => {
    const { one, two, clock, endpoint } = await controllers(() => undefined);
    const answer = endpoint.request({ ...read, method: 'POST', body: '{}' });
    const outcome = expect(answer).rejects.toMatchObject({ code: 'timeout' });
    await seen(one, '/tables').toBe(1);
    await clock.advance(2_000);
    await seen(one, '/health').toBe(1);
    await clock.advance(2_000);
    expect(two.seen).toEqual([]);
    expect(await text(await endpoint.request(read))).toContain('/tables');
    expect(two.seen).toHaveLength(1);
    await clock.advance(15_000);
    await outcome;
    expect(two.seen).toHaveLength(1);
  });

  it('does not outlive a caller that gives up', async () => {
    const { one, two, endpoint } = await controllers(() => undefined);
    const caller = new AbortController();
    const answer = endpoint.request({ ...read, signal: caller.signal });
    await seen(one, '/tables').toBe(1);
    caller.abort();
    await expect(answer).rejects.toMatchObject({ code: 'aborted' });
    expect(two.seen).toEqual([]);
  });
});

describe('brokers', () => {
  async function cluster(served: Record<string, readonly FakeEngine[]>, options: Partial<EngineOptions> = {}) {
    const controller = await fake();
    const brokers = (list: readonly FakeEngine[]) =>
      list.map(({ port }) => ({ host: '127.0.0.1', port, grpcPort: -1 }));
    const tell = (map: typeof served) => {
      controller.json(
        'GET /tables/livebrokers',
        Object.fromEntries(Object.entries(map).map(([table, list]) => [table, brokers(list)])),
      );
    };
    tell(served);
    controller.json('GET /logicalTables', ['View']);
    return { controller, tell, made: engine({ controllerUrls: [controller.url], ...options }) };
  }

  it('are selected by their tables and their load', async () => {
    const [a, b, c] = [await fake(), await fake(), await fake()];
    const { made } = await cluster({ x_OFFLINE: [a, b], x_REALTIME: [b, a], y_OFFLINE: [b, c], z_OFFLINE: [c] });
    expect((await made.brokerFor(names('X', 'y'))).url).toBe(b.url);
    await expect(made.brokerFor(names('x', 'z'))).rejects.toMatchObject({ code: 'no-broker' });
    const busy = await made.brokerFor(names('x'));
    const held = await busy.request(query);
    const next = await made.brokerFor(names('x'));
    expect(next.url).not.toBe(busy.url);
    await text(held);
    expect(new Set([a.url, b.url, c.url])).toContain((await made.brokerFor([])).url);
  });

  it('are not used for a while after they were unreachable', async () => {
    const [a, gone] = [await fake(), await fake()];
    const { made } = await cluster({ x_OFFLINE: [gone, a] });
    await gone.close();
    for (let request = 0; request < 4; request++)
      expect((await (await made.brokerFor(names('x'))).request(query)).status).toBe(200);
    expect(a.seen).toHaveLength(4);
  });

  it('are refreshed in the background, and stay known while the controller is unavailable', async () => {
    const [a, b] = [await fake(), await fake()];
    const { controller, tell, made } = await cluster({ x_OFFLINE: [a] });
    expect((await made.brokerFor(names('x'))).url).toBe(a.url);
    tell({ x_OFFLINE: [b] });
    now += 30_000;
    await made.brokerFor(names('x'));
    await expect.poll(async () => (await made.brokerFor(names('x'))).url).toBe(b.url);
    await controller.close();
    now += 30_000;
    expect((await made.brokerFor(names('x'))).url).toBe(b.url);
  });

  it('can have mapped or configured addresses', async () => {
    const a = await fake();
    const { made } = await cluster({ x_OFFLINE: [a] }, { addresses: { [`127.0.0.1:${a.port}`]: 'broker.example:80' } });
    expect((await made.brokerFor(names('x'))).url).toBe('http://broker.example:80');
    const fixed = engine({ controllerUrls: [NOWHERE], brokerUrls: [a.url] });
    expect((await fixed.brokerFor(names('whatever'))).url).toBe(a.url);
  });

  it('have tables with the names that the engine uses', async () => {
    const a = await fake();
    const { made, tell } = await cluster({ Secret_OFFLINE: [a], secret2_OFFLINE: [a], 'db.t_REALTIME': [a] });
    expect(await made.actualTables(names('SECRET', 'db.T', 'VIEW'))).toEqual(['Secret', 'db.t', 'View']);
    // Before 1.2 a prefix is ignored where there is no table with it, and there may be one that is not in the list yet.
    expect(await made.actualTables(names('unknown.secret2'))).toEqual(['unknown.secret2', 'secret2']);
    expect(await made.actualTables(names('No.Such'))).toEqual(['No.Such', 'no.such', 'Such', 'such']);
    tell({ Fresh_OFFLINE: [a] });
    now += 2_000;
    expect(await made.actualTables(names('fresh'))).toEqual(['Fresh']);
  });
});

describe('databases', () => {
  type Listing = Readonly<Record<string, readonly FakeEngine[]>>;

  /** A controller that lists one database at a time, as that of Pinot 1.2 and newer. @param listings brokers by table, by database */
  async function cluster(
    listings: Readonly<Record<string, Listing>>,
    logical: Readonly<Record<string, string[]>> = {},
  ) {
    const controller = await fake();
    const told = { listings, most: 0 };
    let now = 0;
    const list = (call: string, value: (database: string) => unknown) =>
      controller.answers.set(call, ({ headers }, response) => {
        told.most = Math.max(told.most, ++now);
        setImmediate(() => {
          now--;
          response.end(JSON.stringify(value(String(headers['database'] ?? 'default'))));
        });
      });
    controller.answers.set('GET /databases', (_, response) => {
      response.end(JSON.stringify(Object.keys(told.listings)));
    });
    list('GET /tables/livebrokers', (database) =>
      Object.fromEntries(
        Object.entries(told.listings[database] ?? {}).map(([table, brokers]) => [
          table,
          brokers.map(({ port }) => ({ host: '127.0.0.1', port })),
        ]),
      ),
    );
    list('GET /logicalTables', (database) => logical[database] ?? []);
    return { controller, told, made: engine({ controllerUrls: [controller.url] }) };
  }

  it('have their own tables, brokers and logical tables', async () => {
    const [a, b] = [await fake(), await fake()];
    const { made } = await cluster(
      { default: { customers_OFFLINE: [a] }, sales: { 'sales.customers_OFFLINE': [b], 'sales.Deals_REALTIME': [b] } },
      { sales: ['sales.view'] },
    );
    expect((await made.brokerFor(names('customers'))).url).toBe(a.url);
    expect((await made.brokerFor(names('sales.customers'))).url).toBe(b.url);
    await expect(made.brokerFor(names('customers', 'sales.customers'))).rejects.toMatchObject({ code: 'no-broker' });
    expect(await made.actualTables(names('SALES.deals', 'Sales.VIEW', 'customers'))).toEqual([
      'sales.Deals',
      'sales.view',
      'customers',
    ]);
  });

  it('make `x.t` the table of x alone, also where the list does not have it yet', async () => {
    const a = await fake();
    const { made, told, controller } = await cluster({ default: { t_OFFLINE: [a] } });
    expect(await made.actualTables(names('x.t'))).toEqual(['x.t']);
    expect(await made.actualTables(names('t'))).toEqual(['t']);
    told.listings = { default: { t_OFFLINE: [a] }, x: { 'x.T_OFFLINE': [a] } };
    const asked = controller.seen.length;
    expect(await made.actualTables(names('x.t'))).toEqual(['x.t']);
    expect(controller.seen).toHaveLength(asked);
    now += 2_000;
    expect(await made.actualTables(names('x.t'))).toEqual(['x.T']);
  });

  it('that appear with a controller of a new version count from the next list on', async () => {
    const a = await fake();
    const { made, controller } = await cluster({ default: { t_OFFLINE: [a] } });
    const listed = controller.answers.get('GET /databases')!;
    controller.json('GET /databases', { code: 404 }, 404);
    expect(await made.actualTables(names('x.t'))).toEqual(['x.t', 't']);
    controller.answers.set('GET /databases', listed);
    now += 30_000;
    await made.actualTables(names('t'));
    await expect.poll(() => made.actualTables(names('x.t'))).toEqual(['x.t']);
  });

  it('are read a few at a time, and all of them', async () => {
    const a = await fake();
    const listings = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`d${index}`, { [`d${index}.t_OFFLINE`]: [a] }]),
    );
    const { made, told } = await cluster({ ...listings, 'a b': {} });
    expect(await made.actualTables(names('D49.T', 'd0.T'))).toEqual(['d49.t', 'd0.t']);
    expect(told.most).toBeLessThanOrEqual(8);
  });

  it('that cannot be listed leave the known tables in use', async () => {
    const a = await fake();
    const { made, controller } = await cluster({ default: { t_OFFLINE: [a] }, x: { 'x.t_OFFLINE': [a] } });
    await made.actualTables(names('t'));
    controller.json('GET /databases', {}, 403);
    now += 2_000;
    expect(await made.actualTables(names('x.T', 'y.t'))).toEqual(['x.t', 'y.t']);
    const other = engine({ controllerUrls: [controller.url] });
    await expect(other.actualTables(names('t'))).rejects.toMatchObject({
      code: 'bad-response',
      message: expect.stringContaining('did not list its databases: it responded with status 403'),
    });
  });
});
