// @module-tag slow
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SQL_PATHS } from '../../src/api/server/request/classify.ts';
import { isListing } from '../support/fake-engine.ts';
import { engineCalls } from './support/engine-calls.ts';
import { type Caller, RoledGateway } from './support/gateway.ts';
import { createObjects, ownCalls } from './support/own-calls.ts';

// Writes docs/access-by-role.md with `vitest -u`: each row is a decision that a review of a change sees.
const PAGE = join(import.meta.dirname, '../../docs/access-by-role.md');
const INTRODUCTION = `# Access by role

Which calls each predefined role may make. The test \`test/security/routes.unit.test.ts\` makes each call as each caller on a whole gateway and compares this page with
the responses; \`make test-security UPDATE=1\` writes it. The callers: none (no credential, or the token of a caller without a role), one whose role has no policies, and one
for each predefined role. The table of the calls is \`orders\`; stored results, roles, policies and tokens belong to another caller.

- \`401\`, \`403\`: rejected with this status. A status below 400: served. A higher one: allowed, but impossible, such as 404 for a cluster health report that does not exist.
- \`visible\`: the response contains only what the caller may see.
- A role of your own with a narrower grant than these can do less, never more.
`;

let gateway: RoledGateway;
let callers: readonly Caller[];
beforeAll(async () => {
  gateway = await RoledGateway.start();
  callers = gateway.callers;
});
afterAll(() => gateway.stop());

/** Statuses by route, in the order of the callers. */
async function statusesOfOwnCalls(): Promise<Map<string, string[]>> {
  const rows = new Map<string, string[]>();
  for (const [turn, caller] of callers.entries()) {
    const objects = await createObjects(gateway, turn);
    for (const { route, path, body, filtered } of ownCalls(objects, turn)) {
      const answer = await gateway.send(caller, route.split(' ')[0]!, path, body);
      const text = await answer.text();
      expect(answer.status, `${caller.name}: ${route}: ${text}`).not.toBe(500);
      if (answer.status >= 400) expect(JSON.parse(text), `${caller.name}: ${route}`).toHaveProperty('message');
      const hidden = ['without-policies', 'table-reader', 'health-reader'].includes(caller.name);
      if (filtered && hidden)
        expect(text, `${caller.name}: ${route}`).not.toMatch(
          new RegExp(`secret-|${objects.token}|${objects.requestId}`),
        );
      const status = filtered && answer.status === 200 ? 'visible' : String(answer.status);
      rows.set(route, [...(rows.get(route) ?? []), status]);
    }
  }
  return rows;
}

/** Statuses of the engine's calls. What is rejected must not have reached the engine; what is allowed must have. */
async function statusesOfEngineCalls(): Promise<Map<string, string[]>> {
  const rows = new Map<string, string[]>();
  const problems: string[] = [];
  for (const { method, pattern, path, body } of engineCalls()) {
    for (const caller of callers) {
      gateway.forwarded();
      const answer = await gateway.send(caller, method, path, body);
      const text = await answer.text();
      const what = `${caller.name}: ${method} ${path}: ${answer.status} ${text.slice(0, 300)}`;
      if (![200, 401, 403, 405].includes(answer.status)) problems.push(what);
      const forwarded = gateway.forwarded() > 0;
      // The gateway requests some lists also for itself.
      if (!isListing({ method, url: path }) && forwarded !== (answer.status === 200))
        problems.push(`forwarded: ${forwarded}: ${what}`);
      const key = `${method} ${pattern}`;
      rows.set(key, [...(rows.get(key) ?? []), String(answer.status)]);
    }
  }
  expect(problems).toEqual([]);
  return rows;
}

function tableOf(rows: ReadonlyMap<string, readonly string[]>): string {
  // The two callers without access have one column; the test holds them equal.
  const names = [
    'none',
    ...callers.slice(2).map(({ name }) => (name === 'without-policies' ? 'no policies' : `\`${name}\``)),
  ];
  const lines = [...rows].map(([route, [, ...statuses]]) => `| \`${route}\` | ${statuses.join(' | ')} |`);
  return [`| call | ${names.join(' | ')} |`, `|---|${names.map(() => '---|').join('')}`, ...lines].join('\n');
}

/** Routes in the form of the OpenAPI document. */
function registered(): string[] {
  const written = gateway.routes.map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`);
  return [...new Set(written)];
}

describe('every route of both planes', () => {
  it('is served to exactly the callers of docs/access-by-role.md', async () => {
    const own = await statusesOfOwnCalls();
    const engine = await statusesOfEngineCalls();
    for (const [route, statuses] of [...own, ...engine])
      expect(statuses[0], `${route} without a credential`).toBe(statuses[1]);
    const sections = [
      INTRODUCTION,
      `## Calls of the gateway\n\n${tableOf(own)}\n`,
      `## Calls of Pinot\n\nEach row is a line of \`src/pinot/call-list.ts\`; \`*\` is any part of a path. Lists of tables contain the tables that the caller may see.\n\n${tableOf(engine)}\n`,
    ];
    await expect(sections.join('\n')).toMatchFileSnapshot(PAGE);
  });

  it('is in the table, answers 405 to other methods, or forwards to Pinot', async () => {
    const objects = { role: 'r', policy: 'p', spare: 's', token: 't', requestId: 'i', cursor: 'c' };
    const known = new Set(ownCalls(objects, 0).map(({ route }) => route));
    const others = registered().filter((route) => !known.has(route));
    expect(registered().length).toBeGreaterThan(known.size);
    const anonymous = callers[0] as Caller;
    for (const route of others) {
      const [method = '', url = ''] = route.split(' ');
      if (method === 'HEAD' || url === '/*' || ['TRACE', 'CONNECT'].includes(method)) continue;
      const wildcard = url === '/api/v1/*' || url === '/docs/*';
      const { status } = await gateway.send(
        anonymous,
        method,
        url.replaceAll(/\{\w+\}/g, 'x').replace('*', 'no-such-path'),
      );
      expect(status, `${route} is not in the table`).toBe(wildcard ? 404 : 405);
    }
  });

  it('is in the table where it runs SQL without the router', () => {
    const objects = { role: 'r', policy: 'p', spare: 's', token: 't', requestId: 'i', cursor: 'c' };
    const own = ownCalls(objects, 0).map(({ route }) => route);
    const known = new Set([...own, ...engineCalls().map(({ method, pattern }) => `${method} ${pattern}`)]);
    const ways = Object.values(SQL_PATHS).flatMap(({ path, methods }) => methods.map((method) => `${method} ${path}`));
    expect(ways.length).toBeGreaterThan(5);
    expect(ways.filter((way) => !known.has(way))).toEqual([]);
  });

  it('is the same with a slash at the end of its path, for every method', async () => {
    const administrator = callers.find(({ name }) => name === 'system-admin') as Caller;
    const stranger = callers.find(({ name }) => name === 'without-policies') as Caller;
    const own = registered().map((route) => (route.split(' ')[1] ?? '').replaceAll(/\{\w+\}/g, 'x'));
    const ofEngine = engineCalls().map(({ path }) => path.split('?', 1)[0] ?? '');
    const sql = Object.values(SQL_PATHS).map(({ path }) => path);
    const paths = new Set([...own, ...ofEngine, ...sql, '/query/x/results', '/responseStore/x/results']);
    const others: string[] = [];
    for (const path of [...paths].filter((one) => one !== '/' && !one.includes('*'))) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        for (const caller of method === 'GET' ? [administrator, stranger] : [stranger]) {
          const [plain, slashed] = [
            await shownOf(await gateway.send(caller, method, path)),
            await shownOf(await gateway.send(caller, method, `${path}/`)),
          ];
          if (plain !== slashed) others.push(`${caller.name}: ${method} ${path}: ${plain}, with a slash ${slashed}`);
        }
      }
    }
    expect(paths.size).toBeGreaterThan(150);
    expect(others.slice(0, 20)).toEqual([]);
  });

  it('answers HEAD with the head of GET and no body, unless GET runs something', async () => {
    const turn = callers.length;
    const objects = await createObjects(gateway, turn);
    const running = new Set(['/query/sql', '/query', '/sql', '/periodictask/run']);
    // Of the gateway: its response has the age of what it knows.
    const reads = ownCalls(objects, turn).filter(({ route }) => /^GET (?!\/api\/v1\/gateway)/.test(route));
    expect(reads.length).toBeGreaterThan(30);
    for (const { route, path } of reads) {
      for (const caller of [callers[0], callers.at(-1)] as Caller[]) {
        const head = await gateway.send(caller, 'HEAD', path);
        const get = await gateway.send(caller, 'GET', path);
        await get.arrayBuffer();
        expect(await head.text(), route).toBe('');
        const refused = caller.token === undefined ? 401 : 405;
        if (running.has(path.split('?', 1)[0] ?? '')) expect([refused, 405], route).toContain(head.status);
        else expect([head.status, headersOf(head)], `${caller.name}: ${route}`).toEqual([get.status, headersOf(get)]);
      }
    }
  });
});

/** Status and body, without what differs from one request to the next. */
async function shownOf(answer: Response): Promise<string> {
  const text = await answer.text();
  return `${answer.status} ${text.replaceAll(/"(?:timestamp|ageMs)":(?:"[^"]*"|[\d.]+),?/g, '')}`;
}

function headersOf({ headers, status }: Response): unknown {
  // The message of an error may name the method.
  if (status >= 400) return undefined;
  const {
    date: _date,
    'x-request-id': _id,
    connection: _connection,
    'keep-alive': _kept,
    'transfer-encoding': _coding,
    ...others
  } = Object.fromEntries(headers);
  return others;
}
