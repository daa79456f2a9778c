import { existsSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { KubernetesConfig } from './credentials.ts';

/** Where the kubelet puts the credentials of a pod. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether this is a process in a pod that nobody gave another configuration: the order of controller-runtime. */
export function isInCluster(env: Environment, folder = SERVICE_ACCOUNT): boolean {
  return !env['KUBECONFIG'] && Boolean(env['KUBERNETES_SERVICE_HOST']) && existsSync(join(folder, 'token'));
}

/**
 * The configuration of a pod: three files, which the kubelet replaces, and two variables. What KubeConfig makes of them is the same, but loading
 * it brings the classes of the whole Kubernetes API with it: half of a start, and a third of a gateway's memory.
 *
 * @throws {Error} from applyToHTTPSOptions() when a file cannot be read
 */
export function inClusterConfig(env: Environment, folder = SERVICE_ACCOUNT): KubernetesConfig {
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] ?? '443'}`;
  const context = {
    name: 'in-cluster',
    cluster: 'in-cluster',
    user: 'in-cluster',
    ...(existsSync(join(folder, 'namespace')) && { namespace: read('namespace').trim() }),
  };
  return {
    getCurrentCluster: () => ({ name: context.cluster, server, skipTLSVerify: false }),
    getCurrentContext: () => context.name,
    getContexts: () => [context],
    getContextObject: () => context,
    applyToHTTPSOptions: async (options) => {
      options.ca = read('ca.crt');
      options.headers = { ...options.headers, authorization: `Bearer ${read('token').trim()}` };
    },
    createDispatcherOptions: (_cluster, { ca }) => ({ type: 'agent', connect: { ca } }),
  };
}
