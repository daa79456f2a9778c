import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CUSTOM_KINDS, KINDS, type CustomKind } from '../../../src/resources/kinds.ts';
import { GROUP } from '../../../src/resources/meta.ts';
import { clusterHealthReport, policy, role, roleAssignment, serviceToken } from '../../builders/resources.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../../support/control-plane.ts';
import { named } from '../../support/documents/obstacle.ts';
import { eventually, runOperator, type RunningOperator } from '../../support/operator.ts';
import { goProgram, NO_GO } from '../clients/install.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const PATCH = join(ROOT, 'manifests/argo-cd/health.yaml');

interface Stored {
  readonly kind: CustomKind;
  readonly metadata: { readonly name: string; readonly generation: number };
  readonly spec?: object;
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly { type: string }[] };
}

interface Verdict {
  readonly status: string;
  readonly message: string;
}

let api: ControlPlaneClient;
let namespace: string;
let running: RunningOperator;
let judge: string;
/** The scripts in the ConfigMap of Argo CD, as the API server has stored them, by key. */
let scripts: Record<string, string>;

beforeAll(async () => {
  if (NO_GO !== undefined) return;
  judge = await goProgram(join(import.meta.dirname, 'go'), 'gitops-judge');
  api = await sharedControlPlane();
  await api.applyCrds();
  namespace = await api.createNamespace('gitops');
  running = runOperator(api.kubeconfigPath, namespace);
  await eventually(() => running.operator.isLeader(), Boolean);
  await kubectl('create', 'configmap', 'argocd-cm');
  await kubectl('patch', 'configmap', 'argocd-cm', '--type', 'merge', '--patch-file', PATCH);
  scripts = (JSON.parse(await kubectl('get', 'configmap', 'argocd-cm', '-o', 'json')) as { data: typeof scripts }).data;
}, 660_000);
afterAll(() => running?.stop());

const kubectl = async (...args: string[]) => (await api.mustKubectl(['-n', namespace, ...args])).stdout;

const apply = async (object: object) =>
  api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(object) });

/** The object when the operator has processed it, as the API server returns it. */
async function settled(kind: CustomKind, name: string): Promise<Stored> {
  return eventually(
    async () => JSON.parse(await kubectl('get', `${KINDS[kind].plural}.${GROUP}`, name, '-o', 'json')) as Stored,
    ({ metadata, status }) =>
      status?.observedGeneration === metadata.generation &&
      (status.conditions ?? []).some(({ type }) => type === 'Ready'),
  );
}

/** How Argo CD and Flux judge an object: the status of each. */
async function judged(...objects: Stored[]): Promise<string[]> {
  const questions = objects.map((object) => ({
    lua: scripts[`resource.customizations.health.${GROUP}_${object.kind}`],
    object,
  }));
  const child = spawn(judge, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(questions));
  const answers = JSON.parse(await text(child.stdout)) as { argo: Verdict; kstatus: Verdict }[];
  return answers.map(({ argo, kstatus }) => `${argo.status} ${kstatus.status}`);
}

describe.skipIf(NO_GO)(named('Argo CD and Flux', NO_GO), () => {
  it('the patch has one key for each kind, which the API server accepts', async () => {
    const { data } = parse(await readFile(PATCH, 'utf8')) as { data: typeof scripts };
    expect(Object.keys(scripts).sort()).toEqual(
      CUSTOM_KINDS.map((kind) => `resource.customizations.health.${GROUP}_${kind}`).sort(),
    );
    expect(scripts).toEqual(data);
  });

  it('find every kind healthy when it is ready', async () => {
    await apply(policy('read'));
    await apply(role('reader', { policies: ['read'] }));
    await apply(roleAssignment('readers', { role: 'reader' }));
    await apply(serviceToken('job', { secretName: 'job-token' }));
    await apply(roleAssignment('job', { role: 'reader', subjects: [{ type: 'service-token', name: 'job' }] }));
    await apply(clusterHealthReport('cluster'));
    const names = { Policy: 'read', Role: 'reader', RoleAssignment: 'readers', ServiceToken: 'job' };
    for (const [kind, name] of Object.entries({ ...names, ClusterHealthReport: 'cluster' })) {
      const { plural } = KINDS[kind as CustomKind];
      await kubectl('wait', `${plural}.${GROUP}/${name}`, '--for=condition=Ready', KUBECTL_TIMEOUT);
      expect(await judged(await settled(kind as CustomKind, name)), kind).toEqual(['Healthy Current']);
    }
  });

  it('wait for an object that waits, and for a change that was not processed', async () => {
    await apply(role('early', { policies: ['comes-later'] }));
    await apply(roleAssignment('earlier', { role: 'comes-later' }));
    const waiting = [await settled('Role', 'early'), await settled('RoleAssignment', 'earlier')];
    expect(await judged(...waiting)).toEqual(['Progressing InProgress', 'Progressing InProgress']);
    const ready = await settled('Policy', 'read');
    const changed = { ...ready, metadata: { ...ready.metadata, generation: ready.metadata.generation + 1 } };
    expect(await judged(changed)).toEqual(['Progressing InProgress']);
    const { status: _, ...created } = ready;
    // kstatus takes any object without a status for current.
    expect(await judged(created)).toEqual(['Progressing Current']);
  });

  it('find an object failed that its user must change', async () => {
    await apply(clusterHealthReport('broken', { schedule: '99 * * * *' }));
    await kubectl('create', 'secret', 'generic', 'taken', '--from-literal=a=b');
    await apply(serviceToken('foreign', { secretName: 'taken' }));
    const failed = [await settled('ClusterHealthReport', 'broken'), await settled('ServiceToken', 'foreign')];
    expect(await judged(...failed)).toEqual(['Degraded Failed', 'Degraded Failed']);
  });

  it('do not wait for a suspended report, nor for the end of a run', async () => {
    await apply(clusterHealthReport('paused', { suspend: true }));
    const paused = await settled('ClusterHealthReport', 'paused');
    expect(await judged(paused)).toEqual(['Suspended Current']);
    const report = await settled('ClusterHealthReport', 'cluster');
    const run = { id: 'run-1', checks: [], checksTotal: 33 };
    const during = { ...report, status: { ...report.status, running: run } };
    expect(await judged(during)).toEqual(['Healthy Current']);
  });
});
