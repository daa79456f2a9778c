import type { Flags } from '../kubernetes/programs.ts';

/** Where the cluster's directory of the host is in kind's node. */
export const MOUNT = '/olap-warden';
/** Ports of the node that Docker publishes on free ports of 127.0.0.1, one for each KindCluster.reach(); beside those of NodePorts and of clients. */
export const RELAY_PORTS: readonly number[] = Array.from({ length: 16 }, (_, index) => 20_000 + index);

/**
 * A cluster of one node whose API server writes an audit log, as YAML (JSON, that is).
 * @param directory of the host; kind's node sees it as {@link MOUNT}
 * @param audit flags of the API server with paths in `directory`
 */
export function kindConfig(directory: string, audit: Flags): string {
  const args = Object.entries(audit).map(([name, value]) => ({
    name,
    value: String(value).replace(directory, MOUNT),
  }));
  const volume = { name: 'olap-warden', hostPath: MOUNT, mountPath: MOUNT, pathType: 'Directory' };
  // Added one by one: a merge would replace the arguments that kind gives.
  const patch = [
    ...args.map((value) => ({ op: 'add', path: '/apiServer/extraArgs/-', value })),
    { op: 'add', path: '/apiServer/extraVolumes', value: [volume] },
  ];
  const target = { group: 'kubeadm.k8s.io', version: 'v1beta4', kind: 'ClusterConfiguration' };
  return JSON.stringify({
    kind: 'Cluster',
    apiVersion: 'kind.x-k8s.io/v1alpha4',
    kubeadmConfigPatchesJSON6902: [{ ...target, patch: JSON.stringify(patch) }],
    nodes: [
      {
        role: 'control-plane',
        extraMounts: [{ hostPath: directory, containerPath: MOUNT }],
        extraPortMappings: RELAY_PORTS.map((containerPort) => ({ containerPort, listenAddress: '127.0.0.1' })),
      },
    ],
  });
}

/** CommonJS, for `node -e`: forwards connections of a port to `host:target`. */
const RELAY = `
const { connect, createServer } = require('node:net');
const { pipeline } = require('node:stream');
const [port, host, target] = process.argv.slice(1);
createServer({ allowHalfOpen: true }, (client) => {
  const server = connect({ host, port: Number(target), allowHalfOpen: true });
  pipeline(client, server, () => {});
  pipeline(server, client, () => {});
}).listen(Number(port));
`;

export interface Relay {
  /** One of {@link RELAY_PORTS}. */
  readonly port: number;
  readonly host: string;
  readonly target: number;
  /** One with Node at /nodejs/bin/node: that of olap-warden. */
  readonly image: string;
}

/** A pod in the node's own network, where Services and pods are reached as they are. */
export function relayPod({ port, host, target, image }: Relay): object {
  const container = {
    name: 'relay',
    image,
    imagePullPolicy: 'Never',
    command: ['/nodejs/bin/node', '-e', RELAY, String(port), host, String(target)],
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `relay-${port}`, namespace: 'default' },
    spec: { hostNetwork: true, terminationGracePeriodSeconds: 0, containers: [container] },
  };
}
