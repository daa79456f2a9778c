// @module-tag slow
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Principal } from '../../../../src/access/principal.ts';
import { clusterResource, formatSrn, tableResource } from '../../../../src/access/policy/srn.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import type { EngineRequest, EngineResponse } from '../../../../src/pinot/types.ts';
import type { AuditRecord } from '../../../../src/api/server/logs/audit-record.ts';
import { Limits } from '../../../../src/api/server/admission/callers.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { DEFAULT_PAGINATION_SETTINGS, type PaginationSettings } from '../../../../src/results/settings.ts';
import { ALICE, authorizerBy, TEST_HEADERS } from '../../../support/app.ts';
import { validAuditLog } from '../../../support/audit-records.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { memoryProperties } from '../../../support/result-stores.ts';
import { until } from '../../../support/until.ts';
import { answerText, responseOf, rowTexts, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from './gateways.ts';

const BOB: Principal = { ...ALICE, srn: 'srn2:user#bob@example.com', id: 'bob@example.com' };
const SQL = 'SELECT * FROM orders LIMIT 100';
const QUERY_OF_ALICE = `alice@example.com Query ${formatSrn(tableResource(tableNameOf('orders')))}`;

interface Status {
  readonly requestId: string;
  readonly state: string;
  readonly [field: string]: unknown;
}

/** A response that the test gives, or the failure of the connection when the gateway closes it. */
interface HeldAnswer {
  readonly request: EngineRequest;
  readonly give: (response: EngineResponse) => void;
}

describe('asynchronous queries', () => {
  let endpoint: StubEndpoint;
  let held: HeldAnswer[];
  let gateways: TestGateway[];
  let principal: Principal;
  let denied: Set<string>;
  /** Ids of callers that no longer exist. */
  let gone: Set<string>;
  let settings: PaginationSettings;
  let rowsPerQuery: number;
  let beats: (() => void)[];
  let records: AuditRecord[];

  beforeEach(async () => {
    principal = ALICE;
    denied = new Set();
    gone = new Set();
    held = [];
    beats = [];
    records = [];
    settings = DEFAULT_PAGINATION_SETTINGS;
    rowsPerQuery = 0;
    endpoint = new StubEndpoint();
    endpoint.answer = (request) =>
      request.method === 'DELETE'
        ? responseOf('"cancelled"')
        : new Promise((give, fail) => {
            held.push({ request, give });
            request.signal?.addEventListener('abort', () => fail(new Error('closed')));
          });
    gateways = await startGateways(2, {
      engine: engineOf(endpoint),
      store: () => memoryProperties(),
      principal: () => principal,
      authorizer: {
        ...authorizerBy((who, action, resource) => !denied.has(`${who.id} ${action} ${formatSrn(resource)}`)),
        isActive: ({ id }) => !gone.has(id),
      },
      settings: () => settings,
      beat: (call) => beats.push(call),
      parts: {
        audit: validAuditLog(records, new FakeClock()),
        callerLimits: new Limits({
          rolesOf: () => ['rows'],
          clock: systemClock,
          defaults: { concurrentQueries: 20 },
          byRole: {
            rows: {
              get rowsPerQuery() {
                return rowsPerQuery;
              },
            },
          },
        }),
      },
    });
  });
  afterEach(() => stopGateways(gateways));

  const call = async (path: string, init: RequestInit = {}, gateway = 0): Promise<Response> =>
    fetch(`${gateways[gateway]!.url}${path}`, {
      ...init,
      headers: { ...TEST_HEADERS, ...(init.body !== undefined && { 'content-type': 'application/json' }) },
    });
  const post = (sql = SQL, query = 'doPaginate=true&async=true'): Promise<Response> =>
    call(`/query/sql?${query}`, { method: 'POST', body: JSON.stringify({ sql }) });
  const accepted = async (sql = SQL): Promise<string> => {
    const answer = await post(sql);
    expect(answer.status).toBe(202);
    return ((await answer.json()) as Status).requestId;
  };
  const status = async (id: string, gateway = 0): Promise<Status> =>
    (await (await call(`/query/${id}`, {}, gateway)).json()) as Status;
  const reaches = (id: string, state: string): Promise<void> =>
    until(`${id} is ${state}`, async () => (await status(id)).state === state);
  const cancel = (id: string, gateway = 0): Promise<Response> => call(`/query/${id}`, { method: 'DELETE' }, gateway);
  const message = async (answer: Response): Promise<unknown> => [
    answer.status,
    ((await answer.json()) as { message?: string }).message,
  ];
  const asked = async (count: number): Promise<void> =>
    until(`${count} queries at the engine`, () => held.length === count);

  it('responds at once, shows the state, and stores the result, which is read as any other', async () => {
    const answer = await post();
    expect(answer.status).toBe(202);
    const first = (await answer.json()) as Status;
    const { requestId } = first;
    expect(Object.fromEntries(answer.headers)).toMatchObject({ location: `/query/${requestId}`, 'retry-after': '1' });
    expect(first).toMatchObject({
      state: 'running',
      brokerId: 'gateway-0',
      brokerPort: gateways[0]!.port,
      owner: ALICE.srn,
      sql: 'SELECT * FROM "orders" LIMIT 100',
      tables: ['orders'],
      numRowsResultSet: 0,
    });
    expect(await message(await call(`/query/${requestId}/results?offset=0`))).toEqual([
      409,
      `the query is running: wait until \`GET /query/${requestId}\` has the state \`done\``,
    ]);
    await asked(1);
    held[0]!.give(responseOf(answerText(rowTexts(30))));
    await reaches(requestId, 'done');
    expect(await status(requestId)).toMatchObject({
      numRowsResultSet: 30,
      nextOffsetParams: 'offset=0&numRows=10000',
      nextUrl: `/query/${requestId}/results?offset=0&numRows=10000`,
      elapsedMs: expect.any(Number),
      expirationTimeMs: expect.any(Number),
    });
    expect((await call(`/query/${requestId}`)).headers.get('link')).toBe(
      `</query/${requestId}/results?offset=0&numRows=10000>; rel="next"`,
    );
    const page = await call(`/query/${requestId}/results?offset=29`);
    expect(await page.text()).toContain(`"rows":[${rowTexts(30)[29]}]`);
  });

  it('shows the rows and bytes so far while they arrive', async () => {
    const id = await accepted();
    await asked(1);
    const rest = Promise.withResolvers<void>();
    const text = answerText(rowTexts(20));
    const cut = text.indexOf(rowTexts(20)[15]!);
    const { body } = responseOf('');
    async function* pieces(): AsyncGenerator<Buffer> {
      yield Buffer.from(text.slice(0, cut));
      await rest.promise;
      yield Buffer.from(text.slice(cut));
    }
    held[0]!.give({ status: 200, headers: {}, body, pieces: Object.assign(pieces(), { destroy: () => undefined }) });
    await until('15 rows', async () => (await status(id))['numRowsResultSet'] === 15);
    expect(await status(id)).toMatchObject({ state: 'storing', bytes: expect.any(Number) });
    expect((await status(id))['bytes']).toBeGreaterThan(100);
    rest.resolve();
    await reaches(id, 'done');
  });

  it('checks rights, SQL and parameters before it accepts the query', async () => {
    denied.add(QUERY_OF_ALICE);
    expect((await post()).status).toBe(403);
    denied.clear();
    expect((await post('SELEC 1')).status).toBe(400);
    expect(await message(await post(SQL, 'async=true'))).toEqual([
      400,
      '`async=true` requires `doPaginate=true`: only a stored result can be read later',
    ]);
    expect((await post(SQL, 'doPaginate=true&asynch=true')).status).toBe(400);
    expect(held).toEqual([]);
  });

  it('cancels a running query, also at the engine, once', async () => {
    const id = await accepted();
    await asked(1);
    expect(JSON.parse(held[0]!.request.body as string)).toMatchObject({ queryOptions: `clientQueryId=${id}` });
    const answer = await cancel(id);
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { state: 'cancelled', error: { status: 499, message: 'the query was cancelled' } },
    ]);
    await until('a cancellation at the engine', () =>
      endpoint.requests.some(({ method, path }) => method === 'DELETE' && path.startsWith(`/query/${id}?client=true&`)),
    );
    expect((await cancel(id)).status).toBe(200);
    expect(endpoint.requests.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
    expect(await message(await call(`/query/${id}/results?offset=0`))).toEqual([
      410,
      'the query has no result, because it was cancelled',
    ]);
    expect(records.filter(({ action }) => action === 'DeleteResponseStore')).toMatchObject([
      { outcome: 'succeeded' },
      { outcome: 'succeeded' },
    ]);
  });

  it('does not cancel a query at the engine by an id that the caller chose', async () => {
    const id = await accepted("SET clientQueryId = 'other'; SELECT * FROM orders LIMIT 5");
    await asked(1);
    expect(JSON.parse(held[0]!.request.body as string)).not.toHaveProperty('queryOptions');
    expect(await (await cancel(id)).json()).toMatchObject({ state: 'cancelled' });
    expect(endpoint.requests.filter(({ method }) => method === 'DELETE')).toEqual([]);
  });

  it('shows and cancels a query of others only with the right to do so', async () => {
    const id = await accepted();
    principal = BOB;
    for (const action of ['GetResponseStore', 'DeleteResponseStore']) {
      denied.add(`bob@example.com ${action} ${formatSrn(clusterResource)}`);
    }
    expect((await call(`/query/${id}`)).status).toBe(403);
    expect((await cancel(id)).status).toBe(403);
    // Bob does not learn that there is a query.
    expect((await call(`/query/${id}/results?offset=0`)).status).toBe(404);
    expect(await (await call('/query/mine')).json()).toEqual({ queries: [] });
    denied.clear();
    expect((await call(`/query/${id}`)).status).toBe(200);
    expect(await (await cancel(id)).json()).toMatchObject({ state: 'cancelled', owner: ALICE.srn });
    const unknown = id.replace(/.{8}$/, '00000000');
    for (const path of [unknown, 'x', '..%2f', 'null']) {
      const answer = await call(`/query/${path}`);
      expect([400, 404]).toContain(answer.status);
    }
    expect((await cancel(unknown)).status).toBe(404);
  });

  it('tells callers that may see its state why it has no result', async () => {
    const id = await accepted();
    await asked(1);
    principal = BOB;
    const paths = [`/query/${id}/results?offset=0`, `/query/${id}/metadata`, `/responseStore/${id}`];
    const answers = async (): Promise<number[]> => Promise.all(paths.map(async (path) => (await call(path)).status));
    expect(await answers()).toEqual([409, 409, 409]);
    expect((await cancel(id)).status).toBe(200);
    expect(await answers()).toEqual([410, 410, 410]);
    denied.add(`bob@example.com GetResponseStore ${formatSrn(clusterResource)}`);
    expect(await answers()).toEqual([404, 404, 404]);
  });

  it.each(['/query/resultStore', '/responseStore'])(
    'is not deleted by %s while it runs: the caller is told to cancel it',
    async (path) => {
      const id = await accepted();
      await asked(1);
      const remove = (): Promise<Response> => call(`${path}/${id}`, { method: 'DELETE' });
      const running = [409, `the query is running and has no result yet: cancel it with \`DELETE /query/${id}\``];
      expect(await message(await remove())).toEqual(running);
      principal = BOB;
      expect(await message(await remove())).toEqual(running);
      denied.add(`bob@example.com DeleteResponseStore ${formatSrn(clusterResource)}`);
      expect((await remove()).status).toBe(404);
      principal = ALICE;
      expect((await cancel(id)).status).toBe(200);
      expect(await message(await remove())).toEqual([410, 'the query has no result, because it was cancelled']);
    },
  );

  it('is 405 for methods that neither the gateway nor the engine has at its path', async () => {
    const id = await accepted();
    for (const method of ['PUT', 'PATCH', 'OPTIONS']) {
      const answer = await call(`/query/${id}`, { method });
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'DELETE, GET, HEAD']);
    }
    // Queries in other languages are posted to the engine at such a path; this app has no engine proxy.
    expect((await call('/query/timeseries', { method: 'POST' })).status).toBe(404);
    expect(await status(id)).toMatchObject({ state: 'running' });
  });

  it('limits the queries of a caller and of all, and lets the others wait', async () => {
    settings = { ...settings, async: { ...settings.async, maxRunning: 1, maxPerCaller: 3, maxInAll: 4 } };
    const ids = [await accepted(), await accepted(), await accepted()];
    const refused = await post();
    expect([refused.headers.get('retry-after'), await message(refused)]).toEqual([
      '2',
      [429, 'limit of asynchronous queries of one caller (3) exceeded: try again when one of them has ended'],
    ]);
    principal = BOB;
    const ofBob = await accepted();
    principal = { ...BOB, srn: 'srn2:user#eve@example.com', id: 'eve' };
    expect(await message(await post())).toEqual([
      429,
      'limit of asynchronous queries of this gateway (4) exceeded: try again when one of them has ended',
    ]);
    principal = ALICE;
    await asked(1);
    expect(await Promise.all(ids.map(async (id) => (await status(id)).state))).toEqual(['running', 'queued', 'queued']);
    // A query that waits ends at once, and nothing of it reaches the engine.
    expect(await (await cancel(ids[1]!)).json()).toMatchObject({ state: 'cancelled' });
    held[0]!.give(responseOf(answerText(rowTexts(1))));
    await asked(2);
    // Alice's other query is older, but she had her turn.
    expect((await status(ids[2]!)).state).toBe('queued');
    held[1]!.give(responseOf(answerText(rowTexts(1))));
    await reaches(ofBob, 'done');
    await asked(3);
    held[2]!.give(responseOf(answerText(rowTexts(1))));
    await reaches(ids[2]!, 'done');
  });

  it('counts a query until it ends as a concurrent query of its caller', async () => {
    settings = { ...settings, async: { ...settings.async, maxRunning: 1, maxPerCaller: 100 } };
    for (let count = 0; count < 20; count++) await accepted();
    expect(await message(await post())).toEqual([429, expect.stringContaining('concurrent query limit (20) exceeded')]);
    expect(await message(await post(SQL, 'doPaginate=true'))).toEqual([
      429,
      expect.stringContaining('concurrent query limit (20) exceeded'),
    ]);
    await asked(1);
    held[0]!.give(responseOf(answerText(rowTexts(1))));
    await asked(2);
    await accepted();
  });

  it('ends a query that the engine does not answer', async () => {
    settings = { ...settings, async: { ...settings.async, maxTimeMs: 1 } };
    const id = await accepted();
    await reaches(id, 'failed');
    expect((await status(id))['error']).toEqual({
      status: 504,
      message: 'the query did not end within 1 ms (`olap.broker.pagination.async.max.time`)',
    });
  });

  it('names the exceptions of the engine after however many rows', async () => {
    const id = await accepted();
    await asked(1);
    const exceptions = JSON.stringify([{ errorCode: 427, message: '1 servers [Server_7] not responded' }]);
    held[0]!.give(responseOf(answerText(rowTexts(20_000), { exceptions })));
    await reaches(id, 'failed');
    expect((await status(id))['error']).toEqual({
      status: 200,
      message: 'the engine responded with exceptions: 1 servers [Server_7] not responded',
      exceptions: [{ errorCode: 427, message: '1 servers [Server_7] not responded' }],
    });
  });

  it('is waited for by its state, which says when to ask again while it runs', async () => {
    const id = await accepted();
    await asked(1);
    const running = await call(`/query/${id}?wait=1s`, {}, 1);
    expect([running.headers.get('retry-after'), ((await running.json()) as Status)['state']]).toEqual(['1', 'running']);
    const waiting = call(`/query/${id}?wait=50s`);
    held[0]!.give(responseOf(answerText(rowTexts(3))));
    const done = await waiting;
    expect([done.headers.get('retry-after'), ((await done.json()) as Status)['state']]).toEqual([null, 'done']);
    expect((await call(`/query/${id}?wait=20s`)).status).toBe(200);
    for (const wait of ['0s', '51s', '20', '1m']) expect((await call(`/query/${id}?wait=${wait}`)).status).toBe(400);
  });

  it.each([
    ['lost the right to it', () => denied.add(QUERY_OF_ALICE)],
    ['no longer exists', () => gone.add(ALICE.id)],
  ])('ends a query whose caller %s, also one that waits', async (_what, revoke) => {
    settings = { ...settings, async: { ...settings.async, maxRunning: 1 } };
    const ids = [await accepted(), await accepted()];
    await asked(1);
    revoke();
    for (const beat of beats) beat();
    for (const id of ids) {
      await reaches(id, 'failed');
      expect((await status(id))['error']).toMatchObject({ status: 403 });
    }
    expect(held).toHaveLength(1);
    await until('a cancellation at the engine', () => endpoint.requests.some(({ method }) => method === 'DELETE'));
  });

  it.each([
    [
      'exceptions',
      responseOf(answerText([], { exceptions: '[{"errorCode":150,"message":"SQLParsingError: x"}]' })),
      200,
      'SQLParsingError: x',
    ],
    ['another status', responseOf('{"code":500,"error":"out of memory"}', { status: 500 }), 500, 'out of memory'],
    ['invalid JSON', responseOf('{"resultTable":'), 502, "engine's response"],
    ['a rejected credential', responseOf('no', { status: 401 }), 502, 'rejects the credential of the gateway'],
  ])('fails with the message for a response of the engine with %s', async (_what, response, code, text) => {
    const id = await accepted();
    await asked(1);
    held[0]!.give(response);
    await reaches(id, 'failed');
    expect((await status(id))['error']).toMatchObject({ status: code, message: expect.stringContaining(text) });
    expect(await message(await call(`/query/${id}/results?offset=0`))).toEqual([410, expect.stringContaining(text)]);
  });

  it('is seen, cancelled and listed through another gateway, and 503 while its own does not run', async () => {
    const ids = [await accepted(), await accepted()];
    expect(await status(ids[0]!, 1)).toMatchObject({ state: 'running', brokerId: 'gateway-0' });
    expect(await (await cancel(ids[0]!, 1)).json()).toMatchObject({ state: 'cancelled', brokerId: 'gateway-0' });
    const mine = (await (await call('/query/mine', {}, 1)).json()) as { queries: Status[] };
    expect(mine.queries.map(({ requestId, state }) => [requestId, state])).toEqual(
      expect.arrayContaining([
        [ids[0], 'cancelled'],
        [ids[1], 'running'],
      ]),
    );
    expect(mine.queries).toHaveLength(2);
    await gateways[0]!.service.close();
    await gateways[0]!.app.close();
    const lost = await call(`/query/${ids[1]}`, {}, 1);
    expect([lost.status, lost.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await (await call('/query/mine', {}, 1)).json()).toEqual({ queries: [], incomplete: true });
    gateways.shift();
  });

  it('lists the queries of the caller, newest first, in parts', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) {
      ids.push(await accepted(`SELECT id FROM orders LIMIT ${count + 1}`));
      await asked(count + 1);
      held[count]!.give(responseOf(answerText(rowTexts(count + 1))));
      await reaches(ids[count]!, 'done');
    }
    const synchronous = post('SELECT city FROM orders LIMIT 7', 'doPaginate=true');
    await asked(6);
    held[5]!.give(responseOf(answerText(rowTexts(7))));
    ids.push(((await (await synchronous).json()) as Status).requestId);
    const listed: Status[] = [];
    let params = 'limit=2';
    for (let part = 0; part < 10; part++) {
      const answer = (await (await call(`/query/mine?${params}`)).json()) as { queries: Status[]; nextParams?: string };
      expect(answer.queries.length).toBeLessThanOrEqual(2);
      listed.push(...answer.queries);
      if (answer.nextParams === undefined) break;
      params = answer.nextParams;
    }
    expect(new Set(listed.map(({ requestId }) => requestId))).toEqual(new Set(ids));
    expect(listed).toHaveLength(6);
    const times = listed.map((query) => query['submissionTimeMs'] as number);
    expect(times).toEqual([...times].sort((a, b) => b - a));
    expect(listed.find(({ requestId }) => requestId === ids[5])).toMatchObject({
      state: 'done',
      sql: 'SELECT "city" FROM "orders" LIMIT 7',
      numRowsResultSet: 7,
    });
    expect((await call('/query/mine?limit=1001')).status).toBe(400);
    expect((await call('/query/mine?before=x')).status).toBe(400);
  });

  it('ends the queries of a gateway that is stopped', async () => {
    const id = await accepted();
    await asked(1);
    const { service } = gateways[0]!;
    await service.close();
    expect(await status(id)).toMatchObject({
      state: 'failed',
      error: { status: 503, message: 'the gateway was stopped: run the query again' },
    });
  });

  it.each(['doPaginate=true', 'doPaginate=true&async=true'])(
    'never makes a result with more rows than the limit of its caller visible: %s',
    async (query) => {
      rowsPerQuery = 11;
      const answer = post(SQL.replace('100', '11'), query);
      await asked(1);
      held[0]!.give(responseOf(answerText(rowTexts(12))));
      const { requestId } = (await (await answer).json()) as Partial<Status>;
      if (requestId !== undefined) await reaches(requestId, 'failed');
      expect(requestId === undefined ? (await answer).status : (await status(requestId))['error']).toEqual(
        requestId === undefined
          ? 400
          : { status: 400, message: expect.stringMatching(/exceeds the row limit of this caller, 11 per query/) },
      );
      // It was never stored, not even until a deletion that might fail.
      const { values } = await gateways[0]!.registry.getSingleMetric('olap_warden_pagination_submissions_total')!.get();
      expect(values.filter(({ value }) => value > 0)).toMatchObject([{ labels: { outcome: 'failed' }, value: 1 }]);
    },
  );

  it.each([
    ['rows', rowTexts(12), '', 400, /exceeds the row limit of this caller/],
    [
      'a table',
      rowTexts(3),
      ',"tablesQueried":["secrets"]',
      403,
      /the engine read a table that the query does not name/,
    ],
  ])(
    'checks an error of the engine that has %s, whether the result is stored or not',
    async (_, rows, more, code, why) => {
      rowsPerQuery = 11;
      const text = answerText(rows, { exceptions: '[{"errorCode":427,"message":"part"}]' }).replace(/\}$/, `${more}}`);
      for (const [at, query] of ['doPaginate=true', 'doPaginate=false'].entries()) {
        const answer = post(SQL.replace('100', '11'), query);
        await asked(at + 1);
        held[at]!.give(responseOf(text, { status: 500 }));
        expect(await message(await answer)).toEqual([code, expect.stringMatching(why)]);
      }
      // An error without rows is returned as it is.
      const plain = post(SQL.replace('100', '11'), 'doPaginate=true');
      await asked(3);
      held[2]!.give(responseOf('no broker', { status: 503 }));
      expect([(await plain).status, await (await plain).text()]).toEqual([503, 'no broker']);
    },
  );

  it.each([
    ['rows', rowTexts(12), '', { status: 400, message: expect.stringMatching(/exceeds the row limit of this caller/) }],
    [
      'a table',
      rowTexts(3),
      ',"tablesQueried":["secrets"]',
      { status: 403, message: expect.stringMatching(/the engine read a table that the query does not name/) },
    ],
    [
      'a table after many rows',
      Array.from({ length: 11 }, () => JSON.stringify(['x'.repeat(16_384)])),
      ',"tablesQueried":["secrets"]',
      { status: 500, message: 'the engine responded with 500: more than 65536 bytes, which are not kept' },
    ],
    ['rows that were checked', rowTexts(3), '', { status: 500, message: 'the engine responded with 500: part' }],
    ['a short text', [], '', { status: 500, message: 'the engine responded with 500: part' }],
  ])(
    'shows only the exceptions of an error of the engine that has %s, once it was checked',
    async (_, rows, more, error) => {
      rowsPerQuery = 11;
      const text = answerText(rows, { exceptions: '[{"errorCode":427,"message":"part"}]' }).replace(/\}$/, `${more}}`);
      const id = await accepted(SQL.replace('100', '11'));
      await asked(1);
      // As from a broker: the bytes are also there as pieces.
      const { body, ...head } = responseOf(text, { status: 500 });
      async function* bytes(): AsyncGenerator<Buffer> {
        yield Buffer.from(text);
      }
      held[0]!.give({ ...head, body, pieces: Object.assign(bytes(), { destroy: () => undefined }) });
      await reaches(id, 'failed');
      expect((await status(id))['error']).toEqual(error);
    },
  );

  it('rejects rows that cannot be counted, also those of an error', async () => {
    rowsPerQuery = 11;
    const broken = `{"resultTable":{"rows":[[oops],${rowTexts(12).join()}]}}`;
    const answers = ['doPaginate=true', 'doPaginate=false'].map((query) => post(SQL.replace('100', '11'), query));
    await asked(2);
    for (const one of held) one.give(responseOf(`\n ${broken}`, { status: 500 }));
    for (const answer of answers)
      expect(await message(await answer)).toEqual([
        502,
        expect.stringMatching(/rows of the response cannot be counted/),
      ]);
  });
});
