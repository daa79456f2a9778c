import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clusterResource, formatSrn } from '../../../../src/access/policy/srn.ts';
import { memoryQueue } from '../../../../src/api/server/admission/memory.ts';
import { paginatedQueries } from '../../../../src/api/queries/index.ts';
import { PaginatedQueries } from '../../../../src/results/submit/paginated-queries.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { ALICE, authorizerBy, testApp } from '../../../support/app.ts';
import { validAuditLog } from '../../../support/audit-records.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import type { AuditRecord } from '../../../../src/api/server/logs/audit-record.ts';
import { engineOf } from './gateways.ts';
import { readRecording } from '../../../support/replay-engine.ts';
import { answerText, DATA_SCHEMA, responseOf, rowTexts, StubEndpoint } from '../../results/answers.ts';

const NOW = 1_700_000_000_000;

describe('paginated queries over HTTP', () => {
  let now = NOW;
  let endpoint: StubEndpoint;
  let store: MemoryStore;
  let app: FastifyInstance;
  let principal = ALICE;
  let denied: Set<string>;
  let settings = DEFAULT_PAGINATION_SETTINGS;
  let records: AuditRecord[];

  beforeEach(async () => {
    now = NOW;
    principal = ALICE;
    denied = new Set();
    records = [];
    settings = { ...DEFAULT_PAGINATION_SETTINGS, pageSize: 4, maxPageSize: 6 };
    endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(answerText(rowTexts(10)), { chunkBytes: 7 });
    store = new MemoryStore({ maxBytes: 1_000_000 });
    let seed = 0;
    const queries = new PaginatedQueries({
      store,
      settings: () => settings,
      identity: { id: 'Broker_gateway-0_8080', host: 'gateway-0.test', port: 8080 },
      clock: { now: () => now },
      random: (bytes) => new Uint8Array(bytes).fill(++seed),
    });
    app = await testApp({
      authorizer: authorizerBy((_who, action, resource) => !denied.has(`${action} ${formatSrn(resource)}`)),
      parts: {
        audit: validAuditLog(records, new FakeClock()),
        authenticator: { name: 'fixed', authenticate: async () => ({ outcome: 'authenticated', principal }) },
        dataPlane: { engine: engineOf(endpoint), queries, settings: () => settings, memory: memoryQueue() },
      },
      register: (scope) => paginatedQueries(scope, { queries }),
    });
  });
  afterEach(() => app.close());

  const submit = (query = 'doPaginate=true', sql = 'SELECT * FROM orders LIMIT 10') =>
    app.inject({ method: 'POST', url: `/query/sql?${query}`, payload: { sql } });

  async function submitted(): Promise<string> {
    return (await submit()).json<{ requestId: string }>().requestId;
  }

  it('returns the first page with the fields in the order of the specification, and its rows byte for byte', async () => {
    const answer = await submit();
    expect(answer.statusCode).toBe(200);
    const { requestId } = answer.json<{ requestId: string }>();
    const rows = rowTexts(10).slice(0, 4).join(',');
    expect(answer.body).toBe(
      `{"resultTable":{"dataSchema":${DATA_SCHEMA},"rows":[${rows}]},"requestId":"${requestId}","brokerId":"Broker_gateway-0_8080",` +
        '"numRowsResultSet":10,"offset":0,"numRows":4,"nextOffsetParams":"offset=4&numRows=4",' +
        `"nextUrl":"/query/${requestId}/results?offset=4&numRows=4","exceptions":[],` +
        `"brokerHost":"gateway-0.test","brokerPort":8080,"submissionTimeMs":${NOW},"expirationTimeMs":${NOW + 3_600_000},` +
        `"bytesWritten":${Buffer.byteLength(rowTexts(10).join(','))},"cursorResultWriteTimeMs":0,"cursorFetchTimeMs":0,` +
        '"numServersQueried":1,"numDocsScanned":3,"timeUsedMs":12,"traceInfo":{},' +
        '"minConsumingFreshnessTimeMs":9007199254740993,"realtimeTotalCpuTimeNs":0}',
    );
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(answer.body)),
      'x-request-id': expect.any(String),
      link: `</query/${requestId}/results?offset=4&numRows=4>; rel="next"`,
      vary: 'accept, accept-encoding',
    });
  });

  it('sends the engine only the query, in a new body', async () => {
    const payload = '{ "trace": "true", "sql" : "SELECT * FROM orders" }';
    const headers = { 'content-type': 'text/plain', database: 'sales', cookie: 'secret=1', 'x-request-id': 'r' };
    await app.inject({ method: 'POST', url: '/query/sql?doPaginate=true&numRows=2', payload, headers });
    const [asked] = endpoint.requests;
    expect(asked).toMatchObject({ method: 'POST', path: '/query/sql' });
    expect(JSON.parse(asked!.body as string)).toEqual({ sql: 'SELECT * FROM "sales"."orders"', trace: true });
    expect(asked!.headers).toEqual({
      'accept-encoding': 'identity',
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'r',
      database: 'sales',
    });
  });

  it.each([
    ['SELECT * FROM orders', 10, true],
    ['SELECT * FROM orders', 9, false],
    ['SELECT * FROM orders LIMIT 10', 10, false],
    ['SET useMultistageEngine = true; SELECT * FROM orders', 10, false],
    ['SELECT city FROM orders WHERE id IN (SELECT id FROM orders LIMIT 5)', 10, true],
  ])('warns on each page that `%s` with %i rows may be cut: %s', async (sql, rows, isWarned) => {
    endpoint.answer = () => responseOf(answerText(rowTexts(rows)));
    const first = (await submit('doPaginate=true', sql)).json<{ requestId: string }>();
    const next = (await app.inject(`/query/${first.requestId}/results?offset=5`)).json<object>();
    for (const page of [first, next]) {
      const warnings = [
        expect.stringContaining('the query has no LIMIT, so the engine returned at most its default of 10'),
      ];
      if (isWarned) expect(page).toMatchObject({ warnings });
      else expect(page).not.toHaveProperty('warnings');
    }
    settings = { ...settings, defaultLimit: 0 };
    expect((await submit('doPaginate=true', sql)).json()).not.toHaveProperty('warnings');
  });

  it('renews the expiration of a result that is read, up to a maximum, and rarely', async () => {
    const HOUR = 3_600_000;
    settings = { ...settings, expirationMs: HOUR, maxExpirationMs: 2 * HOUR };
    const id = await submitted();
    const expiration = async (): Promise<number> => {
      const [listed] = (await app.inject('/query/resultStore')).json<{
        resultMetadataList: { expirationTimeMs: number }[];
      }>().resultMetadataList;
      return listed!.expirationTimeMs - NOW;
    };
    const readAfter = async (ms: number): Promise<number> => {
      now = NOW + ms;
      return (await app.inject(`/query/${id}/results?offset=0`)).statusCode;
    };
    expect(await expiration()).toBe(HOUR);
    // Not for each page.
    expect([await readAfter(60_000), await expiration()]).toEqual([200, HOUR]);
    expect([await readAfter(HOUR - 1), await expiration()]).toEqual([200, 2 * HOUR - 1]);
    // Not by a caller who may not read it, and not by other calls.
    denied.add('Query srn2:cluster#pinot:table#orders');
    expect([await readAfter(2 * HOUR - 10), await expiration()]).toEqual([200, 2 * HOUR - 1]);
    denied.clear();
    // The maximum.
    expect([await readAfter(2 * HOUR - 2), await expiration()]).toEqual([200, 2 * HOUR - 1]);
    expect(await readAfter(2 * HOUR)).toBe(404);
  });

  it('accepts the engine’s spelling, and a query in the query string', async () => {
    const sql = encodeURIComponent('SELECT * FROM orders');
    const answer = await app.inject(`/query/sql?sql=${sql}&getCursor=true&numRows=3`);
    expect(answer.json()).toMatchObject({ numRows: 3, numRowsResultSet: 10 });
    expect(endpoint.requests[0]).toMatchObject({ method: 'POST', path: '/query/sql' });
    expect(JSON.parse(endpoint.requests[0]!.body as string)).toEqual({ sql: 'SELECT * FROM "orders"' });
  });

  it('is read, listed and deleted at the paths of Pinot, with the fields of Pinot', async () => {
    const answer = await app.inject({
      method: 'POST',
      url: '/query/sql?getCursor=true',
      payload: { sql: 'SELECT * FROM orders' },
    });
    const { requestId: id } = answer.json<{ requestId: string }>();
    for (const query of ['offset=3&numRows=3', 'offset=9']) {
      const page = await app.inject(`/responseStore/${id}/results?${query}`);
      expect(page.statusCode).toBe(200);
      expect(page.body).toBe((await app.inject(`/query/${id}/results?${query}`)).body);
    }
    expect((await app.inject(`/responseStore/${id}/results`)).json()).toMatchObject({ offset: 0, numRows: 4 });
    const metadata = await app.inject(`/responseStore/${id}`);
    const recorded = JSON.parse(readRecording('1.5.1', 'cursor/meta').body) as Record<string, unknown>;
    const found = metadata.json<Record<string, unknown>>();
    // The fields of the store; the statistics are those of the engine.
    for (const name of [
      'requestId',
      'brokerId',
      'numRowsResultSet',
      'offset',
      'numRows',
      'submissionTimeMs',
      'expirationTimeMs',
      'bytesWritten',
      'brokerHost',
      'brokerPort',
      'tablesQueried',
      'exceptions',
      'numDocsScanned',
    ])
      expect([name, typeof found[name]]).toEqual([name, typeof recorded[name]]);
    expect(found).not.toHaveProperty('resultTable');
    expect(found).toMatchObject({ requestId: id, numRowsResultSet: 10, numRows: 10, tablesQueried: ['orders'] });
    expect(metadata.body).toContain('"minConsumingFreshnessTimeMs":9007199254740993');
    expect((await app.inject('/responseStore')).json()).toEqual([found]);
    const deleted = await app.inject({ method: 'DELETE', url: `/responseStore/${id}` });
    expect([deleted.statusCode, deleted.body]).toEqual([200, `Query Results for ${id} deleted.`]);
    for (const path of [`/responseStore/${id}/results`, `/responseStore/${id}`, '/responseStore/12345'])
      expect((await app.inject(path)).statusCode).toBe(404);
    expect((await app.inject('/responseStore')).json()).toEqual([]);
  });

  it('has the same rights at the paths of Pinot', async () => {
    const id = await submitted();
    denied.add('Query srn2:table#orders');
    for (const path of [`/responseStore/${id}/results`, `/responseStore/${id}`])
      expect((await app.inject(path)).statusCode).toBe(403);
    denied = new Set([`GetResponseStore ${formatSrn(clusterResource)}`]);
    expect((await app.inject('/responseStore')).statusCode).toBe(403);
    // Unknown parameters and methods are refused as at the other paths.
    expect((await app.inject(`/responseStore/${id}/results?offste=1`)).statusCode).toBe(400);
    expect((await app.inject({ method: 'POST', url: `/responseStore/${id}/results` })).statusCode).toBe(405);
  });

  it('has a link to each next page, whatever the host that the client names', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-prefix': '/evil' };
    const found: unknown[] = [];
    let answer = await app.inject({ url: `/query/${await submitted()}/results?offset=0&numRows=3`, headers });
    for (;;) {
      const page = answer.json<{ resultTable: { rows: unknown[] }; nextUrl?: string }>();
      found.push(...page.resultTable.rows);
      expect(answer.headers.link).toBe(page.nextUrl === undefined ? undefined : `<${page.nextUrl}>; rel="next"`);
      expect(answer.body + JSON.stringify(answer.headers)).not.toContain('evil');
      if (page.nextUrl === undefined) break;
      answer = await app.inject({ url: page.nextUrl, headers });
    }
    expect(found).toEqual(JSON.parse(`[${rowTexts(10).join(',')}]`));
  });

  it('serves pages in any order and of any size', async () => {
    const id = await submitted();
    const all = rowTexts(10);
    for (const [offset, numRows, expected] of [
      [7, 3, 3],
      [0, 1, 1],
      [3, 6, 6],
      [8, 5, 2],
      [9, 1, 1],
    ] as const) {
      const answer = await app.inject(`/query/${id}/results?offset=${offset}&numRows=${numRows}`);
      expect(answer.body).toContain(`"rows":[${all.slice(offset, offset + expected).join(',')}]}`);
      expect(answer.json()).toMatchObject({ offset, numRows: expected, numRowsResultSet: 10 });
      expect(answer.json<object>()).toEqual(
        offset + expected < 10
          ? expect.objectContaining({ nextOffsetParams: `offset=${offset + expected}&numRows=${expected}` })
          : expect.not.objectContaining({ nextOffsetParams: expect.anything() }),
      );
    }
  });

  it('uses the current page size of the settings, and clips at the maximum', async () => {
    const id = await submitted();
    expect((await app.inject(`/query/${id}/results?offset=0`)).json()).toMatchObject({ numRows: 4 });
    settings = { ...settings, pageSize: 2 };
    expect((await app.inject(`/query/${id}/results?offset=0`)).json()).toMatchObject({ numRows: 2 });
    expect((await app.inject(`/query/${id}/results?offset=0&numRows=100`)).json()).toMatchObject({ numRows: 6 });
  });

  it.each([
    ['offset=10', /`offset` is 10.*10 rows/],
    ['offset=9007199254740993', /`offset` is above 9007199254740991, but the result has 10 rows/],
    ['offset=9999999999999999999999999', /`offset` is above 9007199254740991, but the result has 10 rows/],
    ['offset=-1', /offset/],
    ['offset=x', /offset/],
    ['offset=1.5', /offset/],
    ['numRows=3', /offset/],
    ['offset=0&numRows=0', /numRows/],
    ['offset=0&numRows=-5', /numRows/],
    ['offset=0&numRows=two', /numRows/],
  ])('rejects the page %s with 400', async (query, message) => {
    const id = await submitted();
    const answer = await app.inject(`/query/${id}/results?${query}`);
    expect(answer.statusCode).toBe(400);
    expect(answer.json<{ message: string }>().message).toMatch(message);
  });

  it('forwards a response with exceptions unchanged, and stores nothing', async () => {
    for (const text of [
      answerText(rowTexts(3), { exceptions: '[{"errorCode":427,"message":"1 servers [] not responded"}]' }),
      '{"exceptions":[{"errorCode":710,"message":"UnknownColumnError"}],"numRowsResultSet":0}',
      '{"exceptions":[{"errorCode":427,"message":"1 servers [] not responded"}],"resultTable":null}',
    ]) {
      endpoint.answer = () => responseOf(text, { chunkBytes: 11 });
      const answer = await submit();
      expect(answer.statusCode).toBe(200);
      expect(answer.body).toBe(text);
    }
    expect(store.usedBytes).toBe(0);
    expect((await app.inject('/query/resultStore')).json()).toEqual({ resultMetadataList: [] });
  });

  it('forwards an error of the engine with its status', async () => {
    endpoint.answer = () => responseOf('{"code":403,"error":"Permission denied"}', { status: 403 });
    const answer = await submit();
    expect(answer.statusCode).toBe(403);
    expect(answer.body).toBe('{"code":403,"error":"Permission denied"}');
  });

  it.each([
    ['<html>Bad gateway</html>', /not a JSON object/],
    ['', /empty/],
    [answerText(rowTexts(5)).slice(0, 150), /ended unexpectedly/],
    [answerText(rowTexts(5)).slice(0, -20), /incomplete/],
    ['{"resultTable":{"rows":[1,2]}}', /other than an array where a row/],
  ])('answers bad JSON of the engine (%j) with 502 and keeps nothing', async (text, message) => {
    endpoint.answer = () => responseOf(text, { chunkBytes: 16 });
    const answer = await submit();
    expect(answer.statusCode).toBe(502);
    expect(answer.json<{ message: string }>().message).toMatch(message);
    expect(store.usedBytes).toBe(0);
  });

  it('returns 507 with advice when the memory store is full', async () => {
    endpoint.answer = () => responseOf(answerText(rowTexts(40_000)));
    const answer = await submit();
    expect(answer.statusCode).toBe(507);
    expect(answer.json<{ message: string }>().message).toMatch(/memory store.*olap\.broker\.pagination\.protocol/);
    expect(store.usedBytes).toBe(0);
  });

  it('checks Query on the tables at submission and again at each page', async () => {
    denied.add('Query srn2:table#orders');
    expect((await submit()).statusCode).toBe(403);
    expect(endpoint.requests).toHaveLength(0);
    denied.clear();
    const id = await submitted();
    denied.add('Query srn2:table#orders');
    expect((await app.inject(`/query/${id}/results?offset=0`)).statusCode).toBe(403);
    expect((await app.inject(`/query/${id}/metadata`)).statusCode).toBe(403);
  });

  it('rejects an unparsable query', async () => {
    const answer = await submit('doPaginate=true', 'SELECT * FROM orders WHERE (');
    expect(answer.statusCode).toBe(400);
    expect(answer.json<{ message: string }>().message).toContain('is rejected: line');
    expect(endpoint.requests).toHaveLength(0);
  });

  it('stores and returns nothing if the query read tables that were not authorized', async () => {
    const text = answerText(rowTexts(5)).replace('"traceInfo"', '"tablesQueried":["orders","secrets"],"traceInfo"');
    for (const body of [text, text.replace('"exceptions":[]', '"exceptions":[{"errorCode":1}]')]) {
      endpoint.answer = () => responseOf(body);
      const answer = await submit();
      expect(answer.statusCode).toBe(403);
      expect(answer.body).not.toContain('900719925474');
    }
    expect(store.usedBytes).toBe(0);
  });

  it('lets only the owner, or a caller with the right to all results, read and delete a result', async () => {
    const id = await submitted();
    principal = { ...ALICE, srn: 'srn2:user#bob@example.com', id: 'bob@example.com' };
    denied = new Set(['GetResponseStore srn2:', 'DeleteResponseStore srn2:']);
    expect((await app.inject(`/query/${id}/results?offset=0`)).statusCode).toBe(403);
    expect((await app.inject(`/query/${id}/metadata`)).statusCode).toBe(403);
    expect((await app.inject('/query/resultStore')).statusCode).toBe(403);
    expect((await app.inject({ method: 'DELETE', url: `/query/resultStore/${id}` })).statusCode).toBe(403);
    denied.clear();
    expect((await app.inject(`/query/${id}/results?offset=0`)).statusCode).toBe(200);
    principal = ALICE;
    denied.add('DeleteResponseStore srn2:');
    const answer = await app.inject({ method: 'DELETE', url: `/query/resultStore/${id}` });
    expect(answer.body).toBe(`Query Results for ${id} deleted.`);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
  });

  it('records each deletion once, also by the owner', async () => {
    const [own, other] = [await submitted(), await submitted()];
    await app.inject({ method: 'DELETE', url: `/query/resultStore/${own}` });
    principal = { ...ALICE, srn: 'srn2:user#bob@example.com', id: 'bob@example.com' };
    await app.inject({ method: 'DELETE', url: `/query/resultStore/${other}` });
    const seen = records.map(({ principal, action, outcome, decision, path }) => {
      return [principal, action, outcome, decision, path];
    });
    expect(seen).toEqual([
      [ALICE.srn, 'DeleteResponseStore', 'succeeded', 'owner', `/query/resultStore/${own}`],
      ['srn2:user#bob@example.com', 'DeleteResponseStore', 'succeeded', 'allowed', `/query/resultStore/${other}`],
    ]);
  });

  it('returns 404 for an unknown, deleted or expired result', async () => {
    const id = await submitted();
    now += 3_600_000;
    expect((await app.inject(`/query/${id}/results?offset=0`)).statusCode).toBe(404);
    expect((await app.inject({ method: 'DELETE', url: `/query/resultStore/${id}` })).statusCode).toBe(200);
    expect((await app.inject({ method: 'DELETE', url: `/query/resultStore/${id}` })).statusCode).toBe(404);
    for (const unknown of ['12345', id]) {
      expect((await app.inject(`/query/${unknown}/results?offset=0`)).statusCode).toBe(404);
      expect((await app.inject(`/query/${unknown}/metadata`)).statusCode).toBe(404);
    }
  });

  it('returns the metadata with every field of the specification', async () => {
    const id = await submitted();
    const answer = await app.inject(`/query/${id}/metadata`);
    const [item] = answer.json<Record<string, unknown>[]>();
    expect(Object.keys(item!)).toHaveLength(39);
    expect(item).toMatchObject({
      requestId: id,
      brokerId: 'Broker_gateway-0_8080',
      numRowsResultSet: 10,
      timeUsedMs: 12,
      segmentStatistics: [],
      partialResult: false,
      numSegmentsPrunedByBroker: 0,
    });
    expect(answer.body).toContain('"minConsumingFreshnessTimeMs":9007199254740993,');
  });

  it('lists stored results', async () => {
    const first = await submitted();
    now += 5;
    const second = await submitted();
    const answer = await app.inject('/query/resultStore');
    const { resultMetadataList } = answer.json<{ resultMetadataList: { requestId: string }[] }>();
    expect(resultMetadataList.map((item) => item.requestId)).toEqual([first, second]);
    expect(resultMetadataList[0]).toEqual({
      requestId: first,
      brokerId: 'Broker_gateway-0_8080',
      submissionTimeMs: NOW,
      expirationTimeMs: NOW + 3_600_000,
      responseMetadata: [
        {
          type: 'resultTable',
          numRows: 10,
          dataFile: expect.stringContaining(first),
          metadataFile: expect.stringContaining(first),
        },
      ],
      owner: ALICE.srn,
      bytes: expect.any(Number),
    });
  });

  it('returns the used part of the quota, only with the right for it', async () => {
    const cleaner = { enabled: true, maxStorageMb: 3, criticalPercent: 90, targetPercent: 70 };
    settings = { ...settings, storageCleaner: cleaner };
    const empty = {
      usedBytes: 0,
      capacityBytes: 1_000_000,
      cleanerEnabled: true,
      quotaBytes: 3 * 1024 * 1024,
      criticalPercent: 90,
      targetPercent: 70,
    };
    expect((await app.inject('/query/resultStore/usage')).json()).toEqual(empty);
    await submitted();
    await submitted();
    const { resultMetadataList } = (await app.inject('/query/resultStore')).json<{
      resultMetadataList: { bytes: number }[];
    }>();
    const usedBytes = resultMetadataList.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(usedBytes).toBeGreaterThan(100);
    expect((await app.inject('/query/resultStore/usage')).json()).toEqual({ ...empty, usedBytes });
    denied.add('GetResponseStore srn2:');
    expect((await app.inject('/query/resultStore/usage')).statusCode).toBe(403);
  });

  it('limits the number of concurrent submissions', async () => {
    settings = { ...settings, maxSubmissions: 1 };
    const release = Promise.withResolvers<void>();
    endpoint.answer = async () => {
      await release.promise;
      return responseOf(answerText(rowTexts(1)));
    };
    const first = submit();
    await expect.poll(() => endpoint.requests.length).toBe(1);
    const second = await submit();
    expect(second.statusCode).toBe(503);
    expect(second.headers['retry-after']).toBe('2');
    release.resolve();
    expect((await first).statusCode).toBe(200);
  });
});
