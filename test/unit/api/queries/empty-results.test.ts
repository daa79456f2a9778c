// @module-tag slow
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { parquetMetadata } from 'hyparquet';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { TEST_HEADERS } from '../../../support/app.ts';
import { fileProperties, memoryProperties } from '../../../support/result-stores.ts';
import { until } from '../../../support/until.ts';
import { answerText, NO_SERVER_QUERIED, responseOf, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from './gateways.ts';

const SQL = 'SELECT city, COUNT(*) FROM orders WHERE ts > 5 GROUP BY city';
const BODY = JSON.stringify({ sql: SQL });
const EMPTY_TABLE = { dataSchema: { columnNames: [], columnDataTypes: [] }, rows: [] };
const EMPTY_PAGE = {
  resultTable: EMPTY_TABLE,
  numRowsResultSet: 0,
  offset: 0,
  numRows: 0,
  exceptions: [],
  numServersQueried: 0,
  warnings: [expect.stringContaining('no server with their segments is available')],
};

describe.each(['memory', 'file'])(
  'the result of a query for which the engine queries no server, in a %s store',
  (kind) => {
    let endpoint: StubEndpoint;
    let gateways: TestGateway[];
    let folder: string;
    let now: number;

    beforeEach(async () => {
      now = Date.now();
      folder = await mkdtemp(join(tmpdir(), 'olap-warden-empty-'));
      endpoint = new StubEndpoint();
      endpoint.answer = () => responseOf(NO_SERVER_QUERIED, { chunkBytes: 9 });
      gateways = await startGateways(2, {
        engine: engineOf(endpoint),
        store: (index) => (kind === 'memory' ? memoryProperties() : fileProperties(join(folder, String(index)))),
        settings: () => DEFAULT_PAGINATION_SETTINGS,
        now: () => now,
      });
    });
    afterEach(async () => {
      await stopGateways(gateways);
      await rm(folder, { recursive: true, force: true });
    });

    const call = (path: string, init: RequestInit = {}, gateway = 0): Promise<Response> =>
      fetch(`${gateways[gateway]!.url}${path}`, {
        ...init,
        headers: { ...TEST_HEADERS, ...(init.body !== undefined && { 'content-type': 'application/json' }) },
      });
    const json = async (path: string, gateway = 0): Promise<unknown> => {
      const answer = await call(path, {}, gateway);
      expect([path, answer.status]).toEqual([path, 200]);
      return answer.json();
    };
    const submit = async (query = 'doPaginate=true'): Promise<string> => {
      const answer = await call(`/query/sql?${query}`, { method: 'POST', body: BODY });
      const page = (await answer.json()) as { requestId: string };
      expect([answer.status, page]).toEqual([200, expect.objectContaining(EMPTY_PAGE)]);
      expect(page).not.toHaveProperty('nextOffsetParams');
      return page.requestId;
    };

    it('is a page with a requestId, however the query is sent, and is read again at both gateways', async () => {
      const ids = [await submit(), await submit('getCursor=true&numRows=3')];
      const byGet = await json(`/query/sql?doPaginate=true&sql=${encodeURIComponent(SQL)}`);
      ids.push((byGet as { requestId: string }).requestId);
      for (const id of ids) {
        for (const gateway of [0, 1]) {
          for (const path of [`/query/${id}/results?offset=0`, `/responseStore/${id}/results?offset=0&numRows=5`]) {
            expect(await json(path, gateway)).toMatchObject({ ...EMPTY_PAGE, requestId: id });
          }
          expect((await call(`/query/${id}/results?offset=1`, {}, gateway)).status).toBe(400);
          expect(await json(`/query/${id}/metadata`, gateway)).toMatchObject([{ requestId: id, numRowsResultSet: 0 }]);
          expect(await json(`/responseStore/${id}`, gateway)).toMatchObject({ requestId: id, numRowsResultSet: 0 });
        }
      }
      expect(new Set(ids).size).toBe(3);
    });

    it('is listed with its tables and its warning, and is deleted', async () => {
      const id = await submit();
      expect(await json(`/query/${id}`, 1)).toMatchObject({
        state: 'done',
        numRowsResultSet: 0,
        warnings: EMPTY_PAGE.warnings,
      });
      expect(await json('/query/resultStore')).toMatchObject({ resultMetadataList: [{ requestId: id }] });
      expect(await json('/responseStore')).toMatchObject([{ requestId: id }]);
      expect(await json('/query/mine')).toMatchObject({
        queries: [{ requestId: id, state: 'done', tables: ['orders'] }],
      });
      expect((await call(`/query/resultStore/${id}`, { method: 'DELETE' }, 1)).status).toBe(200);
      expect((await call(`/query/${id}/results?offset=0`)).status).toBe(404);
      expect(await json('/query/resultStore')).toEqual({ resultMetadataList: [] });
    });

    it('is the result of an asynchronous query', async () => {
      const answer = await call('/query/sql?doPaginate=true&async=true', { method: 'POST', body: BODY });
      const { requestId } = (await answer.json()) as { requestId: string };
      await until('the query has ended', async () => {
        const { state } = (await json(`/query/${requestId}`)) as { state: string };
        return !['queued', 'running', 'storing'].includes(state);
      });
      expect(await json(`/query/${requestId}`)).toMatchObject({ state: 'done', warnings: EMPTY_PAGE.warnings });
      expect(await json(`/query/${requestId}/results?offset=0`)).toMatchObject({ ...EMPTY_PAGE, requestId });
    });

    it('is a download without rows and columns in every format', async () => {
      const id = await submit();
      const bytes = async (format: string): Promise<Buffer> => {
        const answer = await call(`/query/${id}/results?format=${format}`);
        expect([format, answer.status]).toEqual([format, 200]);
        return Buffer.from(await answer.arrayBuffer());
      };
      expect((await bytes('jsonl')).toString()).toBe('');
      // A header row without names.
      expect((await bytes('csv')).toString()).toBe('\r\n');
      const arrow = tableFromIPC(await bytes('arrow'));
      expect([arrow.schema.fields, arrow.numRows]).toEqual([[], 0]);
      const parquet = new Uint8Array(await bytes('parquet'));
      const { schema, num_rows: rows } = parquetMetadata(parquet.buffer);
      expect([schema.length, rows]).toEqual([1, 0n]);
    });

    it('is the response of the engine, byte for byte, without pagination', async () => {
      const answer = await call('/query/sql', { method: 'POST', body: BODY });
      expect([answer.status, await answer.text()]).toEqual([200, NO_SERVER_QUERIED]);
    });
  },
);

describe('a response without rows that may have lost some', () => {
  let endpoint: StubEndpoint;
  let gateways: TestGateway[];
  beforeEach(async () => {
    endpoint = new StubEndpoint();
    gateways = await startGateways(1, { engine: engineOf(endpoint), store: memoryProperties });
  });
  afterEach(() => stopGateways(gateways));

  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${gateways[0]!.url}${path}`, {
      ...init,
      headers: { ...TEST_HEADERS, ...(init.body !== undefined && { 'content-type': 'application/json' }) },
    });

  it.each([
    ['an empty body', '', /is empty/],
    ['an empty object', '{}', /is not an empty result: `exceptions` is not a list/],
    [
      'no response of two servers',
      NO_SERVER_QUERIED.replace('"numServersQueried":0', '"numServersQueried":2'),
      /`numServersResponded` is 0/,
    ],
    [
      'rows that were dropped',
      NO_SERVER_QUERIED.replace('"numRowsResultSet":0', '"numRowsResultSet":7'),
      /`dropResults`/,
    ],
    [
      '`exceptions` as an object',
      answerText([]).replace('"exceptions":[]', '"exceptions":{"errorCode":190}'),
      /`exceptions` .* is not a list/,
    ],
    ['`rows` of null', answerText([]).replace('"rows":[]', '"rows":null'), /`resultTable` .* has no `rows`/],
    [
      'rows without a schema',
      answerText(['[1]']).replace('"dataSchema"', '"schema"'),
      /`resultTable` .* has no `dataSchema`/,
    ],
  ])('is 502 with the reason, and fails an asynchronous query with it: %s', async (_, text, reason) => {
    endpoint.answer = () => responseOf(text);
    const answer = await call('/query/sql?doPaginate=true', { method: 'POST', body: BODY });
    expect([answer.status, await answer.json()]).toEqual([
      502,
      expect.objectContaining({ message: expect.stringMatching(reason) }),
    ]);
    const accepted = await call('/query/sql?doPaginate=true&async=true', { method: 'POST', body: BODY });
    const { requestId } = (await accepted.json()) as { requestId: string };
    const status = async (): Promise<unknown> => (await call(`/query/${requestId}`)).json();
    await until('the query has failed', async () => ((await status()) as { state: string }).state === 'failed');
    expect(await status()).toMatchObject({ error: { status: 502, message: expect.stringMatching(reason) } });
    expect(await (await call('/query/resultStore')).json()).toEqual({ resultMetadataList: [] });
  });

  it('is the response of the engine where it has exceptions', async () => {
    const text = NO_SERVER_QUERIED.replace('[]', '[{"errorCode":427,"message":"3 servers not responded"}]');
    endpoint.answer = () => responseOf(text);
    const answer = await call('/query/sql?doPaginate=true', { method: 'POST', body: BODY });
    expect([answer.status, await answer.text()]).toEqual([200, text]);
    expect(await (await call('/query/resultStore')).json()).toEqual({ resultMetadataList: [] });
  });
});
