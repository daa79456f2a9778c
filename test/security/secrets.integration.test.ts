import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { roleAssignment, serviceToken } from '../builders/resources.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { FakeEngine } from '../support/fake-engine.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { applyManifests } from '../support/kubernetes/manifests.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { type RunningProduct, startProduct } from '../support/product-process.ts';
import type { Program } from '../support/processes.ts';
import { seeded } from '../support/seed.ts';

// Credentials are used in each way, also wrong ones, and then searched for in everything that the program writes.

const ROWS = { columnNames: ['city'], columnDataTypes: ['STRING'] };
/** The log has everything that the program ever logs. */
const LOUD = { 'log-level': 'trace' };

let engine: FakeEngine;
let folder: string;
/** A password of the gateway for Pinot; Pinot repeats it in its errors, which a real one does with some configurations. */
const password = seeded().bytes(18).toString('hex');
const basic = Buffer.from(`warden:${password}`).toString('base64');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-secrets-'));
  await writeFile(join(folder, 'engine'), `warden:${password}\n`);
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE']);
  engine.answers.set('POST /query/sql', ({ body }, response) => {
    const failed = { exceptions: [{ errorCode: 700, message: 'a function failed' }] };
    const good = { resultTable: { dataSchema: ROWS, rows: [['Oslo'], ['Bergen']] }, exceptions: [], numDocsScanned: 2 };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(body.includes('broken') ? failed : good));
  });
});
afterAll(async () => {
  await engine?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Places where a secret is, with some text around it, in any form in which it is usable. */
function leaks(secrets: readonly string[], places: Readonly<Record<string, string>>): string[] {
  const forms = secrets.flatMap((secret) => [
    secret,
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    encodeURIComponent(secret),
  ]);
  return Object.entries(places).flatMap(([place, text]) =>
    forms
      .map((form) => text.indexOf(form))
      .filter((at) => at >= 0)
      .map((at) => `${place}: …${text.slice(Math.max(0, at - 80), at + 8)}…`),
  );
}

/** The files that are not removed or renamed meanwhile: the gateway goes on writing its state. */
async function filesOf(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents: Record<string, string> = {};
  for (const file of files) {
    const content = await readFile(file, 'latin1').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (content !== undefined) contents[file] = content;
  }
  return contents;
}

/** Requests with a credential in places where it does not belong. @returns bodies and headers of the responses */
async function misuse(url: string, token: string): Promise<string[]> {
  const bearer = { authorization: `Bearer ${token}` };
  const json = { ...bearer, 'content-type': 'application/json' };
  const encoded = encodeURIComponent(token);
  const sql = (text: string): RequestInit => ({ method: 'POST', headers: json, body: JSON.stringify({ sql: text }) });
  const calls: readonly (readonly [string, RequestInit?])[] = [
    [`/query/sql?token=${encoded}`, sql('SELECT city FROM orders')],
    ['/query/sql', sql(`SELECT '${token}' FROM missing`)],
    ['/query/sql', sql(`SELECT ${token} FROM orders WHERE`)],
    ['/query/sql', sql('SELECT broken FROM orders')],
    ['/query/sql', { method: 'POST', headers: json, body: `{"sql":"${token}` }],
    [`/query/${encoded}/results`, { headers: bearer }],
    [`/tables/${encoded}`, { headers: bearer }],
    [`/tables?authorization=${encoded}`, { headers: bearer }],
    [`/api/v1/rbac-manager/roles/srn2:role%23${encoded}`, { headers: bearer }],
    [`/api/v1/${encoded}`, { headers: bearer }],
    ['/api/v1/rbac-manager/whoami', { headers: { authorization: token } }],
    ['/api/v1/rbac-manager/whoami', { headers: { authorization: `Bearer ${token}x` } }],
    ['/api/v1/rbac-manager/whoami', { headers: { authorization: `Basic ${token}` } }],
    ['/api/v1/rbac-manager/whoami', { headers: { ...bearer, 'x-request-id': token } }],
    ['/api/v1/rbac-manager/whoami', { headers: { ...bearer, database: token } }],
    ['/api/v1/rbac-manager/whoami', { headers: { ...bearer, cookie: `olap_warden_session=${encoded}` } }],
    ['/api/v1/rbac-manager/whoami', { headers: { ...bearer, 'x-forwarded-for': token, 'user-agent': token } }],
  ];
  const seen: string[] = [];
  for (const [path, init = {}] of calls) {
    const answer = await fetch(url + path, init);
    seen.push(`${path.replace(encoded, '…')} ${answer.status} ${await answer.text()}`);
  }
  return seen;
}

it('standalone writes no credential to its log, metrics, files and responses', async () => {
  const gateway = await GatewayProcess.start({
    controllers: engine.url,
    flags: { ...LOUD, 'engine-credential-file': join(folder, 'engine') },
    properties: [
      'olap.broker.pagination.protocol=file',
      `olap.broker.pagination.file.data.dir=${join(folder, 'results')}`,
    ],
  });
  try {
    const { secretKey, bearerToken } = await gateway.tokenFor('readers', [
      { effect: 'allow', actions: ['*'], resources: ['srn2:table#*', 'srn2:cluster#*'] },
    ]);
    const stored = await gateway.call('POST', '/query/sql?doPaginate=true&numRows=1', {
      sql: 'SELECT city FROM orders',
    });
    expect(stored.status).toBe(200);
    const bodies = [...(await misuse(gateway.url, bearerToken)), ...(await misuse(gateway.url, gateway.token))];
    expect(engine.seen.some(({ headers }) => headers.authorization === `Basic ${basic}`)).toBe(true);
    const callers = [secretKey, gateway.token];
    expect(engine.seen.filter((seen) => leaks(callers, { request: JSON.stringify(seen.headers) }).length > 0)).toEqual(
      [],
    );

    const metrics = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
    const files = { ...(await filesOf(gateway.dataDir)), ...(await filesOf(join(folder, 'results'))) };
    expect(Object.values(files).some((content) => content.includes('Bergen'))).toBe(true);
    const { [join(gateway.dataDir, 'admin-token')]: adminToken, ...others } = files;
    expect(adminToken).toContain(gateway.token);
    // The first start prints the administrator's token once, on stdout.
    const log = gateway.program.output.replace(/^Token of the administrator.*\n.*\n/m, '');
    expect(log.length).toBeGreaterThan(2_000);
    const places = { log, metrics, ...others };
    expect(leaks([...callers, password, basic], places)).toEqual([]);
    // A caller may get its own credential back only where its request has it: in the echo of its path or text.
    expect(leaks([password, basic], { responses: bodies.join('\n') })).toEqual([]);
  } finally {
    await gateway.stop();
  }
});

it('operator and gateway write no credential to custom resources, events, logs and metrics', async () => {
  const programs: Program[] = [];
  let api: ControlPlane | undefined;
  try {
    api = await startControlPlane();
    await api.applyCrds();
    await api.mustKubectl(['create', 'namespace', 'olap']);
    await applyManifests(api);
    const admin = await api.serviceAccountToken('olap', 'admin', { audience: 'olap-warden' });
    const start = (command: 'operator' | 'gateway', more = {}): Promise<RunningProduct> =>
      startProduct(api as ControlPlane, command, {
        namespace: 'olap',
        settings: { controllers: engine.url, 'engine-credential-file': join(folder, 'engine'), ...LOUD, ...more },
        onStart: (program) => programs.push(program),
      });
    const operator = await start('operator', { 'admin-subject': 'user-email:system:serviceaccount:olap:admin' });
    const gateway = await start('gateway');
    const objects = [
      serviceToken('job', { secretName: 'job-token' }),
      roleAssignment('job', { role: 'system-admin', subjects: [{ type: 'service-token', name: 'job' }] }),
    ];
    for (const object of objects) {
      await api.mustKubectl(['-n', 'olap', 'apply', '-f', '-'], { input: JSON.stringify(object) });
    }
    const secret = await secretOf(api, 'job-token');
    const asked = (): Promise<Response> =>
      fetch(`${gateway.url}/api/v1/rbac-manager/roles`, { headers: { authorization: `Bearer ${secret.bearerToken}` } });
    await expect.poll(async () => (await asked()).status, { timeout: WAIT_LIMIT_MS }).toBe(200);
    await misuse(gateway.url, secret.bearerToken);
    await misuse(gateway.url, admin);

    const read = async (kind: string): Promise<string> =>
      (await (api as ControlPlane).mustKubectl(['-n', 'olap', 'get', kind, '-o', 'json'])).stdout;
    const kinds = ['roles', 'policies', 'roleassignments', 'servicetokens', 'clusterhealthreports'];
    const places: Record<string, string> = {
      'log of the operator': operator.program.output,
      'log of the gateway': gateway.program.output,
      events: (await read('events')) + (await read('events.events.k8s.io')),
      configmaps: await read('configmaps'),
    };
    for (const kind of kinds) places[kind] = await read(`${kind}.olapwarden.io`);
    for (const { metricsUrl } of [operator, gateway])
      places[metricsUrl] = await (await fetch(`${metricsUrl}/metrics`)).text();
    expect(places['servicetokens']).toContain('sha256:');
    expect(leaks([secret.secretKey, admin, password, basic], places)).toEqual([]);
  } finally {
    for (const program of programs) program.signalGroup('SIGKILL');
    await api?.stop();
  }
});

async function secretOf(api: ControlPlane, name: string): Promise<{ secretKey: string; bearerToken: string }> {
  let data: Record<string, string> | undefined;
  const read = async (): Promise<unknown> => {
    const { stdout } = await api.kubectl(['-n', 'olap', 'get', 'secret', name, '-o', 'json', '--ignore-not-found']);
    data = stdout === '' ? undefined : (JSON.parse(stdout) as { data?: Record<string, string> }).data;
    return data;
  };
  await expect.poll(read, { timeout: WAIT_LIMIT_MS }).toBeDefined();
  return { secretKey: atob(data?.['secretKey'] ?? ''), bearerToken: atob(data?.['bearerToken'] ?? '') };
}
