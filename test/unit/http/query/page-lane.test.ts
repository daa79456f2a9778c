import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Authorizer, Decision } from '../../../../src/access/authorizer.ts';
import { formatSrn } from '../../../../src/access/srn.ts';
import { type FileSender, loadFileSender } from '../../../../src/http/front/file-sender.ts';
import { Limits } from '../../../../src/http/limits.ts';
import { observeRequests } from '../../../../src/http/metrics.ts';
import { createQueryService, type QueryService } from '../../../../src/http/query/service.ts';
import { createLogger } from '../../../../src/logging.ts';
import type { ResultReader } from '../../../../src/query/result-store.ts';
import { DEFAULT_PAGINATION_SETTINGS, DEFAULT_RESULT_STORE_SETTINGS } from '../../../../src/query/settings.ts';
import { ALICE, fixedAuthenticator, testApp, TEST_HEADERS } from '../../../support/app.ts';
import { answerText, responseOf, rowTexts, StubEndpoint } from '../../query/answers.ts';
import { engineOf } from './gateways.ts';

const BOB = { ...ALICE, srn: 'srn2:user#bob@example.com', id: 'bob@example.com' };
const HOST = '10.0.0.7';
const PORT = 8080;

let folder: string;
let service: QueryService;
let app: FastifyInstance;
let registry: Registry;
let clock: number;
/** `<who asks> <action> <resource>`: the lane's authorizer that counts nothing, and the one that counts. */
let asked: string[];
let denied: (action: string, resource: string) => boolean;
let records: Record<string, unknown>[];
let caller: typeof ALICE;

function authorizer(name: string): Authorizer {
  const isAllowed: Authorizer['isAllowed'] = (_who, action, resource) => {
    asked.push(`${name} ${action} ${formatSrn(resource)}`);
    return !denied(action, formatSrn(resource));
  };
  return {
    isAllowed,
    decide: (_who, action, resource): Decision => {
      const allowed = !denied(action, formatSrn(resource));
      return { allowed, reason: allowed ? 'allowed' : 'implicitDeny', matchedStatements: [] };
    },
  };
}

let fileSender: FileSender | undefined;
/** Answers that the system has sent from a file. */
let filesSent: number;

async function start(requestsPerSecond = 0): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-lane-'));
  registry = new Registry();
  clock = 1_000_000;
  asked = [];
  denied = () => false;
  filesSent = 0;
  records = [];
  caller = ALICE;
  const endpoint = new StubEndpoint();
  endpoint.answer = () => responseOf(answerText(rowTexts(50_000)));
  let seed = 0;
  service = await createQueryService({
    engine: engineOf(endpoint),
    identity: { id: 'gateway', host: HOST, port: PORT },
    store: {
      ...DEFAULT_RESULT_STORE_SETTINGS,
      protocol: 'file',
      fileDataDir: join(folder, 'data'),
      tempDir: join(folder, 'temp'),
    },
    settings: () => DEFAULT_PAGINATION_SETTINGS,
    registry,
    log: createLogger('silent'),
    now: () => clock,
    // A clock that stands still: no read is slow, however busy the machine is.
    monotonic: () => 0,
    random: (bytes) => Buffer.alloc(bytes, `${seed++}-`),
    timers: { every: () => () => undefined },
  });
  const write = (line: string): void => void records.push(JSON.parse(line) as Record<string, unknown>);
  const ofCaller = fixedAuthenticator(ALICE);
  app = await testApp({
    authorizer: authorizer('long'),
    register: service.register,
    parts: {
      authenticator: {
        ...ofCaller,
        authenticateNow: (credential) => {
          const result = ofCaller.authenticateNow?.(credential);
          return result?.outcome === 'authenticated' ? { outcome: 'authenticated', principal: caller } : result;
        },
      },
      fileSender,
      pageLane: { ...service.pages, uncounted: authorizer('lane') },
      callerLimits: new Limits({
        defaults: { requestsPerSecond },
        rolesOf: () => [],
        now: () => clock,
      }),
      logger: createLogger('info', { write }),
      observe: observeRequests(registry),
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
}

afterEach(() => stop());

async function stop(): Promise<void> {
  await app.close();
  await service.close();
  await rm(folder, { recursive: true });
}

const base = (): string => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;

async function submit(): Promise<string> {
  const answer = await fetch(`${base()}/query/sql?doPaginate=true&numRows=1`, {
    method: 'POST',
    headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
    body: JSON.stringify({ sql: 'SELECT * FROM orders' }),
  });
  const { requestId } = (await answer.json()) as { requestId: string };
  asked.length = 0;
  records.length = 0;
  return requestId;
}

const ask = (requestId: string, query = 'offset=10&numRows=5', headers: object = {}): Promise<Response> =>
  fetch(`${base()}/query/${requestId}/results?${query}`, { headers: { ...TEST_HEADERS, ...headers } });

/** The same, spelled so that the lane does not take it. */
const LONG_WAY = 'numRows=5&offset=10';

const plain = ({ headers }: Response): object =>
  Object.fromEntries([...headers].map(([name, value]) => [name, name === 'date' ? 'some' : value]));

const system = await loadFileSender();
const ways: { how: string; sender: FileSender | undefined }[] = [{ how: 'read', sender: undefined }];
if (system !== undefined) {
  const head: FileSender['head'] = (socket, bytes) => {
    filesSent++;
    return system.head(socket, bytes);
  };
  ways.push({ how: 'sent by the system', sender: { ...system, head } });
}

describe.each(ways)('the short way of a page, files $how', ({ sender }) => {
  beforeEach(() => {
    fileSender = sender;
    return start();
  });

  it('answers as the long one, with its headers, record and metric', async () => {
    const id = await submit();
    const short = await ask(id, undefined, { 'x-request-id': 'mine' });
    expect(asked).toEqual(['lane Query srn2:table#orders', 'long Query srn2:table#orders']);
    const long = await ask(id, LONG_WAY, { 'x-request-id': 'mine' });
    expect(asked).toHaveLength(3);
    expect(await short.text()).toBe(await long.text());
    expect(short.status).toBe(200);
    expect(plain(short)).toEqual(plain(long));
    const [first, second] = records.map(({ time: _time, ms: _ms, ...rest }) => rest);
    expect(first).toEqual(second);
    expect(first).toMatchObject({ path: `/query/${id}/results`, status: 200, principal: ALICE.srn, reqId: 'mine' });
    expect(await registry.metrics()).toMatch(
      /olap_warden_http_request_duration_seconds_count\{method="GET",route="\/query\/:requestId\/results",status="200"\} 2/,
    );
  });

  it.each([
    ['small pages one behind the other', 50_000, 333],
    ['large pages', 50_000, 20_000],
  ])('serves every row once: %s', async (_what, total, numRows) => {
    const id = await submit();
    const rows: string[] = [];
    for (let query: string | undefined = `offset=0&numRows=${numRows}`; query !== undefined;) {
      const answer = await ask(id, query);
      const text = await answer.text();
      rows.push(text.slice(text.indexOf('"rows":[') + 8, text.indexOf(']},"requestId"')));
      query = /"nextOffsetParams":"([^"]+)"/.exec(text)?.[1];
    }
    expect(rows.join(',') === rowTexts(total).join(',')).toBe(true);
    expect(asked.filter((line) => line.startsWith('lane'))).toHaveLength(rows.length);
    expect(filesSent).toBe(sender !== undefined && numRows > 1000 ? rows.length : 0);
  });

  it('takes the headers that name this gateway, and leaves any others to the long way', async () => {
    const id = await submit();
    const named = await ask(id, undefined, { forward_host: HOST, forward_port: String(PORT) });
    expect([named.status, asked.length]).toEqual([200, 2]);
    await ask(id, undefined, { forward_host: HOST, forward_port: '1' });
    expect(asked).toHaveLength(3);
  });

  it('asks again at each read, and refuses as the long way does, once', async () => {
    const id = await submit();
    expect((await ask(id)).status).toBe(200);
    asked.length = 0;
    denied = (action) => action === 'Query';
    const refused = await ask(id);
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain('may not `Query` on `srn2:table#orders`');
    expect(asked.filter((line) => line.startsWith('long'))).toHaveLength(1);
    expect(records.filter(({ msg, status }) => msg === 'answered' && status === 403)).toHaveLength(1);
  });

  it('lets others read only who may read any', async () => {
    const id = await submit();
    caller = BOB;
    expect((await ask(id)).status).toBe(200);
    expect(asked[0]).toBe('lane GetResponseStore srn2:');
    denied = (action) => action === 'GetResponseStore';
    expect((await ask(id)).status).toBe(403);
  });

  it('says no for what is gone, out of range, or without a credential', async () => {
    const id = await submit();
    expect((await ask(id, 'offset=50000')).status).toBe(400);
    expect((await ask(id, 'offset=0&numRows=0')).status).toBe(400);
    expect((await ask(id, undefined, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await ask(`${id.slice(0, -1)}f`)).status).toBe(404);
    clock += DEFAULT_PAGINATION_SETTINGS.expirationMs + 1;
    expect((await ask(id)).status).toBe(404);
    expect(
      records.every(({ msg, principal, status }) => msg !== 'answered' || principal !== undefined || status === 401),
    ).toBe(true);
  });

  it.each([
    ['small', 5],
    ['large', 20_000],
  ])('says so where the file of a %s page was cut off, and goes on', async (_size, numRows) => {
    const [broken, whole] = [await submit(), await submit()];
    // The first read is made by another thread, the second in place.
    for (const offset of [0, 25_000]) expect((await ask(broken, `offset=${offset}&numRows=20000`)).status).toBe(200);
    await truncate(join(folder, 'data', `${broken}.rows`), 1000);
    for (let i = 0; i < 2; i++) {
      const answer = await ask(broken, `offset=49000&numRows=${numRows}`);
      expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('damaged')]);
    }
    expect((await ask(whole)).status).toBe(200);
  });

  it('sees in a tenth of a second that another process has deleted a result', async () => {
    const id = await submit();
    expect((await ask(id)).status).toBe(200);
    await rm(join(folder, 'data'), { recursive: true });
    clock += 101;
    expect((await ask(id)).status).toBe(404);
  });

  it('counts each page once against the limits of its caller', async () => {
    await stop();
    // A burst of ten, of which the submission is one.
    await start(1);
    const id = await submit();
    const statuses: number[] = [];
    for (let i = 0; i < 10; i++) statuses.push((await ask(id)).status);
    expect(statuses).toEqual([...Array.from({ length: 9 }, () => 200), 429]);
  });

  it('lets many pages be under way at once, since each holds little of its file', async () => {
    const id = await submit();
    const request = { offset: 0, numRows: 20_000 };
    expect((await ask(id, 'offset=0&numRows=20000')).status).toBe(200);
    const { queries } = service.pages;
    const readers: ResultReader[] = [];
    const next = (): ReturnType<typeof queries.pageNow> => {
      const reader = queries.openNow(id);
      if (reader === undefined) throw new Error('it is not open');
      readers.push(reader);
      return queries.pageNow(reader, request, true);
    };
    // 64 MB in all, of which each may hold 256 KB.
    for (let i = 0; i < 256; i++) expect(next()).toMatchObject({ rows: { from: 0 } });
    expect(next()).toBeUndefined();
    await Promise.all(readers.splice(0).map((reader) => reader.close()));
    expect(next()).toMatchObject({ rows: { from: 0 } });
    await Promise.all(readers.map((reader) => reader.close()));
  });

  it('frees what clients that leave have held, and records that they left', async () => {
    const id = await submit();
    for (let i = 0; i < 100; i++) {
      const socket = connect(Number(new URL(base()).port), '127.0.0.1');
      socket.on('error', () => undefined);
      const head = `GET /query/${id}/results?offset=0&numRows=50000 HTTP/1.1\r\nHost: x\r\nAuthorization: ${TEST_HEADERS.authorization}\r\n\r\n`;
      socket.write(head);
      if (i % 2 === 0) await once(socket, 'data');
      socket.destroy();
    }
    await expect.poll(() => service.pages.queries.isBeingRead(id), { timeout: 10_000 }).toBe(false);
    expect(records.length).toBeGreaterThan(0);
    expect((await ask(id)).status).toBe(200);
  });
});
