import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { KubernetesStore, type StoreTransport } from '../../../src/kubernetes/kubernetes-store.ts';
import { DEFAULT_TUNING, type ReflectorTuning } from '../../../src/kubernetes/reflector.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { CUSTOM_KINDS } from '../../../src/resources/kinds.ts';
import { role } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { CuttableProxy } from '../../support/kubernetes/cuttable-proxy.ts';
import { compactHistory } from '../../support/kubernetes/etcd.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { until } from '../../support/until.ts';
import { execute } from '../../support/execute.ts';

// A control plane of its own: it is killed, frozen and compacted.
let plane: ControlPlane;
let proxy: CuttableProxy;
let namespace: string;
let transport: KubernetesTransport;
let lists: URLSearchParams[];
let store: KubernetesStore;
let events: string[];

beforeAll(async () => {
  plane = await startControlPlane();
  await plane.applyCrds();
  proxy = await CuttableProxy.start(plane.url);
});

afterAll(async () => {
  await proxy.close();
  await plane.stop();
});

beforeEach(async () => {
  namespace = await plane.createNamespace('store');
  transport = new KubernetesTransport(throughProxy, { namespace });
});

afterEach(async () => {
  await store.close();
  await transport.close();
});

function throughProxy(): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(plane.kubeconfigPath);
  const [cluster] = config.clusters;
  if (cluster === undefined) throw new Error('no cluster');
  config.clusters = [{ ...cluster, server: `https://127.0.0.1:${proxy.port}` }];
  return config;
}

/** Opens a store whose lists of roles are noted. */
async function open(tuning: Partial<ReflectorTuning> = {}): Promise<void> {
  lists = [];
  events = [];
  const spy: StoreTransport = {
    namespace,
    stream: (path, options) => transport.stream(path, options),
    request: (method, path, options) => {
      if (method === 'GET' && path.endsWith('/roles'))
        lists.push(new URLSearchParams(JSON.parse(JSON.stringify(options?.query ?? {})) as Record<string, string>));
      return transport.request(method, path, options);
    },
  };
  // Short backoffs: what is waited for here is the server, not the store.
  store = new KubernetesStore({ transport: spy, tuning: { backoff: { baseMs: 50, maxMs: 500 }, ...tuning } });
  store.subscribe('Role', ({ type, object }) => events.push(`${type} ${object.metadata.name}`));
  await store.synced(AbortSignal.timeout(WAIT_LIMIT_MS));
}

async function kubectlApply(name: string, policies: string[] = []): Promise<void> {
  await plane.mustKubectl(['apply', '-n', namespace, '-f', '-'], { input: JSON.stringify(role(name, { policies })) });
}

describe('KubernetesStore on a real API server', () => {
  test('continues after an interrupted network without a new list', async () => {
    await open();
    await kubectlApply('a');
    await until('a', () => store.get('Role', 'a') !== undefined);
    proxy.cut();
    await until('the loss is noticed', () => store.health().lastError !== undefined);
    await kubectlApply('b');
    await plane.mustKubectl(['delete', 'roles.olapwarden.io', 'a', '-n', namespace]);
    proxy.mend();
    await until('both changes', () => events.length === 3);
    expect(events).toEqual(['added a', 'added b', 'deleted a']);
    expect(lists).toHaveLength(1);
  });

  test('lists again if etcd has compacted its history', async () => {
    await open();
    for (const name of ['stays', 'changes', 'goes']) await kubectlApply(name);
    await until('all three', () => store.list('Role').length === 3);
    proxy.cut();
    await kubectlApply('changes', ['p']);
    await kubectlApply('comes');
    await plane.mustKubectl(['delete', 'roles.olapwarden.io', 'goes', '-n', namespace]);
    await compactHistory(plane.description.etcdUrl);
    // Its cache of recent events would bridge the gap.
    await plane.restart();
    events.length = 0;
    proxy.mend();
    await until('the changes', () => store.get('Role', 'comes') !== undefined);
    expect([...events].sort()).toEqual(['added comes', 'deleted goes', 'modified changes']);
    expect(lists).toHaveLength(2);
    await kubectlApply('next');
    await until('what comes next', () => store.get('Role', 'next') !== undefined);
  });

  test('detects a stopped API server process by missing bytes', async () => {
    await open({ idleMs: 1500 });
    await store.create('Role', role('a'));
    plane.pause();
    try {
      await until('the silence is noticed', () => store.health().lastError !== undefined);
      expect(store.health().lastError).toContain('nothing received within 1500 ms');
      expect(store.health().ageMs).toBeGreaterThan(1000);
      expect(store.get('Role', 'a')).toBeDefined();
    } finally {
      plane.resume();
    }
    await kubectlApply('b');
    await until('what comes next', () => store.get('Role', 'b') !== undefined);
  });

  test('detects a half-open connection, and is current soon after it works again', async () => {
    await open({ backoff: DEFAULT_TUNING.backoff });
    await store.create('Role', role('a'));
    proxy.stall();
    // After 25 s without any bytes. Without a check of the connection it takes three minutes.
    await until('the silence is noticed', () => store.health().lastError !== undefined);
    await kubectlApply('b');
    expect(store.get('Role', 'b')).toBeUndefined();
    proxy.mend();
    await until('what was created meanwhile', () => store.get('Role', 'b') !== undefined);
    await until('all kinds are current', () => store.health().lastError === undefined);
    expect(lists).toHaveLength(1);
  });

  test('lists no Secret', async () => {
    await open();
    const labels = { 'olapwarden.io/part': 'service-token-secret' };
    await store.create('Secret', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'ours', labels }, data: {} });
    expect(store.list('Secret')).toEqual([]);
    await expect(store.readAll('Secret')).rejects.toMatchObject({ code: 'forbidden' });
  });

  test('reports missing rights to write', async () => {
    await open();
    const kubeconfig = await plane.kubeconfig('nobody@example.com');
    const asNobody = new KubernetesTransport(
      () => {
        const config = new KubeConfig();
        config.loadFromFile(kubeconfig);
        return config;
      },
      { namespace },
    );
    const nobody = new KubernetesStore({ transport: asNobody, tuning: { backoff: { baseMs: 50, maxMs: 500 } } });
    const error = await nobody.create('Role', role('a')).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'forbidden',
      ownAccount: true,
      message: expect.stringContaining('nobody@example.com'),
    });
    await until('the refusal is noticed', () => nobody.health().lastError !== undefined);
    expect(nobody.health()).toMatchObject({ synced: false, lastError: expect.stringContaining('forbidden') });
    await nobody.close();
    await asNobody.close();
  });

  test('close() closes all connections, so that a process can exit', async () => {
    await open();
    await until('every kind is watched', () => proxy.connections >= CUSTOM_KINDS.length);
    await store.close();
    await transport.close();
    await until('all connections are closed', () => proxy.connections === 0);
    const script = join(import.meta.dirname, 'open-and-close.ts');
    const { stdout } = await execute(process.execPath, [script, plane.kubeconfigPath, namespace], {
      timeout: WAIT_LIMIT_MS,
    });
    expect(JSON.parse(stdout)).toEqual([]);
  });
});
