import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policy, role, roleAssignment, serviceToken } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { freePorts } from '../../support/kubernetes/processes.ts';
import { Rights } from '../../support/kubernetes/rights.ts';
import { eventually } from '../../support/operator.ts';
import { Program } from '../../support/processes.ts';

const ROOT = join(import.meta.dirname, '../../..');
const namespace = 'olap';
/** Several programs start and end in one test, on a machine that others use too. */
const TIMEOUT_MS = 240_000;

let api: ControlPlane;
let rights: Rights;
const programs: Program[] = [];
const kubeconfigs = { operator: '', gateway: '' };

beforeAll(async () => {
  api = await startControlPlane({ auditLog: true });
  rights = new Rights(api.description.directory, namespace, (args) => api.mustKubectl(args));
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', namespace]);
  for (const name of ['operator', 'gateway'] as const) {
    kubeconfigs[name] = await api.serviceAccountKubeconfig(namespace, `olap-warden-${name}`);
  }
  await api.mustKubectl(['apply', '--server-side', '-k', join(ROOT, 'manifests')]);
});
afterAll(async () => {
  for (const program of programs) program.signalGroup('SIGKILL');
  await api.stop();
});

async function kubectl(...args: string[]): Promise<string> {
  return (await api.mustKubectl(['-n', namespace, ...args])).stdout;
}

async function apply(object: object): Promise<void> {
  await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(object) });
}

interface Running {
  readonly program: Program;
  readonly url: string;
  end(): Promise<void>;
}

/** The program itself, with the rights of its own service account and an engine that is not there. */
async function start(name: 'operator' | 'gateway', ...flags: string[]): Promise<Running> {
  const [port, metricsPort] = (await freePorts(2)) as [number, number];
  const ports = ['--host', '127.0.0.1', '--port', String(port), '--metrics-port', String(metricsPort)];
  const where = ['--kubeconfig', kubeconfigs[name], '--namespace', namespace, '--controllers', 'http://127.0.0.1:9'];
  const program = new Program(process.execPath, ['src/main.ts', name, ...ports, ...where, ...flags], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] },
  });
  programs.push(program);
  const ready = async (): Promise<boolean> => {
    try {
      return (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).ok;
    } catch {
      return false;
    }
  };
  await eventually(ready, Boolean).catch((error: unknown) => {
    throw new Error(`${name} did not get ready:\n${program.output}`, { cause: error });
  });
  const end = async (): Promise<void> => {
    program.signalGroup('SIGTERM');
    expect(await program.exited).toBe(0);
  };
  return { program, url: `http://127.0.0.1:${port}`, end };
}

describe('the operator', () => {
  it('needs just what it is granted', { timeout: TIMEOUT_MS }, async () => {
    const first = await start('operator', '--admin-subject', 'user-email:ada@example.com');
    await kubectl('wait', '--for=create', '--timeout=20s', 'roles.olapwarden.io/system-admin');
    await apply(policy('read'));
    await apply(role('analysts', { policies: ['read'] }));
    await apply(serviceToken('job', { secretName: 'job-token' }));
    await kubectl('wait', '--for=jsonpath={.status.state}=Unassigned', '--timeout=20s', 'otoken/job');
    await kubectl('annotate', 'otoken', 'job', 'olapwarden.io/rotate-at=1');
    await kubectl('wait', '--for=jsonpath={.status.observedRotateAt}=1', '--timeout=20s', 'otoken/job');
    await kubectl('delete', 'otoken', 'job');
    // Without the garbage collector, which does not run here, the operator alone takes them away.
    await eventually(
      () => kubectl('get', 'secrets', '-o', 'name'),
      (names) => names === '',
    );
    for (const description of ['a', 'b']) {
      const patch = JSON.stringify({ spec: { description } });
      await kubectl('patch', 'policies.olapwarden.io', 'table-reader', '--type=merge', '-p', patch);
      const found = () =>
        kubectl('get', 'policies.olapwarden.io', 'table-reader', '-o', 'jsonpath={.spec.description}');
      await eventually(found, (text) => text !== description);
    }
    await kubectl('patch', 'roles.olapwarden.io', 'table-reader', '--type=merge', '-p', '{"spec":{"description":"x"}}');
    await kubectl('annotate', 'chr', 'cluster', 'olapwarden.io/run-at=1', '--overwrite');
    await eventually(
      () => rights.used('olap-warden-operator'),
      (seen) => {
        return ['update clusterhealthreports/status.olapwarden.io', 'update roles.olapwarden.io'].every((one) =>
          seen.includes(one),
        );
      },
    );
    await first.end();
    const second = await start('operator', '--admin-subject', 'user-email:grace@example.com');
    const subjects = () => kubectl('get', 'orolebinding', '-o', 'jsonpath={.items[*].spec.subjects[*].name}');
    await eventually(subjects, (names) => names === 'grace@example.com');
    await second.end();
    const third = await start('operator');
    await eventually(subjects, (names) => names === '');
    await third.end();

    expect(await rights.refused('olap-warden-operator')).toEqual([]);
    expect(await rights.used('olap-warden-operator')).toEqual(await rights.granted('olap-warden-operator'));
  });
});

describe('the gateway', () => {
  it('needs just what it is granted, and the review of tokens', { timeout: TIMEOUT_MS }, async () => {
    const operator = await start('operator', '--admin-subject', `user-email:system:serviceaccount:${namespace}:admin`);
    await eventually(
      () => kubectl('get', 'chr', '-o', 'name'),
      (names) => names.includes('cluster'),
    );
    const gateway = await start('gateway');
    const token = await api.serviceAccountToken(namespace, 'admin', { audience: 'olap-warden' });

    async function call<T = unknown>(method: string, path: string, body?: object): Promise<T> {
      const headers = { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) };
      const answer = await fetch(`${gateway.url}${path}`, {
        method,
        headers,
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const text = await answer.text();
      expect(answer.status, `${method} ${path}: ${text}\n${gateway.program.output}`).toBe(200);
      return (text.startsWith('{') ? JSON.parse(text) : text) as T;
    }
    const rbac = '/api/v1/rbac-manager';
    const srn = (kind: string, name: string): string => encodeURIComponent(`srn2:${kind}#${name}`);
    await eventually(
      () => call<{ roles: unknown[] }>('GET', `${rbac}/whoami`),
      ({ roles }) => roles.length > 0,
    );
    const policyDocument = {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#x'] }],
    };
    await call('POST', `${rbac}/policies`, { name: 'p', policyDocument });
    await call('PUT', `${rbac}/policies/${srn('policy', 'p')}`, { description: 'changed', policyDocument });
    await call('POST', `${rbac}/roles`, { name: 'r' });
    await call('POST', `${rbac}/roles/${srn('role', 'r')}/attach-policy`, { policySrn: 'srn2:policy#p' });
    const made = await call<{ srn: string; accessKey: string }>('POST', `${rbac}/service-tokens`, { description: 'x' });
    const people = ['ada@example.com', 'grace@example.com'].map((name) => ({ type: 'user-email' as const, name }));
    await apply(roleAssignment('by-kubectl', { role: 'r', subjects: people }));
    const assignments = `${rbac}/roles/${srn('role', 'r')}/assignments`;
    await eventually(
      () => call<string>('GET', assignments),
      (text) => text.includes('grace@example.com'),
    );
    const alan = { subjectType: 'user-email', subject: 'alan@example.com' };
    await call('POST', `${rbac}/roles/${srn('role', 'r')}/create-assignment`, alan);
    for (const subject of ['ada@example.com', 'grace@example.com', 'alan@example.com']) {
      await call('POST', `${rbac}/roles/${srn('role', 'r')}/delete-assignment`, { subjectType: 'user-email', subject });
    }
    await call('DELETE', `${rbac}/service-tokens/${encodeURIComponent(made.srn)}`);
    await call('DELETE', `${rbac}/roles/${srn('role', 'r')}`);
    await call('DELETE', `${rbac}/policies/${srn('policy', 'p')}`);
    await call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask');
    await gateway.end();
    await operator.end();

    expect(await rights.refused('olap-warden-gateway')).toEqual([]);
    const review = 'create tokenreviews.authentication.k8s.io';
    expect(await rights.used('olap-warden-gateway')).toEqual(
      [...(await rights.granted('olap-warden-gateway')), review].sort(),
    );
  });
});
