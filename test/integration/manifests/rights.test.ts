import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { roleAssignment } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { exerciseGateway, exerciseOperator } from '../../support/kubernetes/exercise.ts';
import { freePorts } from '../../support/kubernetes/processes.ts';
import { Rights } from '../../support/kubernetes/rights.ts';
import { eventually } from '../../support/operator.ts';
import { Program } from '../../support/processes.ts';

const ROOT = join(import.meta.dirname, '../../..');
const namespace = 'olap';
/** Several programs start and end in one test, on a shared machine. */
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
  await applyManifests(api);
});
afterAll(async () => {
  for (const program of programs) program.signalGroup('SIGKILL');
  await api.stop();
});

async function kubectl(...args: string[]): Promise<string> {
  return (await api.mustKubectl(['-n', namespace, ...args])).stdout;
}

async function apply(...items: object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items };
  await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(list) });
}

async function createAsGateway(object: object): Promise<void> {
  const as = ['--as', `system:serviceaccount:${namespace}:olap-warden-gateway`];
  const create = ['create', '--field-manager=olap-warden-gateway', '-f', '-'];
  await api.mustKubectl(['-n', namespace, ...as, ...create], { input: JSON.stringify(object) });
}

interface Running {
  readonly program: Program;
  readonly url: string;
  end(): Promise<void>;
}

/** The program, with the rights of its service account and without an engine. */
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
  it('needs exactly its granted rights', { timeout: TIMEOUT_MS }, async () => {
    const first = await start('operator', '--admin-subject', 'user-email:ada@example.com');
    await exerciseOperator({ kubectl, apply, createAsGateway });
    await eventually(
      () => rights.used('olap-warden-operator'),
      (seen) => {
        // The second restored policy repeats an Event, which is sent after the policy.
        return [
          'update clusterhealthreports/status.olapwarden.io',
          'update roles.olapwarden.io',
          'patch events.events.k8s.io',
        ].every((one) => seen.includes(one));
      },
    );
    await first.end();
    const second = await start('operator', '--admin-subject', 'user-email:grace@example.com');
    const subjects = () => kubectl('get', 'orolebinding', '-o', 'jsonpath={.items[*].spec.subjects[*].name}');
    await eventually(subjects, (names) => names === 'grace@example.com');
    await second.end();
    // Without the setting its subjects lose the role, unless they are the last.
    await apply(
      roleAssignment('by-hand', {
        role: 'system-admin',
        subjects: [{ type: 'user-email', name: 'linus@example.com' }],
      }),
    );
    const third = await start('operator');
    await eventually(subjects, (names) => names === 'linus@example.com');
    await third.end();

    expect(await rights.refused('olap-warden-operator')).toEqual([]);
    expect(await rights.used('olap-warden-operator')).toEqual(await rights.granted('olap-warden-operator'));
  });
});

describe('the gateway', () => {
  it('needs exactly its granted rights and TokenReview', { timeout: TIMEOUT_MS }, async () => {
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
    await exerciseGateway({ apply }, call);
    await gateway.end();
    await operator.end();

    expect(await rights.refused('olap-warden-gateway')).toEqual([]);
    const review = 'create tokenreviews.authentication.k8s.io';
    expect(await rights.used('olap-warden-gateway')).toEqual(
      [...(await rights.granted('olap-warden-gateway')), review].sort(),
    );
  });
});
