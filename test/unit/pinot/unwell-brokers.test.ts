import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEngine, type EngineOptions } from '../../../src/pinot/connection.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import type { Engine, EngineRequest } from '../../../src/pinot/types.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakeEngine, type Responder } from '../../support/fake-engine.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { within } from '../../support/until.ts';

const PATIENT = { timeout: WAIT_LIMIT_MS, interval: 5 };
const TABLES = [tableNameOf('events')];
const query: EngineRequest = { method: 'POST', path: '/query/sql', body: '{}', repeatable: true };
const never: Responder = () => undefined;
const well: Responder = (_request, response) => void response.end('rows');

let clock: FakeClock;
let brokers: FakeEngine[];
let problems: string[];
let engines: Engine[];

/** A controller and two brokers. */
function engineOf(options: Partial<EngineOptions> = {}): Engine {
  const made = createEngine({
    controllerUrls: ['http://127.0.0.1:1'],
    brokerUrls: brokers.map(({ url }) => url),
    clock,
    onProblem: (message) => problems.push(message),
    ...options,
  });
  engines.push(made);
  return made;
}

const queriesOf = ({ seen }: FakeEngine): number => seen.filter(({ method }) => method === 'POST').length;
const probesOf = ({ seen }: FakeEngine): number => seen.filter(({ url }) => url === '/health').length;
const [one, two] = [() => brokers[0] as FakeEngine, () => brokers[1] as FakeEngine];

async function ask(engine: Engine, request: Partial<EngineRequest> = {}): Promise<string> {
  const broker = await engine.brokerFor(TABLES);
  const { status, body, url } = await broker.request({ ...query, ...request });
  let text = '';
  for await (const piece of body) text += String(piece);
  return `${status} ${text} of ${url === one().url ? 'one' : 'two'}`;
}

beforeEach(async () => {
  clock = new FakeClock();
  problems = [];
  engines = [];
  brokers = [new FakeEngine(), new FakeEngine()];
  for (const broker of brokers) {
    broker.otherwise = well;
    await broker.listen();
  }
});

afterEach(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await Promise.all(brokers.map((broker) => broker.close()));
});

describe('a broker that accepts connections and responds to nothing', () => {
  /** Lets the queries wait until the broker was probed in vain. */
  async function untilProbed(broker: FakeEngine, probes = 1): Promise<void> {
    await settle();
    await clock.advance(2_000);
    await expect.poll(() => probesOf(broker), PATIENT).toBe(probes);
    await clock.advance(2_000);
  }

  it('is left by all queries that wait for it, and avoided until it responds again', async () => {
    const engine = engineOf();
    one().otherwise = never;
    const waiting = Promise.all(Array.from({ length: 6 }, () => ask(engine)));
    await expect.poll(() => queriesOf(one()), PATIENT).toBe(3);
    await untilProbed(one());
    const answers = await within('the queries', waiting, WAIT_LIMIT_MS);
    expect(new Set(answers)).toEqual(new Set(['200 rows of two']));
    expect(probesOf(one())).toBe(1);
    // It is asked by probes alone now, one at a time.
    for (let i = 0; i < 10; i++) expect(await ask(engine)).toBe('200 rows of two');
    expect([queriesOf(one()), probesOf(one())]).toEqual([3, 1]);
    await clock.advance(1_000);
    one().otherwise = well;
    await ask(engine);
    await expect.poll(() => probesOf(one()), PATIENT).toBe(2);
    await expect.poll(async () => [await ask(engine), await ask(engine)].sort(), PATIENT).toContain('200 rows of one');
  });

  it('is left also when it stopped within the first bytes of its response', async () => {
    const engine = engineOf();
    one().otherwise = (request, response) => {
      if (request.method === 'POST') response.writeHead(200, { 'content-length': 100 }).write('ro');
    };
    const both = Promise.all([ask(engine), ask(engine)]);
    await expect.poll(() => queriesOf(one()), PATIENT).toBe(1);
    // The response has begun, so that the first look finds progress.
    await settle();
    await clock.advance(2_000);
    await untilProbed(one());
    expect(await within('the queries', both, WAIT_LIMIT_MS)).toEqual(['200 rows of two', '200 rows of two']);
  });

  it('is waited for where no other one serves the tables, such as during a pause of its JVM', async () => {
    const engine = engineOf({ brokerUrls: [one().url] });
    let respond = (): void => undefined;
    one().otherwise = ({ method }, response) => {
      if (method === 'POST') respond = () => void response.end('late');
    };
    const answer = ask(engine);
    await expect.poll(() => queriesOf(one()), PATIENT).toBe(1);
    await untilProbed(one());
    await clock.advance(10_000);
    respond();
    expect(await answer).toBe('200 late of one');
    expect(queriesOf(one())).toBe(1);
  });

  it('is waited for by a query that must not be repeated; others go elsewhere', async () => {
    const engine = engineOf();
    one().otherwise = never;
    const outcome = expect(ask(engine, { repeatable: false, headersTimeoutMs: 20_000 })).rejects.toMatchObject({
      code: 'timeout',
    });
    await expect.poll(() => queriesOf(one()), PATIENT).toBe(1);
    await untilProbed(one());
    for (let i = 0; i < 4; i++) expect(await ask(engine)).toBe('200 rows of two');
    await clock.advance(20_000);
    await outcome;
    expect([queriesOf(one()), queriesOf(two())]).toEqual([1, 4]);
  });
});

it('a long query on a broker that responds to probes is not sent to another one', async () => {
  const engine = engineOf();
  let respond = (): void => undefined;
  one().otherwise = ({ method }, response) => {
    if (method === 'POST') respond = () => void response.end('late');
    else response.writeHead(503).end();
  };
  const answer = ask(engine);
  await expect.poll(() => queriesOf(one()), PATIENT).toBe(1);
  for (let second = 0; second < 60; second += 2) {
    await clock.advance(2_000);
    await settle();
  }
  expect(probesOf(one())).toBeGreaterThan(1);
  respond();
  expect(await answer).toBe('200 late of one');
  expect(queriesOf(two())).toBe(0);
});

describe('a broker that rejects the credential of the gateway', () => {
  const rejects =
    (status: number): Responder =>
    (_request, response) =>
      void response.writeHead(status).end('Permission is denied');

  it.each([401, 403])(
    'with status %i is replaced by another one, avoided, and reported once in a minute',
    async (status) => {
      const engine = engineOf();
      one().otherwise = rejects(status);
      for (let i = 0; i < 20; i++) expect(await ask(engine)).toBe('200 rows of two');
      expect(queriesOf(one())).toBe(1);
      for (let minute = 0; minute < 60; minute += 11) {
        for (let i = 0; i < 2; i++) expect(await ask(engine)).toBe('200 rows of two');
        await clock.advance(11_000);
      }
      expect(problems.filter((message) => message.includes('rejects'))).toEqual([
        `the broker ${one().url} rejects the credential of the gateway with status ${status}, which another broker accepts`,
      ]);
      one().otherwise = well;
      await clock.advance(11_000);
      expect([await ask(engine), await ask(engine)].sort()).toEqual(['200 rows of one', '200 rows of two']);
    },
  );

  it('does not execute a query that must not be repeated, so that another one gets it', async () => {
    const engine = engineOf();
    one().otherwise = rejects(401);
    for (let i = 0; i < 4; i++) expect(await ask(engine, { repeatable: false })).toBe('200 rows of two');
  });

  it('is not avoided if all reject it, because the access of the gateway to a table may be missing', async () => {
    const engine = engineOf();
    for (const broker of brokers) broker.otherwise = rejects(403);
    for (let i = 0; i < 2; i++) expect(await ask(engine)).toContain('403 Permission is denied');
    for (const broker of brokers) broker.otherwise = well;
    expect([await ask(engine), await ask(engine)].sort()).toEqual(['200 rows of one', '200 rows of two']);
    expect(problems.filter((message) => message.includes('rejects'))).toEqual([]);
  });
});
