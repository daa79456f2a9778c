import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Pki } from '../kubernetes/pki.ts';
import {
  apiserverFlags,
  argumentsOf,
  auditFlags,
  certificateUser,
  controllerManagerFlags,
  createControlPlanePki,
  etcdFlags,
  issueClient,
  kubeconfigFlags,
  SERVICE_NETWORK,
  writeKubeconfigFile,
  type Flags,
} from '../kubernetes/programs.ts';

export const NODE_NAME = 'node-1';
/** The node's address in its own network: that of the API server, and under which forwarded ports of the host are reached. */
export const NODE_ADDRESS = '10.89.0.2';
export const API_PORT = 6443;
const ETCD = 'http://127.0.0.1:2379';
const ETCD_PEER = 'http://127.0.0.1:2380';
const POD_NETWORK = '10.244.0.0/16';
const DNS_SERVICE = '10.96.0.10';
const PAUSE_IMAGE = 'olap-warden.test/pause:1';

export interface NodeFolders {
  /** Everything of this node. */
  readonly directory: string;
  /** `tools/install.sh node-parts`. */
  readonly nodeParts: string;
}

/**
 * Writes certificates, kubeconfigs, configuration files and `arguments/<program>` of every program of the node.
 * @param dns whether CoreDNS runs too
 */
export async function writeConfiguration(folders: NodeFolders, dns: boolean): Promise<void> {
  const { directory } = folders;
  const pki = await createPki(join(directory, 'pki'));
  for (const name of ['admin', 'controller-manager', 'scheduler', 'proxy', 'kubelet']) {
    await writeKubeconfig(directory, pki, name, `node-${name}`, `https://${NODE_ADDRESS}:${API_PORT}`);
  }
  await mkdir(join(directory, 'arguments'));
  for (const [program, flags] of Object.entries(await programFlags(directory, pki))) {
    await writeArguments(directory, program, flags);
  }

  await writeFile(join(directory, 'resolv.conf'), `nameserver ${DNS_SERVICE}\n`);
  await writeFile(join(directory, 'hosts'), `127.0.0.1 localhost\n${NODE_ADDRESS} ${NODE_NAME}\n`);
  await writeJson(join(directory, 'kubelet.json'), kubeletConfiguration(directory, pki));
  await writeJson(join(directory, 'kube-proxy.json'), proxyConfiguration(directory));
  await writeFile(join(directory, 'containerd.toml'), containerdConfiguration(folders));
  await mkdir(join(directory, 'cni'));
  await writeJson(join(directory, 'cni/10-pods.conflist'), podNetwork());
  if (dns) await writeDns(directory);
}

/** Path of a kubeconfig, named `<file>.kubeconfig`, that authenticates by the certificate `name`. */
export async function writeKubeconfig(
  directory: string,
  pki: Pki,
  name: string,
  file: string,
  server: string,
): Promise<string> {
  const path = join(directory, `${file}.kubeconfig`);
  return writeKubeconfigFile(pki, { path, server, user: await certificateUser(pki, name) });
}

async function createPki(directory: string): Promise<Pki> {
  await mkdir(directory, { mode: 0o700 });
  const pki = new Pki(directory);
  await createControlPlanePki(pki, [NODE_ADDRESS]);
  await Promise.all([
    issueClient(pki, 'scheduler', 'system:kube-scheduler'),
    issueClient(pki, 'proxy', 'system:kube-proxy'),
    issueClient(pki, 'kubelet-client', 'apiserver-kubelet-client', 'system:masters'),
    pki.issue(
      'kubelet',
      [
        ['O', 'system:nodes'],
        ['CN', `system:node:${NODE_NAME}`],
      ],
      `subjectAltName=DNS:${NODE_NAME},IP:${NODE_ADDRESS}\nextendedKeyUsage=serverAuth,clientAuth`,
    ),
  ]);
  return pki;
}

async function programFlags(directory: string, pki: Pki): Promise<Readonly<Record<string, Flags>>> {
  const kubeconfig = (name: string): string => join(directory, `node-${name}.kubeconfig`);
  return {
    etcd: etcdFlags(directory, ETCD, ETCD_PEER),
    'kube-apiserver': {
      ...apiserverFlags({ directory, pki, address: NODE_ADDRESS, port: API_PORT, etcdUrl: ETCD }),
      'authorization-mode': 'Node,RBAC',
      'enable-admission-plugins': 'NodeRestriction',
      'kubelet-client-certificate': pki.path('kubelet-client.crt'),
      'kubelet-client-key': pki.path('kubelet-client.key'),
      'kubelet-preferred-address-types': 'InternalIP',
      ...(await auditFlags(directory)),
    },
    'kube-controller-manager': {
      ...controllerManagerFlags(directory, pki, kubeconfig('controller-manager')),
      'allocate-node-cidrs': true,
      'cluster-cidr': POD_NETWORK,
      'service-cluster-ip-range': SERVICE_NETWORK,
    },
    'kube-scheduler': {
      ...kubeconfigFlags(kubeconfig('scheduler')),
      'bind-address': '127.0.0.1',
      'cert-dir': directory,
      'leader-elect': false,
    },
    containerd: { config: join(directory, 'containerd.toml') },
    kubelet: {
      config: join(directory, 'kubelet.json'),
      kubeconfig: kubeconfig('kubelet'),
      'hostname-override': NODE_NAME,
      'node-ip': NODE_ADDRESS,
    },
    'kube-proxy': { config: join(directory, 'kube-proxy.json') },
  };
}

function kubeletConfiguration(directory: string, pki: Pki): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: pki.path('ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: pki.path('kubelet.crt'),
    tlsPrivateKeyFile: pki.path('kubelet.key'),
    clusterDNS: [DNS_SERVICE],
    clusterDomain: 'cluster.local',
    resolvConf: join(directory, 'resolv.conf'),
    volumePluginDir: join(directory, 'volume-plugins'),
    failSwapOn: false,
    maxOpenFiles: 20_000,
    oomScoreAdj: 0,
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'nodefs.inodesFree': '1%',
      'imagefs.available': '1%',
    },
    // Images are imported only by tests, so none may be collected.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    nodeStatusUpdateFrequency: '5s',
  };
}

function proxyConfiguration(directory: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clientConnection: { kubeconfig: join(directory, 'node-proxy.kubeconfig') },
    hostnameOverride: NODE_NAME,
    clusterCIDR: POD_NETWORK,
    bindAddress: NODE_ADDRESS,
    healthzBindAddress: `${NODE_ADDRESS}:10256`,
    metricsBindAddress: '127.0.0.1:10249',
    // Zero keeps the limits of the machine.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  };
}

function podNetwork(): object {
  const ranges = [[{ subnet: '10.244.0.0/24' }]];
  const ipam = { type: 'host-local', ranges, routes: [{ dst: '0.0.0.0/0' }] };
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      { type: 'bridge', bridge: 'cni0', isGateway: true, hairpinMode: true, ipMasq: false, ipam },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

function containerdConfiguration({ directory, nodeParts }: NodeFolders): string {
  const images = "plugins.'io.containerd.cri.v1.images'";
  const runtime = "plugins.'io.containerd.cri.v1.runtime'";
  return `version = 3
root = '${directory}/containerd'
state = '/run/containerd/state'
[grpc]
  address = '/run/containerd/containerd.sock'
[${images}.pinned_images]
  sandbox = '${PAUSE_IMAGE}'
[${runtime}]
  # Where the capability CAP_SYS_RESOURCE is missing, runc may not lower oom_score_adj.
  restrict_oom_score_adj = true
[${runtime}.cni]
  bin_dirs = ['${nodeParts}/cni']
  conf_dir = '${directory}/cni'
[${runtime}.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[${runtime}.containerd.runtimes.runc.options]
  SystemdCgroup = false
`;
}

/** CoreDNS is a process of the node, as the control plane's parts are; its Service has the address that the kubelet gives to pods. */
async function writeDns(directory: string): Promise<void> {
  // External names get NXDOMAIN at once, because this network has no upstream server.
  const corefile = `cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
  bind ${NODE_ADDRESS}
  errors
  ready ${NODE_ADDRESS}:8181
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig ${directory}/node-admin.kubeconfig
    ttl 1
  }
}
.:53 {
  bind ${NODE_ADDRESS}
  errors
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`;
  await writeFile(join(directory, 'Corefile'), corefile);
  await writeFile(join(directory, 'arguments/coredns'), `-conf\n${join(directory, 'Corefile')}\n`);
  const metadata = { name: 'kube-dns', namespace: 'kube-system' };
  const ports = ['UDP', 'TCP'].map((protocol) => ({ name: `dns-${protocol.toLowerCase()}`, port: 53, protocol }));
  const slice = { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } };
  await writeJson(join(directory, 'coredns.json'), {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: DNS_SERVICE, ports } },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: slice,
        addressType: 'IPv4',
        endpoints: [{ addresses: [NODE_ADDRESS] }],
        ports,
      },
    ],
  });
}

async function writeArguments(directory: string, program: string, flags: Flags): Promise<void> {
  await writeFile(join(directory, 'arguments', program), `${argumentsOf(flags).join('\n')}\n`);
}

async function writeJson(path: string, value: object): Promise<void> {
  await writeFile(path, JSON.stringify(value), { mode: 0o600 });
}
