import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterHealthReport, Policy } from '../../../src/resources/kinds.ts';
import { clusterHealthReport, policy } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';
import type { Program } from '../../support/processes.ts';
import { startProduct, type RunningProduct } from '../../support/product-process.ts';

// Two Pinot clusters with a gateway each, and one operator, in a namespace of a real API server. The gateways share a folder of results.
const NAMESPACE = 'olap';
const RBAC = '/api/v1/rbac-manager';
const SLOW = { timeout: WAIT_LIMIT_MS, interval: 200 };
/** The only table of each cluster. */
const TABLES = { shop: 'orders', crm: 'customers' } as const;
type Name = keyof typeof TABLES;
const NAMES: readonly Name[] = ['shop', 'crm'];

let api: ControlPlane;
let folder: string;
let admin: string;
let operator: RunningProduct;
const pinots = {} as Record<Name, Pinot>;
const gateways = {} as Record<Name, RunningProduct>;
const programs: Program[] = [];

async function startOperator(settings: Readonly<Record<string, string>>): Promise<RunningProduct> {
  return startProduct(api, 'operator', {
    namespace: NAMESPACE,
    settings: {
      cluster: 'shop',
      controllers: pinots.shop.controllerUrl,
      'admin-subject': `user-email:system:serviceaccount:${NAMESPACE}:admin`,
      ...settings,
    },
    onStart: (program) => programs.push(program),
  });
}

/** The settings of the gateways of the further cluster, as a file: the operator reads it, too. */
async function settingsOfCrm(): Promise<string> {
  const file = join(folder, 'crm.yaml');
  const lines = ['cluster: crm', 'further-cluster: true', `controllers: [${pinots.crm.controllerUrl}]`];
  await writeFile(file, `${lines.join('\n')}\n`);
  return file;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-clusters-'));
  api = await startControlPlane();
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  await applyManifests(api);
  admin = await api.serviceAccountToken(NAMESPACE, 'admin', { audience: 'olap-warden' });
  for (const name of NAMES) pinots[name] = await startPinot({ servers: 2, tables: [TABLES[name]] });
  const file = await settingsOfCrm();
  operator = await startOperator({ 'cluster-files': file });
  const results = [`olap.broker.pagination.protocol=file`, `olap.broker.pagination.file.data.dir=${folder}/results`];
  // The page itself is not needed, so the dashboard need not have been built.
  await mkdir(join(folder, 'ui', 'assets'), { recursive: true });
  await writeFile(join(folder, 'ui', 'index.html'), '<!doctype html>');
  await writeFile(join(folder, 'session-keys'), 'k'.repeat(43));
  const dashboard = { 'ui-folder': join(folder, 'ui'), 'ui-session-key-file': join(folder, 'session-keys') };
  const start = (settings: Readonly<Record<string, string>>): Promise<RunningProduct> =>
    startProduct(api, 'gateway', {
      namespace: NAMESPACE,
      settings: { ...dashboard, ...settings },
      properties: [...results, `olap.broker.pagination.temp.dir=${folder}/temporary`],
      onStart: (program) => programs.push(program),
    });
  gateways.shop = await start({ cluster: 'shop', 'other-clusters': 'crm', controllers: pinots.shop.controllerUrl });
  gateways.crm = await start({ config: file, 'other-clusters': 'shop' });
});
afterAll(async () => {
  for (const program of programs) program.signalGroup('SIGKILL');
  await Promise.all(Object.values(pinots).map((pinot) => pinot.stop()));
  await api?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function call(at: Name, method: string, path: string, body?: object, token = admin) {
  const answer = await fetch(gateways[at].url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const query = (at: Name, token: string, path = '/query/sql') =>
  call(at, 'POST', path, { sql: `SELECT COUNT(*) FROM ${TABLES[at]}` }, token);

/** A token with the right to query the resource, made by the REST API of one of the gateways. */
async function tokenFor(at: Name, name: string, resource: string): Promise<string> {
  const statement = { effect: 'allow', actions: ['Query'], resources: [resource] };
  const made = async (path: string, body: object) => {
    const answer = await call(at, 'POST', RBAC + path, body);
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 });
    return answer.body;
  };
  // The first writes may come before the rights of the administrator.
  await expect.poll(async () => (await call(at, 'GET', `${RBAC}/roles`)).status, SLOW).toBe(200);
  await made('/policies', { name, policyDocument: { statements: [statement] } });
  await made('/roles', { name });
  await made(`/roles/srn2:role%23${name}/attach-policy`, { policySrn: `srn2:policy#${name}` });
  const { accessKey, bearerToken } = await made('/service-tokens', { description: name });
  await made(`/roles/srn2:role%23${name}/create-assignment`, { subject: accessKey, subjectType: 'service-token' });
  return String(bearerToken);
}

async function get<T>(kind: string, name: string): Promise<T> {
  const { stdout } = await api.mustKubectl(['-n', NAMESPACE, 'get', `${kind}.olapwarden.io`, name, '-o', 'json']);
  return JSON.parse(stdout) as T;
}
const apply = (object: object) =>
  api.mustKubectl(['-n', NAMESPACE, 'apply', '-f', '-'], { input: JSON.stringify(object) });

describe('several Pinot clusters in one environment', () => {
  it('are served by gateways that decide by the statements of their cluster, or of all', async () => {
    const everywhere = await tokenFor('shop', 'read-everywhere', 'srn2:table#*');
    const crmOnly = await tokenFor('shop', 'read-crm', 'srn2:cluster#crm:table#*');
    const shopOnly = await tokenFor('crm', 'read-shop', 'srn2:cluster#shop:table#*');
    const statuses = async (token: string) => {
      const answers = await Promise.all(NAMES.map((name) => query(name, token)));
      return answers.map(({ status }) => status);
    };
    await expect.poll(() => statuses(everywhere), SLOW).toEqual([200, 200]);
    await expect.poll(() => statuses(crmOnly), SLOW).toEqual([403, 200]);
    await expect.poll(() => statuses(shopOnly), SLOW).toEqual([200, 403]);
  });

  it('end a session of the dashboard by a sign-out at one of them', async () => {
    const token = await tokenFor('shop', 'signed-out', 'srn2:table#*');
    const authorization = `Bearer ${token}`;
    const session = async (at: Name, method: string, headers: Record<string, string>): Promise<Response> =>
      fetch(`${gateways[at].url}/ui/session`, { method, headers, signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
    const opened = await session('shop', 'POST', { authorization });
    const cookie = opened.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
    const signedIn = { cookie, 'x-olap-warden-ui': '1' };
    const statuses = async () => {
      const answers = await Promise.all(NAMES.map((name) => session(name, 'GET', signedIn)));
      return answers.map(({ status }) => status);
    };
    await expect.poll(statuses, SLOW).toEqual([200, 200]);
    expect((await session('shop', 'DELETE', signedIn)).status).toBe(204);
    await expect.poll(statuses, SLOW).toEqual([401, 401]);
    // Beside the record of use, so that the gateways need no further right.
    const { stdout } = await api.mustKubectl([
      ...['-n', NAMESPACE, 'get', 'configmap', 'olap-warden-access-usage'],
      ...['-o', 'jsonpath={.data.ended-sessions}'],
    ]);
    expect(stdout).toMatch(/^[\w-]{22} [\w-]{8} \d+\n$/u);
  });

  it('have a report each, with the tables of their cluster', async () => {
    for (const name of NAMES) {
      const run = await call(name, 'GET', '/periodictask/run?taskName=ClusterHealthCheckTask&wait=true');
      expect(run.body).toMatchObject({ isSuccessful: true });
    }
    expect((await get<ClusterHealthReport>('clusterhealthreports', 'cluster')).spec).toEqual({});
    expect((await get<ClusterHealthReport>('clusterhealthreports', 'crm')).spec).toEqual({ cluster: 'crm' });
    const statusOf = async (at: Name, table: string) => (await call(at, 'GET', `/clusterHealth?table=${table}`)).status;
    expect(await statusOf('shop', TABLES.shop)).toBe(200);
    expect(await statusOf('crm', TABLES.crm)).toBe(200);
    expect(await statusOf('shop', TABLES.crm)).toBe(404);
    expect(await statusOf('crm', TABLES.shop)).toBe(404);
    const metrics = async () => (await fetch(`${operator.metricsUrl}/metrics`)).text();
    await expect.poll(metrics, SLOW).toMatch(/^olap_warden_health_checks_passed\{report="crm",cluster="crm"\} \d/mu);
    expect(await metrics()).toMatch(/^olap_warden_health_checks_passed\{report="cluster",cluster="shop"\} \d/mu);
  });

  it('mute findings of their own report alone', async () => {
    const mute = { check: 'REPLICATION_CHECK', entity: '*', reason: 'planned', until: '2199-01-01T00:00:00Z' };
    const until = new Date(Date.now() + 3_600_000).toISOString();
    expect(await call('crm', 'POST', '/clusterHealth/mutes', { ...mute, until })).toMatchObject({ status: 200 });
    const mutes = async (name: string) =>
      (await get<ClusterHealthReport>('clusterhealthreports', name)).spec.mutes?.length ?? 0;
    expect([await mutes('cluster'), await mutes('crm')]).toEqual([0, 1]);
  });

  it('have warnings about clusters that do not exist, and tables that none of the clusters of a statement has', async () => {
    const resources = [
      'srn2:table#orders',
      'srn2:table#customers',
      'srn2:cluster#crm:table#customers',
      'srn2:cluster#shop:table#customers',
      'srn2:table#nosuch',
      'srn2:cluster#elsewhere:table#orders',
    ];
    const statements = [{ effect: 'allow' as const, actions: ['Query'], resources }];
    await apply(policy('names', { statements }));
    const warning = async () =>
      (await get<Policy>('policies', 'names')).status?.conditions?.find(({ type }) => type === 'Warning')?.message;
    await expect
      .poll(warning, SLOW)
      .toBe(
        '`statements[0].resources[3]`: table `customers` does not exist; `statements[0].resources[4]`: table `nosuch` does not exist; `statements[0].resources[5]`: cluster `elsewhere` does not exist',
      );
    // A gateway knows its own tables alone, and the names of all clusters.
    const made = await call('shop', 'POST', `${RBAC}/policies`, { name: 'by-rest', policyDocument: { statements } });
    expect(made.body['warnings']).toEqual([
      expect.stringContaining('`statements[0].resources[3]`: table `customers` does not exist'),
      '`statements[0].resources[5]`: cluster `elsewhere` does not exist',
    ]);
  });

  it('keep results apart in a shared folder', async () => {
    const token = await tokenFor('crm', 'read-all', 'srn2:table#*');
    await expect.poll(async () => (await query('crm', token)).status, SLOW).toBe(200);
    await expect.poll(async () => (await query('shop', token)).status, SLOW).toBe(200);
    const submit = async (at: Name) => {
      const { status, body } = await query(at, token, '/query/sql?getCursor=true&numRows=1');
      expect(status, JSON.stringify(body)).toBe(200);
      return String(body['requestId']);
    };
    const [ofShop, ofCrm] = [await submit('shop'), await submit('crm')];
    const page = async (at: Name, id: string) =>
      (await call(at, 'GET', `/responseStore/${id}/results?offset=0`, undefined, token)).status;
    expect([await page('shop', ofShop), await page('crm', ofCrm)]).toEqual([200, 200]);
    expect([await page('crm', ofShop), await page('shop', ofCrm)]).toEqual([404, 404]);
    const filesIn = async (place: string) => (await readdir(join(folder, place))).join(' ');
    expect(await filesIn('results')).toContain(ofShop);
    expect(await filesIn('results')).not.toContain(ofCrm);
    expect(await filesIn('results/crm')).toContain(ofCrm);
  });

  it('end with an entry in the settings of the operator: the report says that its checks do not run', async () => {
    await apply(clusterHealthReport('nightly', { cluster: 'crm' }));
    operator.program.signalGroup('SIGTERM');
    await startOperator({});
    for (const name of ['crm', 'nightly'])
      await expect
        .poll(async () => (await get<ClusterHealthReport>('clusterhealthreports', name)).status?.conditions, SLOW)
        .toContainEqual(
          expect.objectContaining({
            type: 'Ready',
            status: 'False',
            reason: 'UnknownCluster',
            message: 'the checks of this report do not run: spec.cluster is `crm`, but this environment has `shop`',
          }),
        );
  });
});
