import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { KubernetesStore } from '../../../src/kubernetes/kubernetes-store.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { FolderStore } from '../../../src/store/folder/folder-store.ts';
import type { ControlPlaneClient } from '../control-plane.ts';
import { storeWorld, type World } from './store-world.ts';
import { WAIT_LIMIT_MS } from '../limits.ts';

/** A world that holds files or connections. */
export interface OpenWorld extends World {
  readonly close: () => Promise<void>;
}

/** Two gateways at a folder of manifests. They are in one process, as a folder has only one. @param parent of the folder */
export async function folderWorld(parent = tmpdir()): Promise<OpenWorld> {
  const folder = await mkdtemp(join(parent, 'olap-warden-walks-'));
  const store = await FolderStore.open(folder, { debounceMs: 20 });
  return {
    ...storeWorld([store, store]),
    close: async () => {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Two gateways at a new namespace of a Kubernetes API with the CRDs, each with its own connections and watches. */
export async function kubernetesWorld(plane: ControlPlaneClient): Promise<OpenWorld> {
  const namespace = await plane.createNamespace('walks');
  const load = (): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromFile(plane.kubeconfigPath);
    return config;
  };
  const gateways = [0, 1].map(() => {
    const transport = new KubernetesTransport(load, { namespace });
    return { transport, store: new KubernetesStore({ transport }) };
  });
  await Promise.all(gateways.map(({ store }) => store.synced(AbortSignal.timeout(WAIT_LIMIT_MS))));
  return {
    ...storeWorld(gateways.map(({ store }) => store)),
    close: async () => {
      for (const { store, transport } of gateways) {
        await store.close();
        await transport.close();
      }
    },
  };
}
