// Opens a store, closes it, and reports what is left when the process has nothing more to do: run by a test as a process of its own.
import { KubeConfig } from '@kubernetes/client-node';
import { KubernetesStore } from '../../../src/kubernetes/kubernetes-store.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';

const [, , kubeconfig = '', namespace = ''] = process.argv;
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const transport = new KubernetesTransport(() => config, { namespace });
const store = new KubernetesStore({ transport });
await store.synced();
await store.close();
await transport.close();
const closedAt = performance.now();
const ours = new Set(['TCPSocketWrap', 'TLSWrap', 'Timeout', 'FSEvent', 'TCPConnectWrap']);
process.on('exit', () => {
  const left = process.getActiveResourcesInfo().filter((resource) => ours.has(resource));
  process.stdout.write(JSON.stringify({ endedAfterMs: performance.now() - closedAt, left }));
});
