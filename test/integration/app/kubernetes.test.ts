import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import type { Program } from '../../support/processes.ts';
import { startProduct, type RunningProduct } from '../../support/product-process.ts';
import { CATALOGUE } from '../../../src/health/catalogue.ts';

const NAMESPACE = 'olap';
const ROLES = '/api/v1/rbac-manager/roles';
const SLOW = { interval: 100 };

let api: ControlPlane;
let operator: RunningProduct;
let gateway: RunningProduct;
let admin: string;
const programs: Program[] = [];

/** With an engine that is not there. */
const start = (
  command: 'operator' | 'gateway',
  settings: Readonly<Record<string, string>> = {},
  probe: 'readyz' | 'livez' = 'readyz',
) =>
  startProduct(api, command, {
    probe,
    namespace: NAMESPACE,
    settings: { controllers: 'http://127.0.0.1:9', ...settings },
    onStart: (program) => programs.push(program),
  });

beforeAll(async () => {
  api = await startControlPlane();
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  await applyManifests(api);
  admin = await api.serviceAccountToken(NAMESPACE, 'admin', { audience: 'olap-warden' });
  operator = await start('operator', { 'admin-subject': `user-email:system:serviceaccount:${NAMESPACE}:admin` });
  gateway = await start('gateway');
});
afterAll(async () => {
  for (const program of programs) program.signalGroup('SIGKILL');
  await api.stop();
});

function call(method: string, path: string, body?: object, token = admin): Promise<Response> {
  return fetch(gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

/** A new service token with the role `rbac-admin`. */
/** The API server may refuse the first writes after a change of the gateway's rights. */
async function post<T>(path: string, body: object): Promise<T> {
  let answer: Response | undefined;
  const status = async (): Promise<number> => (answer = await call('POST', path, body)).status;
  await expect.poll(status, SLOW).toBe(200);
  return (await answer!.json()) as T;
}

async function administratorToken(): Promise<{ accessKey: string; bearerToken: string }> {
  const tokens = '/api/v1/rbac-manager/service-tokens';
  const issued = await post<{ accessKey: string; bearerToken: string }>(tokens, { description: 'job' });
  const assignment = { subject: issued.accessKey, subjectType: 'service-token' };
  await post(`${ROLES}/srn2:role%23rbac-admin/create-assignment`, assignment);
  return issued;
}

async function get(kind: string, name: string): Promise<{ metadata: Record<string, unknown>; status?: unknown }> {
  const { stdout } = await api.mustKubectl(['-n', NAMESPACE, 'get', `${kind}.olapwarden.io`, name, '-o', 'json']);
  return JSON.parse(stdout) as { metadata: Record<string, unknown> };
}

describe('operator and gateway as two processes, each with its rights of the manifests', () => {
  it('assign the first administrator of `admin-subject`', async () => {
    await expect.poll(async () => (await call('GET', ROLES)).status, SLOW).toBe(200);
    const whoami = (await (await call('GET', '/api/v1/rbac-manager/whoami')).json()) as { srn: string };
    expect(whoami).toMatchObject({
      srn: `srn2:user#system:serviceaccount:${NAMESPACE}:admin`,
      authenticator: 'kubernetes',
    });
  });

  it('show a Role created by kubectl, with the status of the operator', async () => {
    const manifest = `apiVersion: olapwarden.io/v1beta1\nkind: Role\nmetadata: {name: by-kubectl}\nspec: {description: from git}\n`;
    await api.mustKubectl(['-n', NAMESPACE, 'apply', '-f', '-'], { input: manifest });
    await expect
      .poll(async () => (await get('roles', 'by-kubectl')).status, SLOW)
      .toMatchObject({
        srn: 'srn2:role#by-kubectl',
        observedGeneration: 1,
        conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', status: 'True' })]),
      });
    const shown = await call('GET', `${ROLES}/srn2:role%23by-kubectl`);
    expect(await shown.json()).toMatchObject({ srn: 'srn2:role#by-kubectl', description: 'from git' });
  });

  it('write objects of the REST API to the Kubernetes API, with their author', async () => {
    const created = await call('POST', ROLES, { name: 'by-rest', description: 'from a script' });
    expect(created.status, await created.clone().text()).toBe(200);
    const role = await get('roles', 'by-rest');
    expect(role.metadata['annotations']).toMatchObject({
      'olapwarden.io/created-by': `srn2:user#system:serviceaccount:${NAMESPACE}:admin`,
    });
    expect((await call('POST', ROLES, { name: 'by-rest' })).status).toBe(409);
    await expect
      .poll(async () => (await get('roles', 'by-rest')).status, SLOW)
      .toMatchObject({ srn: 'srn2:role#by-rest' });
  });

  it('reject tokens for other audiences, and callers without a role', async () => {
    const forApiServer = await api.serviceAccountToken(NAMESPACE, 'admin');
    const refused = await call('GET', ROLES, undefined, forApiServer);
    expect([refused.status, ((await refused.json()) as { message: string }).message]).toEqual([
      401,
      expect.stringContaining('token'),
    ]);
    const nobody = await api.serviceAccountToken(NAMESPACE, 'nobody', { audience: 'olap-warden' });
    expect((await call('POST', ROLES, { name: 'x' }, nobody)).status).toBe(403);
    expect((await call('GET', ROLES, undefined, 'not-a-token')).status).toBe(401);
  });

  it('run the health checks on request of the gateway', async () => {
    const answer = await call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask&wait=true');
    // A scheduled run that is in progress is joined.
    expect(await answer.json()).toMatchObject({ taskId: expect.stringMatching(/^(?:api|run)-[0-9a-f]{8}$/) });
    const report = (await (await call('GET', '/clusterHealth')).json()) as { status: string; checks: unknown[] };
    expect(report.status).toBe('FAIL');
    expect(report.checks).toHaveLength(CATALOGUE.length);
    const read = async (): Promise<string> => (await fetch(`${operator.metricsUrl}/metrics`)).text();
    // The gateway may show the report before the operator has continued after writing it.
    await expect
      .poll(read)
      .toContain('olap_warden_health_check_status{check="QUERY_HEALTH_CHECK",report="cluster",cluster="pinot"} 0');
    expect(await read()).toContain('leader_election_master_status{name="olap-warden-operator"} 1');
  });

  it('continue to decide and serve while the Kubernetes API is unavailable, and report it', async () => {
    const issued = await administratorToken();
    await api.stopApiserver();
    try {
      const shown = await call('GET', `${ROLES}/srn2:role%23by-rest`, undefined, issued.bearerToken);
      expect(shown.status).toBe(200);
      expect((await call('GET', '/clusterHealth', undefined, issued.bearerToken)).status).toBe(403);
      expect((await fetch(`${gateway.metricsUrl}/readyz`)).status).toBe(200);
      const write = await call('POST', ROLES, { name: 'later' }, issued.bearerToken);
      expect([write.status, write.headers.has('retry-after')]).toEqual([503, true]);
      const unknown = await call('GET', ROLES, undefined, 'never-seen-before');
      expect(unknown.status).toBe(503);
      const age = async (): Promise<number> => {
        const text = await (await fetch(`${gateway.metricsUrl}/metrics`)).text();
        return Number(/^olap_warden_store_age_seconds (.+)$/m.exec(text)?.[1]);
      };
      await expect.poll(age, SLOW).toBeGreaterThan(1);
    } finally {
      await api.startApiserver();
    }
    const later = async (): Promise<number> =>
      (await call('POST', ROLES, { name: 'later' }, issued.bearerToken)).status;
    await expect.poll(later, SLOW).toBe(200);
  });

  it('answer 503, never 401 or 403, without the rights of the gateway or a synced view', async () => {
    await api.mustKubectl(['-n', NAMESPACE, 'delete', 'rolebinding', 'olap-warden-gateway']);
    const late = await start('gateway', {}, 'livez');
    const ask = (token: string) => fetch(late.url + ROLES, { headers: { authorization: `Bearer ${token}` } });
    // The listener of the probes is open before that of the gateway.
    await expect.poll(async () => (await ask(admin)).status, SLOW).toBeGreaterThan(0);
    for (const token of [admin, `svc-${'a'.repeat(16)}-${'s'.repeat(32)}`]) {
      const answer = await ask(token);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await answer.text()).toContain('the gateway has not read all roles');
    }
    let attempts = 0;
    const write = async () => call('POST', ROLES, { name: `refused-${attempts++}` });
    await expect.poll(async () => (await write()).status, SLOW).toBe(503);
    expect(await (await write()).text()).toContain('the Kubernetes API refuses the account of this process');
    // What it read before still holds.
    expect((await call('GET', ROLES)).status).toBe(200);
    await applyManifests(api);
    await expect.poll(async () => (await write()).status, SLOW).toBe(200);
    await expect.poll(async () => (await ask(admin)).status, SLOW).toBe(200);
  });

  it('refuse what may have been revoked, after `max-view-age` without the Kubernetes API', async () => {
    const strict = await start('gateway', { 'max-view-age': '30s' });
    // A service token, because a gateway asks the API server about a Kubernetes token.
    const { bearerToken } = await administratorToken();
    const asked = async () => fetch(strict.url + ROLES, { headers: { authorization: `Bearer ${bearerToken}` } });
    await expect.poll(async () => (await asked()).status, SLOW).toBe(200);
    await api.stopApiserver();
    try {
      const refused = async (): Promise<string> => {
        const answer = await asked();
        return answer.status === 503 ? answer.text() : String(answer.status);
      };
      await expect.poll(refused, { interval: 500 }).toContain('`max-view-age` is 30 s');
      expect((await fetch(`${strict.metricsUrl}/readyz`)).status).toBe(503);
      // Without the setting, the last view holds.
      expect((await call('GET', ROLES, undefined, bearerToken)).status).toBe(200);
    } finally {
      await api.startApiserver();
    }
    await expect.poll(async () => (await asked()).status, SLOW).toBe(200);
  });

  it('shut down gracefully', async () => {
    for (const { program } of [gateway, operator]) program.signalGroup('SIGTERM');
    expect(await Promise.all([gateway.program.exited, operator.program.exited])).toEqual([0, 0]);
    expect(gateway.program.output).not.toContain(admin);
  });
});
