import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tableResource } from '../../../src/access/policy/srn.ts';
import type { Principal } from '../../../src/access/principal.ts';
import { Directory } from '../../../src/access/directory.ts';
import { run } from '../../../src/commands/run.ts';
import { migrateStorage } from '../../../src/kubernetes/storage-migration.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { customResourceDefinition } from '../../../src/resources/crd.ts';
import { CUSTOM_KINDS, KINDS } from '../../../src/resources/kinds.ts';
import { GROUP, type ServedVersion } from '../../../src/resources/meta.ts';
import { role } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { storedObjects } from '../../support/kubernetes/etcd.ts';
import { applyManifests, recordsAuthors } from '../../support/kubernetes/manifests.ts';
import { KUBECTL_TIMEOUT, TEST_LIMIT_MS } from '../../support/limits.ts';
import { connect, eventually, runOperator, type Connection, type RunningOperator } from '../../support/operator.ts';

const RELEASED = join(import.meta.dirname, '../../fixtures/released/v0.1.0');
const NAMESPACE = 'olap';
const PLURALS = CUSTOM_KINDS.map((kind) => KINDS[kind].plural);
/** The annotation that the test writes. */
const PROBE = 'probe';
const ALL = PLURALS.map((plural) => `${plural}.${GROUP}`).join(',');

// Its own control plane, because the definitions are cluster-scoped.
let api: ControlPlane;
let operator: RunningOperator;
let gateway: Connection;
let directory: Directory;
/** A kubeconfig. */
let migrator: string;
let administrator: Connection;

beforeAll(async () => {
  api = await startControlPlane();
  await api.mustKubectl(['apply', '--server-side', '-f', join(RELEASED, 'crds')]);
  await api.mustKubectl(['wait', '--for=condition=Established', KUBECTL_TIMEOUT, '-f', join(RELEASED, 'crds')]);
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  await kubectl('apply', '-f', join(RELEASED, 'samples'));
  await api.applyCrds();
  await applyManifests(api, ['--server-side', '--force-conflicts', '-k', join(RELEASED, '../../../../manifests')]);
  if (await recordsAuthors(api))
    await eventually(writeAll, (authors) => authors.every((author) => author === 'unknown'));
  operator = runOperator(await api.serviceAccountKubeconfig(NAMESPACE, 'olap-warden-operator'), NAMESPACE);
  gateway = connect(await api.serviceAccountKubeconfig(NAMESPACE, 'olap-warden-gateway'), NAMESPACE);
  directory = new Directory(gateway.store, { environment: 'olap', cluster: 'pinot' });
  administrator = connect(api.kubeconfigPath, NAMESPACE);
  migrator = await api.kubeconfig('migrator');
  // The rights that the help of the command names, and none of the verbs bind, assign and escalate.
  const rules = [
    ['read-definitions', '--verb=get', '--resource=customresourcedefinitions'],
    ['prune-definitions', '--verb=patch', '--resource=customresourcedefinitions/status'],
    ['rewrite-objects', '--verb=list,patch', `--resource=${ALL}`],
  ] as const;
  for (const [name, ...flags] of rules) {
    await api.mustKubectl(['create', 'clusterrole', name, ...flags]);
    await api.mustKubectl(['create', 'clusterrolebinding', name, `--clusterrole=${name}`, '--user=migrator']);
  }
}, TEST_LIMIT_MS);
afterAll(async () => {
  directory?.close();
  await gateway?.close();
  await administrator?.close();
  await operator?.stop();
  await api?.stop();
});

async function kubectl(...args: string[]): Promise<string> {
  return (await api.mustKubectl(['-n', NAMESPACE, ...args])).stdout;
}

/**
 * Writes all objects. Those that are older than the admission policies get their author at their next write, whichever it is.
 * @returns their authors
 */
async function writeAll(): Promise<unknown[]> {
  // The admission policies know a new version some time after it is served: 503 until then.
  await api.kubectl(['-n', NAMESPACE, 'annotate', ALL, '--all', '--overwrite', `${PROBE}=${Math.random()}`]);
  const { items } = JSON.parse(await kubectl('get', ALL, '-o', 'json')) as {
    items: { metadata: { annotations: Record<string, string> } }[];
  };
  return items.map(({ metadata }) => metadata.annotations['olapwarden.io/created-by']);
}

async function apply(object: object, apiVersion: string): Promise<void> {
  await api.mustKubectl(['-n', NAMESPACE, 'apply', '-f', '-'], { input: JSON.stringify({ ...object, apiVersion }) });
}

/** The definitions of a release that stores another version. */
async function applyDefinitions(storage: ServedVersion): Promise<void> {
  const items = CUSTOM_KINDS.map((kind) => customResourceDefinition(kind, storage));
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await api.mustKubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input });
}

/** Versions in which etcd has objects of any kind. */
async function versionsInEtcd(): Promise<string[]> {
  const all = await Promise.all(PLURALS.map((plural) => storedObjects(api.description.etcdUrl, GROUP, plural)));
  const objects = all.flatMap((stored) => [...stored.values()]);
  expect(objects.length).toBeGreaterThanOrEqual(12);
  return [...new Set(objects.map(({ apiVersion }) => apiVersion.replace(`${GROUP}/`, '')))].sort();
}

async function storedVersionsByKind(): Promise<unknown[]> {
  const names = PLURALS.map((plural) => `${plural}.${GROUP}`);
  const { items } = JSON.parse(await kubectl('get', 'crd', ...names, '-o', 'json')) as {
    items: { status: { storedVersions: string[] } }[];
  };
  return items.map(({ status }) => status.storedVersions);
}
const everyKind = (...versions: string[]): string[][] => PLURALS.map(() => versions);

/** What users wrote, without what each write changes. */
async function objects(version: ServedVersion): Promise<unknown[]> {
  const lists = await Promise.all(
    PLURALS.map((plural) => kubectl('get', `${plural}.${version}.${GROUP}`, '-o', 'json')),
  );
  return lists.flatMap((list) => {
    const { items } = JSON.parse(list) as {
      items: { kind: string; metadata: Record<string, unknown>; spec: object }[];
    };
    return items.map(({ kind, metadata, spec }) => {
      const { name, uid, generation, labels } = metadata;
      const annotations = Object.entries(metadata['annotations'] ?? {}).filter(([key]) => key !== PROBE);
      return { kind, name, uid, generation, annotations, labels, spec };
    });
  });
}

/** Every combination of a caller, an action and a table of the samples. */
function decisions(): string[] {
  const callers = ['ada@example.com', 'eve@example.com'].map((id) => principal(id));
  return callers.flatMap((caller) =>
    ['Query', 'DeleteTable'].flatMap((action) =>
      ['events', 'sales_emea', 'customers'].map((table) => {
        const allowed = directory.isAllowed(caller, action, tableResource(tableNameOf(table)));
        return `${caller.id} ${action} ${table}: ${allowed ? 'allowed' : 'denied'}`;
      }),
    ),
  );
}

function principal(id: string): Principal {
  return { kind: 'user', srn: `srn2:user#${id}`, id, groups: [], domain: undefined, authenticator: 'oidc' };
}

async function untilReady(name: string): Promise<void> {
  await kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, `roles.${GROUP}/${name}`);
}

/** A definition takes effect some time after it is stored. */
async function untilStoredIn(version: string): Promise<void> {
  const probe = async (): Promise<string | undefined> => {
    await kubectl('annotate', '--overwrite', `roles.${GROUP}/analysts`, `${PROBE}=${Math.random()}`);
    const stored = await storedObjects(api.description.etcdUrl, GROUP, 'roles');
    return stored.get(`${NAMESPACE}/analysts`)?.apiVersion;
  };
  await eventually(probe, (apiVersion) => apiVersion === `${GROUP}/${version}`);
}

async function migrateByCommand(...flags: string[]): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: '', err: '' };
  const code = await run(['migrate-storage', '--kubeconfig', migrator, ...flags], {
    env: {},
    stdout: (text) => void (printed.out += text),
    stderr: (text) => void (printed.err += text),
  });
  return { code, ...printed };
}

let before: { readonly decisions: string[]; readonly objects: unknown[] };

// The steps depend on each other, as the releases do.
describe('a cluster with the objects of v0.1.0', () => {
  it('serves them in both versions with the definitions of this release, and stores them in v1alpha1', async () => {
    await untilReady('analysts');
    await eventually(decisions, (found) => found.includes('ada@example.com Query events: allowed'));
    expect(await objects('v1beta1')).toEqual(await objects('v1alpha1'));
    await apply(role('of-beta', { policies: ['read-events'] }), `${GROUP}/v1beta1`);
    await untilReady('of-beta');
    expect(await versionsInEtcd()).toEqual(['v1alpha1']);
    expect(await storedVersionsByKind()).toEqual(everyKind('v1alpha1'));
    before = { decisions: decisions(), objects: await objects('v1alpha1') };
    expect(before.decisions).toContain('eve@example.com Query events: denied');
  });

  it('has nothing to migrate before the storage version changes', async () => {
    const { code, out, err } = await migrateByCommand();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n').filter(Boolean)).toEqual(
      PLURALS.map((plural) => `${plural}.${GROUP}: storage version v1alpha1`),
    );
  });

  it('keeps old objects as they are when the storage version changes', async () => {
    await applyDefinitions('v1beta1');
    await untilStoredIn('v1beta1');
    expect(await versionsInEtcd()).toEqual(['v1alpha1', 'v1beta1']);
    const { code, out } = await migrateByCommand('--dry-run');
    expect(code).toBe(0);
    expect(out).toContain('roles.olapwarden.io: storage version v1beta1; objects may be stored in v1alpha1\n');
    expect(await storedVersionsByKind()).toEqual(everyKind('v1alpha1', 'v1beta1'));
  });

  it('is migrated while clients of both versions write, without a change of objects or decisions', async () => {
    let written = 0;
    const end = new AbortController();
    const writer = async (): Promise<void> => {
      for (; !end.signal.aborted; written++) {
        const version = written % 2 === 0 ? 'v1alpha1' : 'v1beta1';
        await apply(role(`written-${written}`, { policies: ['read-events'] }), `${GROUP}/${version}`);
      }
    };
    const writing = writer();
    const { code, out, err } = await migrateByCommand().finally(() => end.abort());
    await writing;
    expect({ code, err }).toEqual({ code: 0, err: 'waiting 15 s until all API servers use the definitions\n' });
    for (const plural of PLURALS)
      expect(out).toMatch(new RegExp(`^${plural}.${GROUP}: all \\d+ objects are stored in v1beta1$`, 'm'));
    expect(await versionsInEtcd()).toEqual(['v1beta1']);
    expect(await storedVersionsByKind()).toEqual(everyKind('v1beta1'));
    const isWritten = (object: unknown): boolean => (object as { name: string }).name.startsWith('written-');
    const now = await objects('v1alpha1');
    expect(now.filter(isWritten)).toHaveLength(written);
    expect(now.filter((object) => !isWritten(object))).toEqual(before.objects);
    expect(decisions()).toEqual(before.decisions);
  });

  it('is reconciled by an operator of v1alpha1 as before', async () => {
    await apply(role('after', { policies: ['read-events'] }), `${GROUP}/v1beta1`);
    await untilReady('after');
  });

  it('refuses the definitions of v0.1.0 until it is moved back', async () => {
    const released = ['apply', '--server-side', '--force-conflicts', '-f', join(RELEASED, 'crds')];
    expect((await api.kubectl(released)).stderr).toContain('status.storedVersions');

    await applyDefinitions('v1alpha1');
    await untilStoredIn('v1alpha1');
    const signal = AbortSignal.timeout(TEST_LIMIT_MS);
    for (const kind of CUSTOM_KINDS)
      await migrateStorage(administrator.transport, kind, { clock: systemClock, signal, settleMs: 0 });
    expect(await versionsInEtcd()).toEqual(['v1alpha1']);
    expect(await storedVersionsByKind()).toEqual(everyKind('v1alpha1'));
    await api.mustKubectl(released);
    expect(decisions()).toEqual(before.decisions);
  });
});
