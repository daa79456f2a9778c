// Opens a store, closes it, and reports what would keep the process running. A test runs it as a separate process.
import { setImmediate as nextTurn } from 'node:timers/promises';
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
// A handle is closed in one of the next turns of the event loop. Turns do not depend on the load of the machine.
for (let turn = 0; turn < 100; turn++) await nextTurn();
const ours = new Set(['TCPSocketWrap', 'TLSWrap', 'Timeout', 'FSEvent', 'TCPConnectWrap']);
process.stdout.write(JSON.stringify(process.getActiveResourcesInfo().filter((resource) => ours.has(resource))));
