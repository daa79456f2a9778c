import { KubeConfig } from '@kubernetes/client-node';
import { beforeAll } from 'vitest';
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
