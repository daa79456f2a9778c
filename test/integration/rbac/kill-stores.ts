import { KubeConfig } from '@kubernetes/client-node';
import { KubernetesStore } from '../../../src/kubernetes/kubernetes-store.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { FolderStore } from '../../../src/store/folder/folder-store.ts';
import type { ResourceStore } from '../../../src/store/resource-store.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

/** Opens a store of its own. @param where `folder <path>` or `kubernetes <kubeconfig> <namespace>` */
export async function openStore([kind, path = '', namespace]: readonly string[]): Promise<{
  readonly store: ResourceStore;
  readonly close: () => Promise<void>;
}> {
  if (kind === 'folder') {
    const store = await FolderStore.open(path);
    return { store, close: () => store.close() };
  }
  const config = new KubeConfig();
  config.loadFromFile(path);
  const transport = new KubernetesTransport(() => config, { namespace });
  const store = new KubernetesStore({ transport });
  await store.synced(AbortSignal.timeout(WAIT_LIMIT_MS));
  return {
    store,
    async close() {
      await store.close();
      await transport.close();
    },
  };
}
