import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { standalone } from '../../../src/app/standalone.ts';
import { VERSION } from '../../../src/app/parts/version.ts';
import { FolderStore } from '../../../src/store/folder/folder-store.ts';
import { policy, role, roleAssignment } from '../../builders/resources.ts';
import { startStandalone, startTestService, type Standalone } from '../../support/service.ts';
import { once } from '../../support/once.ts';

const ROLES = '/api/v1/rbac-manager/roles';

interface ErrorBody {
  readonly timestamp: string;
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly path: string;
}

async function expectErrorBody(answer: Response, path: string): Promise<ErrorBody> {
  const text = await answer.text();
  expect(answer.headers.get('content-type'), text).toContain('application/json');
  const body = JSON.parse(text) as ErrorBody;
  const ofQueries = ['numServersQueried', 'numServersResponded'];
  const keys = [
    'error',
    'message',
    ...(/^\/(?:query\/sql|query|sql)$/.test(path) ? ofQueries : []),
    'path',
    'status',
    'timestamp',
  ];
  // Other methods at these paths are calls of the controller.
  const names = Object.keys(body).filter(
    (name) => name !== 'code' || (body as { code?: number }).code !== answer.status,
  );
  expect(names.sort()).toEqual(keys);
  expect([body.status, body.path]).toEqual([answer.status, path]);
  expect(new Date(body.timestamp).toISOString()).toBe(body.timestamp);
  expect(body.message).not.toBe('');
  return body;
}

describe('standalone', () => {
  let service: Standalone;
  beforeAll(async () => {
    service = await startStandalone();
  });
  afterAll(() => service.stop());

  it('creates a token for the first administrator, prints where it is and stores its hash', async () => {
    expect(service.printed.join('')).toContain(join(service.dataDir, 'admin-token'));
    expect(service.printed.join('')).not.toContain(service.token);
    expect((await stat(join(service.dataDir, 'admin-token'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(service.dataDir, 'tokens.jsonl'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(service.dataDir, 'tokens.jsonl'), 'utf8')).not.toContain(service.token);
    const answer = await service.call('GET', '/api/v1/rbac-manager/whoami');
    expect(await answer.json()).toMatchObject({
      srn: 'srn2:user#admin@localhost',
      roles: [{ name: 'system-admin' }],
    });
  });

  it('has the predefined roles at the first response', async () => {
    const roles = (await (await service.call('GET', ROLES)).json()) as { name: string; createdBy: string }[];
    expect(roles.map(({ name }) => name)).toEqual([
      'cluster-admin',
      'health-reader',
      'rbac-admin',
      'system-admin',
      'table-reader',
    ]);
    expect(new Set(roles.map(({ createdBy }) => createdBy))).toEqual(new Set(['platform-rbac-manager']));
  });

  it('writes a created role as a manifest, and applies a manifest put into the folder', async () => {
    const created = await service.call('POST', ROLES, { name: 'analysts', description: 'who looks' });
    expect(created.status).toBe(200);
    expect(await created.json()).toMatchObject({
      srn: 'srn2:role#analysts',
      createdBy: 'srn2:user#admin@localhost',
    });
    expect(await readFile(join(service.dataDir, 'roles/analysts.yaml'), 'utf8')).toContain('who looks');
    const manifest = 'apiVersion: olapwarden.io/v1beta1\nkind: Role\nmetadata: {name: by-hand}\nspec: {}\n';
    await writeFile(join(service.dataDir, 'roles/by-hand.yaml'), manifest);
    await expect.poll(async () => (await service.call('GET', `${ROLES}/srn2:role%23by-hand`)).status).toBe(200);
  });

  it('creates a service token, accepted as Bearer and Basic once it has a role', async () => {
    const issued = (await (
      await service.call('POST', '/api/v1/rbac-manager/service-tokens', { description: 'job' })
    ).json()) as { accessKey: string; secretKey: string; bearerToken: string };
    const bearer = { authorization: `Bearer ${issued.bearerToken}` };
    const unassigned = await service.call('GET', ROLES, undefined, bearer);
    expect(unassigned.status).toBe(401);
    expect((await expectErrorBody(unassigned, ROLES)).message).toContain('no role');
    await service.call('POST', `${ROLES}/srn2:role%23rbac-admin/create-assignment`, {
      subject: issued.accessKey,
      subjectType: 'service-token',
    });
    expect((await service.call('GET', ROLES, undefined, bearer)).status).toBe(200);
    const basic = `Basic ${Buffer.from(`${issued.accessKey}:${issued.secretKey}`).toString('base64')}`;
    expect((await service.call('GET', ROLES, undefined, { authorization: basic })).status).toBe(200);
    expect((await service.call('GET', '/clusterHealth', undefined, bearer)).status).toBe(403);
  });

  it('has probes and metrics at the second listener', async () => {
    const read = async (path: string): Promise<[number, string]> => {
      const answer = await fetch(service.metricsUrl + path);
      return [answer.status, await answer.text()];
    };
    expect(await read('/livez')).toEqual([200, 'ok\n']);
    expect(await read('/readyz')).toEqual([200, 'ready\n']);
    expect((await read('/nowhere'))[0]).toBe(404);
    await service.call('GET', `${ROLES}/srn2:role%23nobody`);
    // A request is counted when its response was sent, which the client may notice earlier.
    await expect
      .poll(async () => (await read('/metrics'))[1])
      .toMatch(
        /olap_warden_http_request_duration_seconds_count\{method="GET",route="\/api\/v1\/rbac-manager\/roles\/:roleSrn",status="404"\} [1-9]/,
      );
    const [status, metrics] = await read('/metrics');
    expect(status).toBe(200);
    expect(metrics).toContain(`olap_warden_info{version="${VERSION}",command="standalone"} 1`);
    expect(metrics).toMatch(/olap_warden_decisions_total\{result="allowed"\} [1-9]/);
    expect(metrics).toMatch(/olap_warden_store_age_seconds \d/);
    expect(metrics).toContain('process_resident_memory_bytes');
    expect(metrics).not.toContain('nobody');
  });

  it('responds to every error of every route with the Error body', async () => {
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { security?: unknown[]; requestBody?: object }>>;
    };
    let checked = 0;
    for (const [pattern, operations] of Object.entries(document.paths)) {
      const path = pattern.replaceAll(/\{\w+\}/g, 'srn2:role%23nobody');
      const refused = await service.call('PATCH', path);
      expect(refused.status, `PATCH ${path}`).toBe(405);
      expect(refused.headers.get('allow')?.toLowerCase().split(', ')).toEqual(
        expect.arrayContaining(Object.keys(operations)),
      );
      await expectErrorBody(refused, path);
      for (const [method, operation] of Object.entries(operations)) {
        checked += 1;
        if (operation.security === undefined || operation.security.length > 0) {
          const anonymous = await service.call(method.toUpperCase(), path, undefined, { authorization: '' });
          expect(anonymous.status, `${method} ${path}`).toBe(401);
          expect(anonymous.headers.get('www-authenticate')).toContain('Bearer');
          await expectErrorBody(anonymous, path);
        }
        if (!operation.requestBody) continue;
        for (const [body, type, status] of [
          ['{', 'application/json', 400],
          ['7', 'application/json', 400],
          ['a,b', 'text/csv', 415],
        ] as const) {
          const answer = await service.call(method.toUpperCase(), path, body, { 'content-type': type });
          expect([answer.status], `${method} ${path} ${body}`).toEqual([status]);
          await expectErrorBody(answer, path);
        }
      }
    }
    expect(checked).toBeGreaterThan(30);
    const unknown = await service.call('POST', '/api/v1/nowhere', 'a', { 'content-type': 'text/csv' });
    expect(unknown.status).toBe(404);
    await expectErrorBody(unknown, '/api/v1/nowhere');
    // What is not this program's own is the engine's, which is away here.
    const engines = await service.call('GET', '/nowhere/at/all');
    expect(engines.status).toBe(502);
    await expectErrorBody(engines, '/nowhere/at/all');
  });

  it('rejects a second process on the same folder', async () => {
    await expect(
      startTestService(standalone, { 'data-dir': service.dataDir, controllers: 'http://127.0.0.1:9' }),
    ).rejects.toThrow(/open|lock|process/i);
  });
});

describe('a second start', () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'olap-warden-again-'));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  it('keeps the token without printing it, and follows changes of `admin-subject`', async () => {
    const flags = { 'data-dir': dataDir, controllers: 'http://127.0.0.1:9' };
    const first = await startTestService(standalone, { ...flags, 'admin-subject': 'group:ops' });
    const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
    const headers = { authorization: `Bearer ${token}` };
    const assigned = async (url: string): Promise<unknown> =>
      (await fetch(`${url}${ROLES}/srn2:role%23system-admin/assignments`, { headers })).json();
    await expect.poll(() => assigned(first.url)).toMatchObject([{ subject: 'ops' }, { subject: 'admin@localhost' }]);
    await first.stop();
    const second = await startTestService(standalone, flags);
    expect(second.printed.join('')).not.toContain('adm-');
    await expect.poll(() => assigned(second.url)).toMatchObject([{ subject: 'admin@localhost' }]);
    await second.stop();
  });
});

describe('a start with --recover-admin', () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'olap-warden-recover-'));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  it('replaces the token of the local administrator, and takes the roles with denies from it', async () => {
    const flags = { 'data-dir': dataDir, controllers: 'http://127.0.0.1:9' };
    await (await startTestService(standalone, flags)).stop();
    const lost = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
    // A role that denies everything, and a deleted role system-admin, leave no administrator.
    const name = 'admin@localhost';
    const store = await FolderStore.open(dataDir);
    await store.create('Policy', policy('none', { statements: [{ effect: 'deny', resources: ['*'] }] }));
    await store.create('Role', role('none', { policies: ['none'] }));
    const subjects = [
      { type: 'user-email' as const, name },
      { type: 'group' as const, name: 'others' },
    ];
    await store.create('RoleAssignment', roleAssignment('none', { role: 'none', subjects }));
    await store.delete('RoleAssignment', 'local-administrator');
    await store.close();
    await appendFile(join(dataDir, 'tokens.jsonl'), `${JSON.stringify({ sha256: 'a'.repeat(64), user: 'ada' })}\n`);

    const service = await startTestService(standalone, { ...flags, 'recover-admin': 'true' });
    const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
    expect(service.printed.join('')).not.toContain(token);
    const asks = (bearer: string, path: string): Promise<Response> =>
      fetch(`${service.url}/api/v1/rbac-manager${path}`, { headers: { authorization: `Bearer ${bearer}` } });
    expect((await asks(lost, '/whoami')).status).toBe(401);
    expect(await (await asks(token, '/whoami')).json()).toMatchObject({ roles: [{ name: 'system-admin' }] });
    expect((await asks(token, '/roles')).status).toBe(200);
    const assigned = (await (await asks(token, '/assignments')).json()) as { subject: string; role: string }[];
    expect(assigned.map(({ subject, role: of }) => `${of} ${subject}`)).toEqual([
      'none others',
      `system-admin ${name}`,
    ]);
    await service.stop();
    const tokens = await readFile(join(dataDir, 'tokens.jsonl'), 'utf8');
    expect(
      tokens
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { user: string }).user),
    ).toEqual(['ada', name]);
    expect((await stat(join(dataDir, 'tokens.jsonl'))).mode & 0o777).toBe(0o600);
  });

  it('is refused with a token file of its own', async () => {
    const flags = { 'data-dir': dataDir, 'recover-admin': 'true', 'token-file': '/nowhere' };
    await expect(startTestService(standalone, flags)).rejects.toThrow('`recover-admin` and `token-file` are both set');
  });
});

describe('the shutdown', () => {
  let broker: Server;
  let waiting: ServerResponse[];
  let service: Standalone | undefined;
  beforeAll(async () => {
    waiting = [];
    broker = createServer((request, response) => {
      if (request.method === 'POST') waiting.push(response);
      else if (request.url === '/tables/livebrokers') response.end('{"t_OFFLINE":[]}');
      else response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(broker, 'listening');
  });
  afterEach(() => service?.stop());
  afterAll(() => {
    broker.closeAllConnections();
    broker.close();
  });

  const start = (flags: Record<string, string>): Promise<Standalone> =>
    startStandalone({ brokers: engineUrl(), controllers: engineUrl(), ...flags });
  const engineUrl = (): string => `http://127.0.0.1:${(broker.address() as AddressInfo).port}`;

  it('fails the readiness probe, accepts no connections, and completes requests in progress', async () => {
    service = await start({});
    let answer: Response | undefined;
    const pending = (async () => {
      answer = await service?.call('POST', '/query/sql', { sql: 'SELECT 1 FROM t' });
    })();
    await expect.poll(() => waiting.length).toBe(1);
    const stopped = service.stop();
    const ready = await fetch(`${service.metricsUrl}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, 'not ready\nend: the process is stopping\n']);
    // For a second it still accepts connections, with `Connection: close` in the responses; then it accepts none.
    await expect
      .poll(() =>
        service!.call('GET', '/openapi.json').then(
          () => 'answered',
          () => 'refused',
        ),
      )
      .toBe('refused');
    waiting.pop()?.writeHead(200, { 'content-type': 'application/json' }).end('{"exceptions":[]}');
    await pending;
    expect([answer?.status, await answer?.text()]).toEqual([200, '{"exceptions":[]}']);
    await stopped;
    await expect(fetch(`${service.metricsUrl}/livez`)).rejects.toThrow();
  });

  it('aborts requests that exceed `shutdown-grace`', async () => {
    service = await start({ 'shutdown-grace': '200ms' });
    const pending = service.call('POST', '/query/sql', { sql: 'SELECT 1 FROM t' }).then(
      () => 'answered',
      () => 'cut',
    );
    await expect.poll(() => waiting.length).toBe(1);
    const started = performance.now();
    await service.stop();
    // The default is 30 s.
    expect(performance.now() - started).toBeLessThan(30_000);
    expect(await pending).toBe('cut');
  });
});
