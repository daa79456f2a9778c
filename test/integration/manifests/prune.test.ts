import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CUSTOM_KINDS, KINDS, type CustomKind } from '../../../src/resources/kinds.ts';
import { role } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { rawRequests, type RawAnswer, type RawRequests } from '../../support/kubernetes/raw-requests.ts';
import { eventually } from '../../support/operator.ts';
import { until } from '../../support/until.ts';

// How Argo CD and Flux delete a set that left the repository, with the protection of resources in use and of the last administrator.
const MANIFESTS = join(import.meta.dirname, '../../../manifests');
const NAMESPACE = 'olap';
const BASE = `/apis/olapwarden.io/v1beta1/namespaces/${NAMESPACE}`;

interface Manifest {
  readonly kind: CustomKind;
  readonly metadata: { readonly name: string };
}

let api: ControlPlane;
let admin: RawRequests;
let gitops: RawRequests;
let weak: RawRequests;
let samples: Manifest[];

const pathOf = ({ kind, metadata }: Manifest): string => `${BASE}/${KINDS[kind].plural}/${metadata.name}`;
const remove = (as: RawRequests, object: Manifest, propagationPolicy: string): Promise<RawAnswer> =>
  as.send('DELETE', pathOf(object), { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy });

beforeAll(async () => {
  api = await startControlPlane({ controllerManager: true });
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  await applyManifests(api);
  const bind = async (user: string, clusterRole: string): Promise<unknown> =>
    api.mustKubectl([
      ...['-n', NAMESPACE, 'create', 'rolebinding', `${user}-${clusterRole}`],
      `--clusterrole=olap-warden-${clusterRole}.${NAMESPACE}`,
      `--user=${user}`,
    ]);
  for (const [user, clusterRole] of [
    ['gitops', 'admin'],
    ['gitops', 'delegation'],
    ['weak', 'admin'],
  ] as const)
    await bind(user, clusterRole);
  admin = rawRequests(api.kubeconfigPath, NAMESPACE);
  gitops = rawRequests(await api.kubeconfig('gitops'), NAMESPACE);
  weak = rawRequests(await api.kubeconfig('weak'), NAMESPACE);
  const folder = join(MANIFESTS, 'samples');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort();
  samples = await Promise.all(files.map(async (name) => parse(await readFile(join(folder, name), 'utf8')) as Manifest));
  // As the operator writes it: the sample of the first administrator is the last assignment.
  // Right after the definitions and admission policies were applied, the API server may not serve or accept it yet.
  await until('the role is created', async () => {
    const { ok, status } = await admin.send('POST', `${BASE}/roles`, role('system-admin', { policies: [] }));
    return ok || status === 409;
  });
  const counted = { status: { subjectCount: 1 } };
  const type = 'application/merge-patch+json';
  expect(await admin.send('PATCH', `${BASE}/roles/system-admin/status`, counted, type)).toMatchObject({ ok: true });
});
afterAll(async () => {
  for (const requests of [admin, gitops, weak]) await requests.close();
  await api.stop();
});

/** Applies the samples; with the references in the status. */
async function applyAll(): Promise<void> {
  for (const sample of samples) {
    const created = await eventually(
      () => gitops.send('POST', `${BASE}/${KINDS[sample.kind].plural}`, sample),
      // Accounts and rules are in force a moment after they are stored.
      ({ ok, status }) => ok || status !== 403,
    );
    expect(created).toMatchObject({ ok: true });
  }
  const probes: readonly (readonly [path: string, referrer: string, refusal: string])[] = [
    ['policies/read-events', 'analysts', 'is attached to role'],
    ['roles/analysts', 'analysts', 'is assigned in RoleAssignment'],
  ];
  for (const [path, referrer, refusal] of probes) {
    // As the operator writes it.
    const status = { status: { referencedBy: [referrer] } };
    const type = 'application/merge-patch+json';
    expect(await admin.send('PATCH', `${BASE}/${path}/status`, status, type)).toMatchObject({ ok: true });
    await eventually(
      () => weak.send('DELETE', `${BASE}/${path}?dryRun=All`),
      ({ message }) => message.includes(refusal),
    );
  }
}

/** Names of the samples that still exist, also while a finalizer keeps them. */
async function left(): Promise<string[]> {
  const found = await Promise.all(samples.map(async (sample) => admin.send('GET', pathOf(sample))));
  return samples.flatMap(({ metadata }, index) => (found[index]?.ok === true ? [metadata.name] : []));
}

const gone = (): Promise<unknown> => eventually(left, (names) => names.length === 0);
const byKind = (kinds: readonly CustomKind[]): Manifest[] =>
  kinds.flatMap((kind) => samples.filter((sample) => sample.kind === kind));

/** The same order in every run. */
function shuffled(seed: number): Manifest[] {
  let state = seed;
  const keys = samples.map((sample) => {
    state = (state * 48_271) % 2_147_483_647;
    return [state, sample] as const;
  });
  return keys.sort(([a], [b]) => a - b).map(([, sample]) => sample);
}

describe('a set of manifests that is pruned', () => {
  it.each(['Foreground', 'Background', 'Orphan'])(
    'by Argo CD, all objects at once, with propagation policy %s',
    async (policy) => {
      await applyAll();
      const answers = await Promise.all(samples.map(async (sample) => remove(gitops, sample, policy)));
      expect(answers.filter(({ ok }) => !ok)).toEqual([]);
      await gone();
    },
  );

  const ORDERS: [name: string, order: () => Manifest[]][] = [
    ['of the files', () => samples],
    ['of the files, reversed', () => samples.toReversed()],
    ['of kinds', () => byKind(CUSTOM_KINDS)],
    ['of kinds, reversed', () => byKind(CUSTOM_KINDS.toReversed())],
    ...[1, 2, 3, 4].map((seed): [string, () => Manifest[]] => [`${seed} at random`, () => shuffled(seed)]),
  ];
  it.each(ORDERS)('by Flux, one by one, in the order %s', async (_name, order) => {
    await applyAll();
    for (const sample of order()) expect(await remove(gitops, sample, 'Background')).toMatchObject({ ok: true });
    await gone();
  });

  it('is deleted by a second attempt, after one that was interrupted', async () => {
    await applyAll();
    const order = shuffled(5);
    for (const sample of order.slice(0, 5)) await remove(gitops, sample, 'Background');
    // A controller that lost its responses deletes all again and accepts 404.
    const answers = await Promise.all(order.map(async (sample) => remove(gitops, sample, 'Foreground')));
    expect(answers.filter(({ ok, status }) => !ok && status !== 404)).toEqual([]);
    await gone();
  });

  it('without the verbs, only objects that grant nothing are deleted', async () => {
    await applyAll();
    const refused = await Promise.all(
      samples.map(async (sample) => [sample, await remove(weak, sample, 'Background')]),
    );
    const names = refused.flatMap(([sample, answer]) =>
      (answer as RawAnswer).ok ? [] : [(sample as Manifest).metadata.name],
    );
    const assigned = samples.filter(({ kind }) => kind === 'RoleAssignment').map(({ metadata }) => metadata.name);
    expect(names).toEqual(expect.arrayContaining([...assigned, 'analysts', 'read-events']));
    expect(await left()).toEqual(names);
  });
});
