import { hash } from 'node:crypto';
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installed } from '../../tools/pinot/jvm.ts';
import { FakeEngine } from '../support/fake-engine.ts';
import { GatewayProcess, type ServiceToken } from '../support/gateway-process.ts';
import { until } from '../support/until.ts';
import { answerText, rowTexts } from '../unit/results/answers.ts';

// A gateway process whose wall clock is set while it works. libfaketime changes the answers of the operating system about the wall clock; the monotonic
// clock stays as it is, as after `date --set` or a step of NTP.

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const STEPS_MS = [HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS];
/** Of failed logins. */
const WINDOW_MS = MINUTE_MS;
const FAILURES = 3;
const SQL = 'SELECT id, city FROM orders LIMIT 5';
const MANAGER = '/api/v1/rbac-manager';

interface Status {
  readonly requestId: string;
  readonly state: string;
  readonly submissionTimeMs: number;
  readonly expirationTimeMs: number;
}

let folder: string;
let clockFile: string;
let engine: FakeEngine;
let gateway: GatewayProcess;
let reader: ServiceToken;
/** Queries that the engine has not answered yet; undefined where it answers at once. */
let waiting: ServerResponse[] | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-clock-'));
  clockFile = join(folder, 'offset');
  await writeFile(clockFile, '+0');
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE']);
  engine.answers.set('POST /query/sql', (_request, response) => {
    if (waiting === undefined) respond(response);
    else waiting.push(response);
  });
  gateway = await GatewayProcess.start({
    controllers: engine.url,
    flags: { 'max-failed-attempts': FAILURES, 'trust-proxy': '127.0.0.1' },
    env: {
      LD_PRELOAD: join(await installed('faketime'), 'libfaketime.so.1'),
      FAKETIME_TIMESTAMP_FILE: clockFile,
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
  });
  reader = await gateway.tokenFor('reader', [
    { effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] },
  ]);
});
afterAll(async () => {
  await gateway?.stop();
  await engine?.close();
  await rm(folder, { recursive: true, force: true });
});

function respond(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(answerText(rowTexts(5)));
}

let clients = 0;
/** Another client, so that the failed logins of each count by themselves. */
function newAddress(): string {
  clients++;
  return `10.0.${clients >> 8}.${clients & 0xff}`;
}

async function callAs(token: string, method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(gateway.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'x-forwarded-for': newAddress(),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}
const query = (token: string, path = '/query/sql'): Promise<Response> => callAs(token, 'POST', path, { sql: SQL });

async function storedAt(): Promise<Status> {
  const answer = await query(gateway.token, '/query/sql?doPaginate=true&numRows=2');
  expect(answer.status).toBe(200);
  const { requestId } = (await answer.json()) as Status;
  return (await (await callAs(gateway.token, 'GET', `/query/${requestId}`)).json()) as Status;
}
const near = (time: number, expected: number): boolean => Math.abs(time - expected) < 5 * MINUTE_MS;

/** Sets the clock of the gateway, and waits until it has seen it. @param ms difference from the clock of this process */
async function setClock(ms: number): Promise<void> {
  // At once, so that the gateway never reads a part of it.
  await writeFile(`${clockFile}.new`, `${ms < 0 ? '' : '+'}${ms / 1000}`);
  await rename(`${clockFile}.new`, clockFile);
  await until('the gateway sees the new time', async () => near((await storedAt()).submissionTimeMs, Date.now() + ms));
}

/** Of a login from an address. */
async function login(token: string, address: string): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': address };
  return fetch(`${gateway.url}${MANAGER}/whoami`, { headers });
}

async function newToken(expiresAt: string): Promise<ServiceToken> {
  const created = await gateway.call('POST', `${MANAGER}/service-tokens`, { description: 'clock', expiresAt });
  expect(created.status).toBe(200);
  const token = (await created.json()) as ServiceToken;
  const assignment = { subject: token.accessKey, subjectType: 'service-token' };
  const path = `${MANAGER}/roles/srn2:role%23reader/create-assignment`;
  expect((await gateway.call('POST', path, assignment)).status).toBe(200);
  return token;
}

describe.each(STEPS_MS)('a step of the clock of a gateway by %d ms', (step) => {
  it('ends no query that runs, and delays none', async () => {
    await setClock(0);
    waiting = [];
    const synchronous = query(reader.bearerToken);
    await until('a query at the engine', () => waiting?.length === 1);
    const accepted = await query(gateway.token, '/query/sql?doPaginate=true&async=true');
    expect(accepted.status).toBe(202);
    const { requestId } = (await accepted.json()) as Status;
    await until('two queries at the engine', () => waiting?.length === 2);
    const held = waiting;
    waiting = undefined;
    await setClock(step);
    const status = async (): Promise<Status> =>
      (await (await callAs(gateway.token, 'GET', `/query/${requestId}`)).json()) as Status;
    expect((await status()).state).toBe('running');
    for (const response of held) respond(response);
    expect((await synchronous).status).toBe(200);
    await until('the asynchronous query is done', async () => (await status()).state === 'done');
    // Its time to live begins when it is complete, by the new time.
    expect((await status()).expirationTimeMs).toBeGreaterThan(Date.now() + step);
  });

  it('neither lifts nor extends the limit of failed logins, nor keeps a token file from being read', async () => {
    await setClock(0);
    const address = newAddress();
    const begun = performance.now();
    for (let failed = 0; failed < FAILURES; failed++) expect((await login('wrong', address)).status).toBe(401);
    await setClock(step);
    const limited = await login('wrong', address);
    // On a machine that is so busy the window has ended.
    if (performance.now() - begun < WINDOW_MS / 2) {
      expect(limited.status).toBe(429);
      expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(WINDOW_MS / 1000);
    }
    const token = `of step ${step}`.replaceAll(' ', '-');
    const user = { sha256: hash('sha256', token), user: 'ann' };
    await appendFile(join(gateway.dataDir, 'tokens.jsonl'), `\n${JSON.stringify(user)}\n`);
    // 403: known, without a role.
    await until('the new token is known', async () => (await login(token, newAddress())).status !== 401);
  });

  it('moves the expiry of tokens and results, and of nothing else', async () => {
    await setClock(0);
    const short = await newToken(new Date(Date.now() + 30 * MINUTE_MS).toISOString());
    await until('the token is accepted', async () => (await query(short.bearerToken)).status === 200);
    const before = await storedAt();
    const revoked = await newToken(new Date(Date.now() + 48 * HOUR_MS).toISOString());
    await until('the token is accepted', async () => (await query(revoked.bearerToken)).status === 200);
    const srn = `srn2:service-token%23${revoked.accessKey}`;
    expect((await gateway.call('DELETE', `${MANAGER}/service-tokens/${srn}`)).status).toBe(200);

    await setClock(step);
    expect((await query(revoked.bearerToken)).status).toBe(401);
    expect((await query(short.bearerToken)).status).toBe(step > 0 ? 401 : 200);
    const path = `/query/${before.requestId}/results?offset=0`;
    const isExpired = Date.now() + step > before.expirationTimeMs;
    expect((await callAs(gateway.token, 'GET', path)).status).toBe(isExpired ? 404 : 200);
    expect((await query(reader.bearerToken)).status).toBe(200);
    const probe = await fetch(`http://127.0.0.1:${gateway.metricsPort}/readyz`);
    expect(probe.status).toBe(200);
    // What is revoked now is revoked at once.
    const now = await newToken(new Date(Date.now() + step + HOUR_MS).toISOString());
    await until('the token is accepted', async () => (await query(now.bearerToken)).status === 200);
    const current = `srn2:service-token%23${now.accessKey}`;
    expect((await gateway.call('DELETE', `${MANAGER}/service-tokens/${current}`)).status).toBe(200);
    expect((await query(now.bearerToken)).status).toBe(401);

    await setClock(0);
    expect((await query(short.bearerToken)).status).toBe(200);
    for (const token of [revoked, now]) expect((await query(token.bearerToken)).status).toBe(401);
  });
});
