import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Condition } from '../../src/resources/meta.ts';
import { role, roleAssignment } from '../builders/resources.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { storedObjects } from '../support/kubernetes/etcd.ts';
import { applyManifests } from '../support/kubernetes/manifests.ts';
import { type RawRequests, rawRequests } from '../support/kubernetes/raw-requests.ts';
import { KUBECTL_TIMEOUT } from '../support/limits.ts';
import { connect, type Connection, eventually, runOperator, type RunningOperator } from '../support/operator.ts';
import { type Fault, FaultyProxy } from './support/faulty-proxy.ts';

// Many objects that version 0.1 has stored, and an API server that answers 429 in bursts, and slowly, while they are read and upgraded.
// OBJECTS=10000 is the size of docs/install.md.

const OBJECTS = Number(process.env['OBJECTS'] || 600);
const PAIRS = OBJECTS / 2;
const NAMESPACE = 'olap';
const RELEASED = join(import.meta.dirname, '../fixtures/released/v0.1.0/crds');
const AT_ONCE = 16;
const BURST_MS = 1_500;
const CALM_MS = 700;

let api: ControlPlane;
let proxy: FaultyProxy;
let requests: RawRequests;
let gateway: Connection;
let operator: RunningOperator;

beforeAll(async () => {
  api = await startControlPlane();
  await api.mustKubectl(['apply', '--server-side', '-f', RELEASED]);
  await api.mustKubectl(['wait', '--for=condition=Established', KUBECTL_TIMEOUT, '-f', RELEASED]);
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  requests = rawRequests(api.kubeconfigPath, NAMESPACE);
  await store();
  await api.applyCrds();
  await applyManifests(api);
  proxy = await FaultyProxy.ofApi(api);
  gateway = connect(await throughProxy('olap-warden-gateway'), NAMESPACE);
  operator = runOperator(await throughProxy('olap-warden-operator'), NAMESPACE);
});
afterAll(async () => {
  await operator?.stop();
  await gateway?.close();
  await requests?.close();
  await proxy?.close();
  await api?.stop();
});

/** A role and an assignment of it for each pair, as version 0.1 wrote them. */
async function store(): Promise<void> {
  const base = `/apis/olapwarden.io/v1alpha1/namespaces/${NAMESPACE}`;
  const pending = Array.from({ length: PAIRS }, (_, index) => `many-${index}`).values();
  const create = async (plural: string, object: object): Promise<void> => {
    const body = { ...object, apiVersion: 'olapwarden.io/v1alpha1' };
    // A definition is served a moment after it is established.
    await eventually(
      () => requests.send('POST', `${base}/${plural}`, body),
      ({ ok, status }) => ok || status === 409,
    );
  };
  const worker = async (): Promise<void> => {
    for (const name of pending) {
      await create('roles', role(name));
      await create('roleassignments', roleAssignment(name, { role: name }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function throughProxy(account: string): Promise<string> {
  const kubeconfig = await api.serviceAccountKubeconfig(NAMESPACE, account);
  const config = await readFile(kubeconfig, 'utf8');
  await writeFile(kubeconfig, config.replaceAll(api.url, proxy.url));
  return kubeconfig;
}

interface Stored {
  readonly apiVersion: string;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** How many of the stored roles and assignments are in the new version and ready. */
async function upgraded(): Promise<number> {
  // To read all objects takes time from the operator in the same process.
  await delay(1_000);
  const lists = await Promise.all(
    ['roles', 'roleassignments'].map((plural) => storedObjects(api.description.etcdUrl, 'olapwarden.io', plural)),
  );
  const objects = lists.flatMap((list) => [...list].filter(([name]) => name.startsWith(`${NAMESPACE}/many-`)));
  expect(objects).toHaveLength(OBJECTS);
  const isReady = ({ status }: Stored): boolean =>
    status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true;
  return objects.filter(([, object]) => object.apiVersion === 'olapwarden.io/v1beta1' && isReady(object)).length;
}

const seen = (): number => {
  const of = (kind: 'Role' | 'RoleAssignment'): number =>
    gateway.store.list(kind).filter(({ metadata }) => metadata.name.startsWith('many-')).length;
  return of('Role') + of('RoleAssignment');
};

it(`${OBJECTS} objects of version 0.1 are read and upgraded through bursts of 429 and a slow API server`, async () => {
  const faults: readonly Fault[] = [429, 429, 'slow', 429, 429];
  for (const fault of faults) {
    proxy.set(fault);
    await delay(BURST_MS);
    proxy.set('none');
    await delay(CALM_MS);
  }
  const begun = performance.now();
  await eventually(seen, (count) => count === OBJECTS);
  for (let before = 0; before < OBJECTS;) before = await eventually(upgraded, (count) => count > before);
  process.stdout.write(
    `${OBJECTS} objects: all upgraded ${Math.round(performance.now() - begun)} ms after the faults\n`,
  );
  // What is refused in a burst is sent again, and nothing is written a second time when nothing changes.
  const versions = (): string =>
    JSON.stringify(gateway.store.list('Role').map(({ metadata }) => metadata.resourceVersion));
  let before = '';
  await eventually(
    async () => {
      const stands = before === versions();
      before = versions();
      await delay(1_000);
      return stands;
    },
    (stands) => stands,
  );
  expect(operator.operator.isLeader()).toBe(true);
});
