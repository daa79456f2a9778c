import { KubeConfig } from '@kubernetes/client-node';
import { beforeAll, expect, test } from 'vitest';
import { KubernetesStore } from '../../src/kubernetes/kubernetes-store.ts';
import { KubernetesTransport } from '../../src/kubernetes/transport.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../support/control-plane.ts';
import { describeResourceStore, type StoreFixture } from './resource-store.contract.ts';

let plane: ControlPlaneClient;

beforeAll(async () => {
  plane = await sharedControlPlane();
  await plane.applyCrds();
});

async function start(): Promise<StoreFixture> {
  const namespace = await plane.createNamespace('store-contract');
  const load = () => {
    const config = new KubeConfig();
    config.loadFromFile(plane.kubeconfigPath);
    return config;
  };
  const transport = new KubernetesTransport(load, { namespace });
  const store = new KubernetesStore({ transport });
  return {
    store,
    putOutside: async (object) => {
      await plane.mustKubectl(['apply', '-n', namespace, '-f', '-'], { input: JSON.stringify(object) });
    },
    removeOutside: async (kind, name) => {
      const resource = kind === 'Role' ? 'roles.olapwarden.io' : 'policies.olapwarden.io';
      await plane.mustKubectl(['delete', '-n', namespace, resource, name]);
    },
    stop: async () => {
      await store.close();
      await transport.close();
    },
  };
}

describeResourceStore('KubernetesStore', start);

test('a store that selects only hashes does not see Secrets with tokens', async () => {
  const namespace = await plane.createNamespace('store-parts');
  for (const part of ['service-token', 'service-token-secret', 'other']) {
    await plane.mustKubectl(['-n', namespace, 'create', 'secret', 'generic', part, '--from-literal=a=b']);
    await plane.mustKubectl(['-n', namespace, 'label', 'secret', part, `olapwarden.io/part=${part}`]);
  }
  const load = () => {
    const config = new KubeConfig();
    config.loadFromFile(plane.kubeconfigPath);
    return config;
  };
  const transport = new KubernetesTransport(load, { namespace });
  const stores = [
    new KubernetesStore({ transport, secretParts: ['service-token'] }),
    new KubernetesStore({ transport }),
  ] as const;
  try {
    await Promise.all(stores.map(async (store) => store.synced()));
    const names = stores.map((store) => store.list('Secret').map(({ metadata }) => metadata.name));
    expect(names).toEqual([['service-token'], ['service-token', 'service-token-secret']]);
  } finally {
    await Promise.all(stores.map(async (store) => store.close()));
    await transport.close();
  }
});
