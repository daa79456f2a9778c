import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { paginatedQueries } from '../../../../src/api/queries/index.ts';
import { acceptedCoding } from '../../../../src/api/server/content-coding.ts';
import { memoryQueue } from '../../../../src/api/server/admission/memory.ts';
import { PaginatedQueries } from '../../../../src/results/submit/paginated-queries.ts';
import { DEFAULT_PAGINATION_SETTINGS, type PaginationSettings } from '../../../../src/results/settings.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { ALICE, allowAll, testApp } from '../../../support/app.ts';
import { answerText, responseOf, rowTexts, StubEndpoint } from '../../results/answers.ts';
import { engineOf } from './gateways.ts';

const ROWS = rowTexts(100_000);

describe('the content coding of a response', () => {
  it.each([
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip;q=1.0, zstd;q=0.5', 'gzip'],
    ['zstd;q=0, gzip', 'gzip'],
    ['ZSTD', 'zstd'],
    ['*', 'zstd'],
    ['*;q=0.5, zstd;q=0', 'gzip'],
    ['identity;q=1, gzip;q=0.5', undefined],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['gzip;q=0', undefined],
    ['gzip;q=2', undefined],
    ['gzip;q=abc', undefined],
    ['br, deflate', undefined],
    ['', undefined],
  ])('is selected by `Accept-Encoding: %s`', (header, coding) => {
    expect(acceptedCoding(header)).toBe(coding);
  });
});

describe('a compressed response', { tags: 'slow' }, () => {
  let app: FastifyInstance;
  let settings: PaginationSettings;
  let id: string;

  beforeEach(async () => {
    settings = { ...DEFAULT_PAGINATION_SETTINGS, maxPageSize: 1_000_000 };
    const endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(answerText(ROWS));
    let seed = 0;
    const queries = new PaginatedQueries({
      store: new MemoryStore({ maxBytes: 100_000_000 }),
      settings: () => settings,
      identity: { id: 'gateway-0', host: 'gateway-0.test', port: 8080 },
      clock: { now: () => 1_700_000_000_000 },
      random: (bytes) => new Uint8Array(bytes).fill(++seed),
    });
    app = await testApp({
      authorizer: allowAll,
      parts: {
        authenticator: { name: 'fixed', authenticate: async () => ({ outcome: 'authenticated', principal: ALICE }) },
        dataPlane: { engine: engineOf(endpoint), queries, settings: () => settings, memory: memoryQueue() },
      },
      register: (scope) => paginatedQueries(scope, { queries }),
    });
    const payload = { sql: 'SELECT * FROM orders' };
    const answer = await app.inject({ method: 'POST', url: '/query/sql?doPaginate=true&numRows=1', payload });
    id = answer.json<{ requestId: string }>().requestId;
  });
  afterEach(() => app.close());

  const get = (query: string, headers: Record<string, string> = {}) =>
    app.inject({ url: `/query/${id}/results${query}`, headers });

  describe.each([
    ['gzip', gunzipSync],
    ['zstd', zstdDecompressSync],
  ] as const)('with %s', (coding, decompress) => {
    it.each(['?offset=0&numRows=1000', '?offset=10&numRows=99990', '?format=jsonl', '?format=csv', '?format=arrow'])(
      'has the same content: %s',
      async (query) => {
        const plain = await get(query);
        const coded = await get(query, { 'accept-encoding': coding });
        expect(coded.statusCode).toBe(200);
        expect(coded.headers).toMatchObject({ 'content-encoding': coding, vary: 'accept, accept-encoding' });
        expect(coded.headers).not.toHaveProperty('content-length');
        expect(coded.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
        expect(decompress(coded.rawPayload).equals(plain.rawPayload)).toBe(true);
        expect(plain.headers).not.toHaveProperty('content-encoding');
        expect(plain.headers['vary']).toBe('accept, accept-encoding');
      },
    );

    it('has its own ETag and no ranges; a range is one of the uncompressed response', async () => {
      const plain = await get('?format=jsonl');
      const coded = await get('?format=jsonl', { 'accept-encoding': coding });
      expect(coded.headers.etag).not.toBe(plain.headers.etag);
      expect(coded.headers['accept-ranges']).toBe('none');
      const part = await get('?format=jsonl', { 'accept-encoding': coding, range: 'bytes=100-199' });
      expect(part.statusCode).toBe(206);
      expect(part.headers).not.toHaveProperty('content-encoding');
      expect(part.body).toBe(plain.rawPayload.toString('utf8', 100, 200));
      // The bytes after those of a compressed response cannot be had: the response is sent as a whole.
      const whole = await get('?format=jsonl', { range: 'bytes=100-', 'if-range': coded.headers.etag as string });
      expect(whole.statusCode).toBe(200);
    });
  });

  it('is not used for small pages, for HTTP/1.0, or where it is disabled', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    expect((await get('?offset=0&numRows=10', headers)).headers).not.toHaveProperty('content-encoding');
    expect((await get('?offset=0&numRows=1000', headers)).headers).toHaveProperty('content-encoding');
    settings = { ...settings, compression: false };
    expect((await get('?offset=0&numRows=1000', headers)).headers).not.toHaveProperty('content-encoding');
  });
});
