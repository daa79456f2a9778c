// @module-tag slow
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../src/health/catalogue.ts';
import { createGather } from '../../src/health/gather/gather.ts';
import { runChecks } from '../../src/health/run/run.ts';
import { resolveSettings } from '../../src/health/settings.ts';
import type { Engine, EngineEndpoint, EngineResponse } from '../../src/pinot/types.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { type Standalone, startStandalone } from '../support/service.ts';
import { SlowCluster } from '../support/slow-cluster.ts';
import { StubEngine } from '../support/stub-engine.ts';
import { checkAsync, JSON_MARKS, mutated } from './support/fuzz.ts';

// An engine with any responses: each request of a client ends with a response of the engine that is valid HTTP, or with a documented error; each health run ends.

const ANSWER = JSON.stringify({
  resultTable: {
    dataSchema: { columnNames: ['city', 'n'], columnDataTypes: ['STRING', 'LONG'] },
    rows: [
      ['Oslo', 1],
      ['Bergen \u00e6', 9007199254740991],
      [null, -1.5e300],
    ],
  },
  exceptions: [],
  tablesQueried: ['orders'],
  numDocsScanned: 3,
});
const HEAD = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(ANSWER)}\r\n\r\n`;
const CHUNKED = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${Buffer.byteLength(ANSWER).toString(16)}\r\n`;
const text = (value: string): string => Buffer.from(value).toString('latin1');
const FRAMING = [
  '\r\n',
  '\r',
  '\n',
  '\r\n\r\n',
  'Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
];
const HEADERS = [
  'Content-Encoding: gzip\r\n',
  'Connection: close\r\n',
  'Set-Cookie: a=b\r\n',
  'Location: http://127.0.0.1:9/\r\n',
];
const JSON_PIECES = [...JSON_MARKS, 'null', '1e999', '-', '\\', '\\ud800', '\u00ff', '\u0000', '"rows":'];
const NESTED = ['['.repeat(5_000), '{"a":'.repeat(5_000), '"'.repeat(999)];
/** Bytes of a response, also several or a part. */
const response = fc.oneof(
  mutated(text(HEAD + ANSWER), ...FRAMING, ...HEADERS, ...JSON_PIECES, ...NESTED),
  mutated(text(`${CHUNKED}${ANSWER}\r\n0\r\n\r\n`), ...FRAMING, ...JSON_PIECES),
  // A valid frame with another status or other content.
  fc
    .record({ status: fc.integer({ min: 199, max: 600 }), body: mutated(text(ANSWER), ...JSON_PIECES, ...NESTED) })
    .map(
      ({ status, body }) =>
        `HTTP/1.1 ${status} S\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ),
  fc.string({ unit: 'binary-ascii', maxLength: 40 }),
);

const SQL = { sql: 'SELECT city, n FROM orders LIMIT 100' };
const WAYS = [
  ['a query', 'POST', '/query/sql', SQL],
  ['a paginated query', 'POST', '/query/sql?doPaginate=true&numRows=2', SQL],
  ['a call of the controller', 'GET', '/instances/Server_1', undefined],
  ['a list of the controller', 'GET', '/tables', undefined],
] as const;

interface Outcome {
  readonly status: number;
  readonly text: string;
  readonly cookie: string | null;
}

describe('a gateway whose engine has any responses', () => {
  let engine: StubEngine;
  let gateway: Standalone;
  let next: string | undefined;
  beforeAll(async () => {
    engine = new StubEngine(['orders_OFFLINE']);
    engine.responder = (_request, socket) => {
      if (next === undefined) return { body: ANSWER };
      socket.end(Buffer.from(next, 'latin1'));
      return undefined;
    };
    await engine.listen();
    gateway = await startStandalone({
      controllers: engine.url,
      'max-requests-per-second': 0,
      'max-failed-attempts': 1_000_000,
      'query-timeout': '10s',
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await engine.close();
  });

  async function ask(method: string, path: string, body: unknown): Promise<Outcome> {
    const answer = await gateway.call(method, path, body);
    return { status: answer.status, text: await answer.text(), cookie: answer.headers.get('set-cookie') };
  }

  it.each(WAYS)(
    'returns for %s no header by which a browser changes how it treats the gateway',
    async (_name, method, path, body) => {
      const about = {
        'Set-Cookie': 'olap-warden-session=x; Path=/',
        'Clear-Site-Data': '"*"',
        'Alt-Svc': 'h2="attacker.example:443"',
        'Report-To': '{"endpoints":[{"url":"https://attacker.example"}]}',
        'Access-Control-Allow-Origin': 'https://attacker.example',
        'Access-Control-Allow-Credentials': 'true',
        'Content-Security-Policy': 'default-src *',
        'X-Frame-Options': 'ALLOWALL',
        'Referrer-Policy': 'unsafe-url',
        Refresh: '0; url=https://attacker.example',
        'X-Request-Id': 'of-the-engine',
      };
      const lines = Object.entries({ ...about, 'X-Kept': 'yes' }).map(([name, value]) => `${name}: ${value}\r\n`);
      next = text(HEAD.replace('Content-Length', `${lines.join('')}Content-Length`) + ANSWER);
      const { status, headers } = await gateway.call(method, path, body);
      next = undefined;
      expect(status).toBe(200);
      for (const [name, value] of Object.entries(about)) expect(headers.get(name) ?? '').not.toContain(value);
      expect(headers.get('x-frame-options')).toBe('SAMEORIGIN');
      expect(headers.get('x-request-id')).toMatch(/^\S+$/);
      if (path === '/query/sql') expect(headers.get('x-kept')).toBe('yes');
    },
  );

  it.each(WAYS)('responds to %s', async (_name, method, path, body) => {
    let served = 0;
    await checkAsync(
      response,
      async (bytes) => {
        next = bytes;
        const outcome = await ask(method, path, body).catch((error: unknown) => {
          // Aborted, because the response had begun.
          if (error instanceof TypeError) return undefined;
          throw error;
        });
        next = undefined;
        if (outcome === undefined) return;
        if (outcome.status === 200) served++;
        else if (outcome.status >= 500 && !bytes.includes(` ${outcome.status} `)) {
          expect([502, 503, 504], outcome.text).toContain(outcome.status);
          expect(JSON.parse(outcome.text)).toMatchObject({ status: outcome.status, message: expect.any(String) });
          expect(outcome.text).not.toMatch(/\bat .*\.ts:\d/);
        }
        // The engine sets no cookie for the gateway's address.
        expect(outcome.cookie).toBeNull();
        // A stored result was parsed. A query without pagination is passed on as the engine frames it.
        if (path.includes('doPaginate') && outcome.status === 200) JSON.parse(outcome.text);
      },
      300,
    );
    expect(served).toBeGreaterThan(0);
    const { status } = await ask(method, path, body);
    expect(status).toBe(200);
  });
});

/** A cluster whose responses to some requests are changed. */
class ChangedCluster implements Engine {
  readonly #cluster = new SlowCluster(2, new FakeClock());
  readonly #change: (body: string, request: number) => string;
  #requests = 0;

  constructor(change: (body: string, request: number) => string) {
    this.#change = change;
  }

  get controller(): EngineEndpoint {
    return this.endpoint('http://controller');
  }

  async brokerFor(): Promise<EngineEndpoint> {
    return this.endpoint('http://broker');
  }

  endpoint(url: string): EngineEndpoint {
    const plain = this.#cluster.endpoint(url);
    return { url, request: async (request) => this.#changed(await plain.request(request)) };
  }

  close(): Promise<void> {
    return this.#cluster.close();
  }

  async #changed(answer: EngineResponse): Promise<EngineResponse> {
    const body = (await buffer(answer.body)).toString('latin1');
    return { ...answer, body: Readable.from([Buffer.from(this.#change(body, this.#requests++), 'latin1')]) };
  }
}

describe('a health run', () => {
  const edit = fc.record({
    request: fc.nat({ max: 60 }),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    removed: fc.oneof(fc.constant(0), fc.nat({ max: 10 }), fc.constant(1e9)),
    insert: fc.constantFrom(
      '',
      ...JSON_PIECES,
      ...NESTED,
      '[]',
      '{}',
      '{"id":null}',
      '"simpleFields":null,',
      '-1',
      '"__proto__":{"a":1},',
    ),
  });

  it('ends with a result of each check, whatever the engine responds', async () => {
    const needed = { settings: resolveSettings({}), clock: systemClock };
    let evaluated = 0;
    await checkAsync(
      fc.array(edit, { maxLength: 4 }),
      async (edits) => {
        const engine = new ChangedCluster((body, request) =>
          edits
            .filter((one) => one.request === request)
            .reduce((changed, { at, removed, insert }) => {
              const from = Math.floor(at * changed.length);
              return changed.slice(0, from) + insert + changed.slice(from + removed);
            }, body),
        );
        const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
        const gather = createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 });
        const { results } = await runChecks({ ...needed, gather, signal });
        expect(signal.aborted).toBe(false);
        expect(results.length).toBe(CATALOGUE.length);
        evaluated += results.filter(({ outcome }) => !outcome.couldNotEvaluate).length;
        expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('a');
      },
      { short: 60, maxCpuMs: 2_000 },
    );
    expect(evaluated).toBeGreaterThan(0);
  });
});
