import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tableResource } from '../../../src/access/policy/srn.ts';
import type { Principal } from '../../../src/access/principal.ts';
import { Directory } from '../../../src/access/directory.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import { CUSTOM_KINDS, KINDS } from '../../../src/resources/kinds.ts';
import { GROUP, type ServedVersion } from '../../../src/resources/meta.ts';
import { role } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { ROOT } from '../../support/documents/pages.ts';
import { shellBlock } from '../../support/documents/shell-blocks.ts';
import { DocumentShell } from '../../support/documents/shell.ts';
import { storedObjects } from '../../support/kubernetes/etcd.ts';
import { applyManifests, recordsAuthors } from '../../support/kubernetes/manifests.ts';
import { KUBECTL_TIMEOUT, TEST_LIMIT_MS } from '../../support/limits.ts';
import { connect, eventually, runOperator, type Connection, type RunningOperator } from '../../support/operator.ts';

const RELEASED = join(import.meta.dirname, '../../fixtures/released/v0.1.0');
const NAMESPACE = 'olap';
const ELSEWHERE = 'elsewhere';
const PLURALS = CUSTOM_KINDS.map((kind) => KINDS[kind].plural);
/** The annotation that the test writes. */
const PROBE = 'probe';
const ALL = PLURALS.map((plural) => `${plural}.${GROUP}`).join(',');

// Its own control plane, because the definitions are cluster-scoped.
let api: ControlPlane;
let operator: RunningOperator;
let gateway: Connection;
let directory: Directory;
let shell: DocumentShell;

beforeAll(async () => {
  api = await startControlPlane();
  await api.mustKubectl(['apply', '--server-side', '-f', join(RELEASED, 'crds')]);
  await api.mustKubectl(['wait', '--for=condition=Established', KUBECTL_TIMEOUT, '-f', join(RELEASED, 'crds')]);
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  await kubectl('apply', '-f', join(RELEASED, 'samples'));
  // No operator writes these, not even their status.
  await api.mustKubectl(['create', 'namespace', ELSEWHERE]);
  await api.mustKubectl(['-n', ELSEWHERE, 'apply', '-f', join(RELEASED, 'samples')]);
  expect(await versionsInEtcd()).toEqual(['v1alpha1']);
  await api.applyCrds();
  await applyManifests(api, ['--server-side', '--force-conflicts', '-k', join(RELEASED, '../../../../manifests')]);
  if (await recordsAuthors(api))
    await eventually(writeAll, (authors) => authors.every((author) => author === 'unknown'));
  operator = runOperator(await api.serviceAccountKubeconfig(NAMESPACE, 'olap-warden-operator'), NAMESPACE);
  gateway = connect(await api.serviceAccountKubeconfig(NAMESPACE, 'olap-warden-gateway'), NAMESPACE);
  directory = new Directory(gateway.store, { environment: 'olap', cluster: 'pinot' });
  shell = await DocumentShell.create({
    cwd: ROOT,
    env: { KUBECONFIG: api.kubeconfigPath },
    programs: { kubectl: `exec '${join(api.description.binaries, 'kubectl')}' "$@"` },
  });
}, TEST_LIMIT_MS);
afterAll(async () => {
  directory?.close();
  await gateway?.close();
  await operator?.stop();
  await api?.stop();
  await shell?.remove();
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

/** Runs a block of commands of docs/versions.md as it stands. It may be repeated. */
async function paste(index: number): Promise<void> {
  const { text } = shellBlock('docs/versions.md', index);
  const { code, stderr } = await eventually(
    () => shell.run(text),
    (result) => result.code === 0,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

let before: { readonly decisions: string[]; readonly objects: unknown[] };

// The steps depend on each other.
describe('a cluster with the objects of v0.1.0', () => {
  it('serves them in both versions with the definitions of this release, of which kubectl recommends v1beta1', async () => {
    await untilReady('analysts');
    await eventually(decisions, (found) => found.includes('ada@example.com Query events: allowed'));
    expect(await objects('v1beta1')).toEqual(await objects('v1alpha1'));
    before = { decisions: decisions(), objects: await objects('v1alpha1') };
    expect(before.decisions).toContain('eve@example.com Query events: denied');

    const warning = (version: ServedVersion): Promise<string> =>
      api.mustKubectl(['-n', NAMESPACE, 'get', `roles.${version}.${GROUP}`]).then(({ stderr }) => stderr);
    expect(await warning('v1beta1')).toBe('');
    expect(await warning('v1alpha1')).toContain(
      'Warning: olapwarden.io/v1alpha1 Role is deprecated: use olapwarden.io/v1beta1, which has the same fields',
    );
    expect(await kubectl('get', `roles.${GROUP}/analysts`, '-o', 'yaml')).toContain(`apiVersion: ${GROUP}/v1beta1`);
  });

  it('keeps what nobody writes as it is stored, and reconciles objects of both versions', async () => {
    for (const version of ['v1alpha1', 'v1beta1'] as const) {
      await apply(role(`of-${version}`, { policies: ['read-events'] }), `${GROUP}/${version}`);
      await untilReady(`of-${version}`);
    }
    before = { decisions: decisions(), objects: await objects('v1alpha1') };
    expect(await versionsInEtcd()).toEqual(['v1alpha1', 'v1beta1']);
    expect(await storedVersionsByKind()).toEqual(everyKind('v1alpha1', 'v1beta1'));
  });

  it('is moved to v1beta1 while clients of both versions write, without a change of objects or decisions', async () => {
    let written = 0;
    const end = new AbortController();
    const writer = async (): Promise<void> => {
      for (; !end.signal.aborted; written++) {
        const version = written % 2 === 0 ? 'v1alpha1' : 'v1beta1';
        await apply(role(`written-${written}`, { policies: ['read-events'] }), `${GROUP}/${version}`);
      }
    };
    const writing = writer();
    await paste(0).finally(() => end.abort());
    await writing;
    expect(await versionsInEtcd()).toEqual(['v1beta1']);
    expect(await storedVersionsByKind()).toEqual(everyKind('v1beta1'));
    const isWritten = (object: unknown): boolean => (object as { name: string }).name.startsWith('written-');
    const now = await objects('v1alpha1');
    expect(now.filter(isWritten)).toHaveLength(written);
    expect(now.filter((object) => !isWritten(object))).toEqual(before.objects);
    expect(decisions()).toEqual(before.decisions);
  });

  it('refuses the definitions of v0.1.0 until it is moved back', async () => {
    const released = ['apply', '--server-side', '--force-conflicts', '-f', join(RELEASED, 'crds')];
    expect((await api.kubectl(released)).stderr).toContain('status.storedVersions[0]: Invalid value');
    await paste(1);
    expect(await versionsInEtcd()).toEqual(['v1alpha1']);
    expect(await storedVersionsByKind()).toEqual(everyKind('v1alpha1'));
    await api.mustKubectl(released);
    expect(decisions()).toEqual(before.decisions);
  });
});
