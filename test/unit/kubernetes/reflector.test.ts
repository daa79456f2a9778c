import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { StoreEvent } from '../../../src/store/resource-store.ts';
import { KindCache } from '../../../src/kubernetes/kind-cache.ts';
import { apiResource, fromApi } from '../../../src/kubernetes/objects.ts';
import { Reflector, type ReflectorTuning } from '../../../src/kubernetes/reflector.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { View } from '../../../src/store/view.ts';
import type { Role } from '../../../src/resources/kinds.ts';
import { configFor, failure, json, StubApi, TimerClock } from './stub-api.ts';
import { until } from '../../support/until.ts';

let api: StubApi;
let clock: TimerClock;
let transport: KubernetesTransport;
let view: View<'Role'>;
let events: StoreEvent<'Role'>[];
let errors: unknown[];
let reflector: Reflector<Role>;

const resource = apiResource('Role', 'default');

function create(tuning: Partial<ReflectorTuning> = {}): Reflector<Role> {
  reflector = new Reflector<Role>({
    transport,
    clock,
    tuning,
    name: resource.name,
    path: resource.path,
    sink: new KindCache(view),
    convert: (raw) => fromApi(raw, resource),
    onError: (error) => errors.push(error),
  });
  reflector.start();
  return reflector;
}

beforeEach(async () => {
  api = await StubApi.start();
  clock = new TimerClock();
  transport = new KubernetesTransport(configFor(api.url), { clock });
  events = [];
  errors = [];
  view = new View('Role', (error) => {
    throw error;
  });
  view.subscribe((event) => events.push(event));
});

afterEach(async () => {
  await reflector.stop();
  await transport.close();
  await api.close();
  expect(clock.pending.size, 'timers left behind').toBe(0);
});

const names = () => view.list().map(({ metadata }) => metadata.name);
const brief = () => events.map(({ type, object }) => `${type} ${object.metadata.name}`);
const watching = async () => until('a watch is open', () => api.watches.length === 1);
const policiesOf = (name: string) => view.get(name)?.spec.policies;
const messages = () => errors.map((error) => (error instanceof Error ? error.message : String(error)));

describe('the objects that a gateway lists', () => {
  test('reads page after page and watches from the version of the list', async () => {
    for (let i = 0; i < 7; i++) api.putSilently(`r${i}`);
    await create({ pageSize: 3 }).synced;
    expect(names()).toEqual(['r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r6']);
    expect(api.requests.slice(0, 3).map(({ query }) => [query.get('limit'), query.get('continue')])).toEqual([
      ['3', null],
      ['3', '3'],
      ['3', '6'],
    ]);
    await watching();
    expect(Object.fromEntries(api.last('watch'))).toMatchObject({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: String(api.version),
    });
  });

  test('an expired continue token starts a list in one page', async () => {
    for (let i = 0; i < 5; i++) api.putSilently(`r${i}`);
    api.script(
      'list',
      (response, request) => api.serveList(response, request),
      (response) => json(response, 410, failure(410, 'Expired')),
    );
    await create({ pageSize: 2 }).synced;
    expect(names()).toHaveLength(5);
    expect(api.count('list')).toBe(3);
    expect(api.last('list').get('limit')).toBeNull();
    expect(api.last('list').get('continue')).toBeNull();
  });

  test('an incomplete list is not applied', async () => {
    for (let i = 0; i < 4; i++) api.putSilently(`r${i}`);
    api.script(
      'list',
      (response, request) => api.serveList(response, request),
      (response) => json(response, 500, failure(500, 'InternalError')),
    );
    create({ pageSize: 2, backoff: { baseMs: 35_000, maxMs: 35_000, jitter: 'none' } });
    await until('a failure', () => errors.length === 1);
    expect(names()).toEqual([]);
    expect(reflector.health().synced).toBe(false);
    await clock.expire(35_000);
    await reflector.synced;
    expect(names()).toHaveLength(4);
  });

  test('a list that exceeds its time-out is repeated', async () => {
    api.putSilently('a');
    api.script('list', () => {});
    create();
    await until('a list', () => api.count('list') === 1);
    await clock.expire(60_000);
    await reflector.synced;
    expect(messages()).toEqual([expect.stringContaining('nothing received within 60000 ms')]);
    expect(names()).toEqual(['a']);
  });

  test('waits for a CRD that is not installed', async () => {
    const missing = Array.from({ length: 6 }, () => (response: Parameters<typeof json>[0]) => {
      response.writeHead(404, { 'content-type': 'text/plain' });
      response.end('404 page not found\n');
    });
    api.script('list', ...missing);
    clock.chance = 0.999;
    create();
    await until('three tries', () => errors.length >= 3);
    expect(reflector.health()).toMatchObject({
      synced: false,
      lastError: 'roles.olapwarden.io is not served: are the CRDs installed?',
    });
    await reflector.synced;
    expect(reflector.health().lastError).toBeUndefined();
    // The delay is at most five seconds.
    expect(Math.max(...clock.waits.filter((ms) => ms < 30_000))).toBeLessThanOrEqual(5000);
  });

  test.each([
    ['text that is not JSON', (response: Parameters<typeof json>[0]) => response.end('<html>')],
    ['no resource version', (response: Parameters<typeof json>[0]) => json(response, 200, { items: [] })],
    [
      'half a body',
      (response: Parameters<typeof json>[0]) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('{"items":');
        setTimeout(() => response.destroy(), 5);
      },
    ],
  ])('a response with %s is an error and is repeated', async (_what, behaviour) => {
    api.putSilently('a');
    api.script('list', behaviour);
    await create().synced;
    expect(errors).toHaveLength(1);
    expect(names()).toEqual(['a']);
  });
});

describe('the changes that a gateway watches', () => {
  test('applies events, and continues after the last one when the server ends the watch', async () => {
    await create().synced;
    await watching();
    api.put('a', ['p']);
    api.put('b');
    api.put('a', ['q']);
    api.remove('b');
    await until('the deletion', () => brief().includes('deleted b'));
    expect(brief()).toEqual(['added a', 'added b', 'modified a', 'deleted b']);
    api.endWatches();
    await until('a second watch', () => api.count('watch') === 2);
    expect(api.last('watch').get('resourceVersion')).toBe(String(api.version));
    expect(api.count('list')).toBe(1);
    expect(errors).toEqual([]);
  });

  test('the next watch starts from the last bookmark', async () => {
    await create().synced;
    await watching();
    api.bookmark(777);
    api.endWatches();
    await until('a second watch', () => api.count('watch') === 2);
    expect(api.last('watch').get('resourceVersion')).toBe('777');
    expect(events).toEqual([]);
  });

  test('reads an event that arrives in many chunks', async () => {
    await create().synced;
    await watching();
    const text = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: api.putSilently('größe') })}\n`);
    for (const byte of text) {
      api.watches[0]?.write(Buffer.from([byte]));
      if (byte > 127) await sleep(5); // within a character, so that it really comes in pieces
    }
    await until('the event', () => names().includes('größe'));
  });

  test('a watch that is answered with 410 causes a new list, which also deletes objects', async () => {
    api.putSilently('stays');
    api.putSilently('goes');
    await create().synced;
    await watching();
    api.removeSilently('goes');
    api.putSilently('stays', ['changed']);
    api.putSilently('comes');
    events.length = 0;
    api.script('watch', (response) => json(response, 410, failure(410, 'Expired')));
    api.endWatches();
    await until('a second list', () => api.count('list') === 2 && brief().length === 3);
    expect(brief()).toEqual(['deleted goes', 'added comes', 'modified stays']);
    await until('a third watch', () => api.count('watch') === 3);
    expect(api.last('watch').get('resourceVersion')).toBe(String(api.version));
  });

  test.each([
    ['410', failure(410, 'Expired')],
    [
      'a version from the future',
      failure(504, 'Timeout', { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } }),
    ],
  ])('%s as an event causes a new list', async (_what, object) => {
    api.putSilently('goes');
    await create().synced;
    await watching();
    api.removeSilently('goes');
    api.send({ type: 'ERROR', object });
    await until('a second list', () => api.count('list') === 2 && names().length === 0);
    expect(brief()).toEqual(['added goes', 'deleted goes']);
  });

  test('any other error as an event causes only a new watch', async () => {
    await create().synced;
    await watching();
    const { metadata } = api.put('a');
    api.send({ type: 'ERROR', object: failure(500, 'InternalError') });
    await until('a second watch', () => api.count('watch') === 2);
    expect(api.last('watch').get('resourceVersion')).toBe(metadata.resourceVersion);
    expect(api.count('list')).toBe(1);
    expect(messages()).toEqual(['stub says InternalError']);
  });

  test('an incomplete line is not applied; the event is read again', async () => {
    await create().synced;
    await watching();
    api.put('a', ['p']);
    const whole = JSON.stringify({ type: 'MODIFIED', object: api.putSilently('a', ['q']) });
    api.script('watch', (response) => {
      api.serveWatch(response);
      api.sendRaw(`${whole}\n`);
    });
    api.sendRaw(whole.slice(0, -20));
    api.endWatches();
    await until('the change', () => policiesOf('a')?.[0] === 'q');
    expect(brief()).toEqual(['added a', 'modified a']);
    expect(messages()).toEqual([expect.stringContaining('the response ended in the middle of a line')]);
    expect(api.count('list')).toBe(1);
  });

  test('a connection reset causes a new watch', async () => {
    await create().synced;
    await watching();
    api.put('a');
    await until('the first event', () => names().includes('a'));
    api.resetConnections();
    await until('a second watch', () => api.count('watch') === 2);
    await watching();
    api.put('b');
    await until('the next event', () => names().includes('b'));
    expect(api.count('list')).toBe(1);
    expect(errors).toHaveLength(1);
  });

  test('a line that is not JSON causes a new watch, and a new list if it occurs again', async () => {
    await create().synced;
    await watching();
    api.put('a');
    const garbage = (response: Parameters<typeof json>[0]) => {
      api.serveWatch(response);
      api.sendRaw('{"type":"ADD\u0000\n');
    };
    api.script('watch', garbage);
    api.sendRaw('not json\n');
    await until('a second list', () => api.count('list') === 2);
    await until('a third watch', () => api.count('watch') === 3);
    await watching();
    api.put('b');
    await until('the next event', () => names().includes('b'));
    expect(names()).toEqual(['a', 'b']);
  });

  test.each([
    ['null'],
    ['[]'],
    ['7'],
    ['{"type":"ADDED"}'],
    ['{"type":"ADDED","object":{"metadata":{}}}'],
    ['{"type":"NEW","object":{"metadata":{"resourceVersion":"999"}}}'],
  ])('the line %s causes only a new watch', async (line) => {
    await create().synced;
    await watching();
    api.sendRaw(`${line}\n`);
    await until('a second watch', () => api.count('watch') === 2);
    await watching();
    expect(errors).toHaveLength(1);
    api.put('a');
    await until('the next event', () => names().includes('a'));
  });

  test('a watch without any bytes is ended, and the next one continues', async () => {
    await create().synced;
    await watching();
    const { metadata } = api.put('a');
    await until('the event', () => names().includes('a'));
    await clock.expire(25_000);
    await until('a second watch', () => api.count('watch') === 2);
    expect(api.last('watch').get('resourceVersion')).toBe(metadata.resourceVersion);
    expect(messages()).toEqual([expect.stringContaining('nothing received within 25000 ms')]);
    await until('the first watch is closed', () => api.watches.length === 1);
  });

  test('a watch that exceeds its duration is ended', async () => {
    await create({ watchSeconds: [5, 5], watchGraceMs: 3000, idleMs: 60_000 }).synced;
    await watching();
    const chatter = setInterval(() => api.bookmark(), 20);
    try {
      await until('a second watch', () => api.count('watch') >= 2);
    } finally {
      clearInterval(chatter);
    }
    // The second watch may have exceeded its duration, too.
    expect(new Set(messages())).toEqual(new Set(['the watch of roles.olapwarden.io exceeded its duration']));
  });

  test('watches that end at once are repeated with growing delays', async () => {
    const short = Array.from({ length: 5 }, () => (response: Parameters<typeof json>[0]) => {
      response.writeHead(200);
      response.end();
    });
    api.script('watch', ...short);
    await create().synced;
    await until('the sixth watch', () => api.count('watch') === 6);
    expect(messages()).toEqual(Array(5).fill('the watch of roles.olapwarden.io ended at once, without any event'));
    const waits = clock.waits.filter((ms) => [400, 800, 1500].includes(ms));
    expect(waits).toEqual([400, 800, 1500, 1500, 1500]);
  });
});

describe('server errors', () => {
  test.each(['list', 'watch'] as const)('429 to a %s: waits for Retry-After plus the backoff', async (kind) => {
    api.script(kind, (response) => json(response, 429, failure(429, 'TooManyRequests'), { 'retry-after': '7' }));
    await create().synced;
    await watching();
    expect(errors).toHaveLength(1);
    expect(clock.waits).toContain(7000 + 0.5 * 800);
  });

  test('500: the delays double up to 3 s, and start again after a successful watch', async () => {
    const broken = (response: Parameters<typeof json>[0]) => json(response, 500, failure(500, 'InternalError'));
    api.script('list', ...Array.from({ length: 8 }, () => broken));
    clock.chance = 0.999_999;
    create();
    await until('eight failures', () => errors.length === 8);
    const waits = () => clock.waits.map((ms) => Math.round(ms)).filter((ms) => ms <= 3_000);
    await reflector.synced;
    expect(waits().slice(0, 8)).toEqual([800, 1600, 3000, 3000, 3000, 3000, 3000, 3000]);
    await watching();
    api.put('a');
    await until('the event', () => names().includes('a'));
    clock.waits.length = 0;
    api.resetConnections();
    await until('a second watch', () => api.count('watch') === 2);
    expect(waits()).toContain(800);
  });

  test('403: the delays grow further, but not those of an outage that follows, nor those after it', async () => {
    const answerWith = (status: number) => (response: Parameters<typeof json>[0]) =>
      json(response, status, failure(status, 'Stub'));
    const refused = Array.from({ length: 4 }, () => answerWith(403));
    const broken = Array.from({ length: 6 }, () => answerWith(503));
    api.script('list', ...refused, ...broken, answerWith(403));
    clock.chance = 0.999_999;
    create();
    await reflector.synced;
    const waits = clock.waits.map((ms) => Math.round(ms)).filter((ms) => ms < 10_000);
    expect(waits.slice(0, 11)).toEqual([800, 1600, 3200, 6400, 800, 1600, 3000, 3000, 3000, 3000, 800]);
  });

  test('after an outage of 45 s the view is current within five seconds', async () => {
    clock.chance = 0.999_999;
    await create().synced;
    await watching();
    api.put('a');
    await until('the event', () => names().includes('a'));
    const endsAt = clock.monotonic() + 45_000;
    const down = (response: Parameters<typeof json>[0]) => {
      if (clock.monotonic() < endsAt) json(response, 503, failure(503, 'ServiceUnavailable'));
      else api.serveWatch(response);
    };
    api.script('watch', ...Array.from({ length: 100 }, () => down));
    api.resetConnections();
    await until('a failure', () => reflector.health().lastError !== undefined);
    await until('the end of the outage', () => reflector.health().lastError === undefined);
    expect(clock.monotonic()).toBeGreaterThan(endsAt);
    expect(clock.monotonic() - endsAt).toBeLessThan(5_000);
  });

  test('410 after an outage: lists at once, but only once without a watch in between', async () => {
    await create().synced;
    await watching();
    const broken = (response: Parameters<typeof json>[0]) => json(response, 500, failure(500, 'InternalError'));
    const gone = (response: Parameters<typeof json>[0]) => json(response, 410, failure(410, 'Expired'));
    api.script('watch', ...Array.from({ length: 4 }, () => broken), gone, gone, gone);
    api.resetConnections();
    await until('a watch after four lists', () => api.count('list') === 4 && api.watches.length === 1);
    // Four 500 and the reset; the second and the third 410.
    const waits = clock.waits.filter((ms) => ms < 10_000);
    expect(waits).toEqual([400, 800, 1500, 1500, 1500, 1500, 1500]);
    api.bookmark();
    await until('the bookmark', () => reflector.health().lastError === undefined);
    clock.waits.length = 0;
    api.send({ type: 'ERROR', object: failure(410, 'Expired') });
    await until('a fifth list', () => api.count('list') === 5);
    await watching();
    expect(clock.waits.filter((ms) => ms < 10_000)).toEqual([]);
  });

  test('the view is available, and its age grows, while the server is unavailable', async () => {
    api.putSilently('a');
    await create({ backoff: { baseMs: 1000, maxMs: 1000 } }).synced;
    await watching();
    const refuse = (response: Parameters<typeof json>[0]) => json(response, 503, failure(503, 'ServiceUnavailable'));
    api.script('watch', ...Array.from({ length: 30 }, () => refuse));
    api.resetConnections();
    await until('failures', () => errors.length > 5);
    expect(names()).toEqual(['a']);
    const { lastContactAt, lastError, synced } = reflector.health();
    expect(synced).toBe(true);
    expect(lastError).toBe('stub says ServiceUnavailable');
    expect(clock.monotonic() - lastContactAt).toBeGreaterThan(1000);
    await until('a new watch', () => api.watches.length === 1);
    await until('no error', () => reflector.health().lastError === undefined);
    expect(reflector.health().lastContactAt).toBeGreaterThan(lastContactAt);
  });
});

describe('the end of a watch leaves no connection and no timer', () => {
  const nothingLeft = async () => {
    await reflector.stop();
    await transport.close();
    expect(clock.pending.size).toBe(0);
    await until('all connections are closed', () => api.connections === 0);
  };

  test('during a watch', async () => {
    await create().synced;
    await watching();
    await nothingLeft();
    expect(errors).toEqual([]);
  });

  test('during a delay', async () => {
    api.script('list', (response) => json(response, 429, failure(429, 'TooManyRequests'), { 'retry-after': '600' }));
    create();
    await until('a failure', () => errors.length === 1);
    await nothingLeft();
    expect(api.count('list')).toBe(1);
  });

  test('no event is delivered after it', async () => {
    await create().synced;
    await watching();
    const stopped = reflector.stop();
    api.put('late');
    await stopped;
    await sleep(20);
    expect(events).toEqual([]);
  });
});
