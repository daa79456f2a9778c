import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pki } from './pki.ts';

export type Flags = Readonly<Record<string, string | number | boolean>>;

/** The network plan of all parts. */
export const SERVICE_NETWORK = '10.96.0.0/16';

/** `--name=value` of each. */
export function argumentsOf(flags: Flags): string[] {
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
}

/** An etcd without fsync: fast, and not durable. */
export function etcdFlags(directory: string, url: string, peerUrl: string): Flags {
  return {
    name: 'test',
    'data-dir': join(directory, 'etcd'),
    'log-level': 'warn',
    'unsafe-no-fsync': true,
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `test=${peerUrl}`,
  };
}

export interface ControlPlaneLayout {
  /** For what the programs write themselves. */
  readonly directory: string;
  /** As `createControlPlanePki` has filled it. */
  readonly pki: Pki;
  /** Where the API server listens. */
  readonly address: string;
  readonly port: number;
  readonly etcdUrl: string;
}

/** The certificates of a control plane; those of its clients are the caller's to add. @param alternatives names and addresses of the API server */
export async function createControlPlanePki(pki: Pki, alternatives: readonly string[]): Promise<void> {
  await pki.createAuthority();
  const services = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ];
  const names = ['localhost', ...services].map((name) => `DNS:${name}`);
  const all = [...names, ...['127.0.0.1', '10.96.0.1', ...alternatives].map((address) => `IP:${address}`)];
  const usage = 'extendedKeyUsage=serverAuth,clientAuth';
  await Promise.all([
    pki.createServiceAccountKeys(),
    pki.issue('apiserver', [['CN', 'kube-apiserver']], `subjectAltName=${all.join(',')}\n${usage}`),
    issueClient(pki, 'admin', 'admin', 'system:masters'),
    issueClient(pki, 'controller-manager', 'system:kube-controller-manager'),
    issueClient(pki, 'front-proxy', 'front-proxy-client'),
  ]);
}

/** A client's certificate. @param name of its files */
export function issueClient(pki: Pki, name: string, user: string, ...groups: readonly string[]): Promise<void> {
  const subject = [...groups.map((group) => ['O', group] as const), ['CN', user] as const];
  return pki.issue(name, subject, 'extendedKeyUsage=clientAuth');
}

export function apiserverFlags({ directory, pki, address, port, etcdUrl }: ControlPlaneLayout): Flags {
  return {
    'etcd-servers': etcdUrl,
    'bind-address': address,
    'secure-port': port,
    'advertise-address': address,
    'cert-dir': directory,
    'tls-cert-file': pki.path('apiserver.crt'),
    'tls-private-key-file': pki.path('apiserver.key'),
    'client-ca-file': pki.path('ca.crt'),
    'authorization-mode': 'RBAC',
    'service-cluster-ip-range': SERVICE_NETWORK,
    'service-account-key-file': pki.path('sa.pub'),
    'service-account-signing-key-file': pki.path('sa.key'),
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'requestheader-client-ca-file': pki.path('ca.crt'),
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-username-headers': 'X-Remote-User',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'proxy-client-cert-file': pki.path('front-proxy.crt'),
    'proxy-client-key-file': pki.path('front-proxy.key'),
  };
}

/** Where {@link auditFlags} has the log written. */
export function auditLogPath(directory: string): string {
  return join(directory, 'audit.log');
}

/** Has the API server write the metadata of each request, one JSON event a line, before it answers. */
export async function auditFlags(directory: string): Promise<Flags> {
  const policy = join(directory, 'audit-policy.yaml');
  const rules = [{ level: 'Metadata' }];
  const document = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules };
  await writeFile(policy, JSON.stringify(document));
  return { 'audit-policy-file': policy, 'audit-log-path': auditLogPath(directory), 'audit-log-mode': 'blocking' };
}

export function controllerManagerFlags(directory: string, pki: Pki, kubeconfig: string): Flags {
  return {
    ...kubeconfigFlags(kubeconfig),
    'service-account-private-key-file': pki.path('sa.key'),
    'root-ca-file': pki.path('ca.crt'),
    'cluster-signing-cert-file': pki.path('ca.crt'),
    'cluster-signing-key-file': pki.path('ca.key'),
    'use-service-account-credentials': true,
    'bind-address': '127.0.0.1',
    'cert-dir': directory,
    'leader-elect': false,
    // The defaults of 20 and 30 make it six seconds slower to start.
    'kube-api-qps': 500,
    'kube-api-burst': 1000,
  };
}

export function kubeconfigFlags(kubeconfig: string): Flags {
  return { kubeconfig, 'authentication-kubeconfig': kubeconfig, 'authorization-kubeconfig': kubeconfig };
}

export interface KubeconfigFile {
  readonly path: string;
  readonly server: string;
  /** A token, or the data of a client certificate and its key. */
  readonly user: Readonly<Record<string, string>>;
  readonly namespace?: string | undefined;
}

/** Writes a kubeconfig whose server shows a certificate of `pki`. @returns its path */
export async function writeKubeconfigFile(
  pki: Pki,
  { path, server, user, namespace }: KubeconfigFile,
): Promise<string> {
  const cluster = { server, 'certificate-authority-data': await pki.base64('ca.crt') };
  const context = { cluster: 'test', user: 'test', ...(namespace !== undefined && { namespace }) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context }],
    'current-context': 'test',
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 }); // JSON is YAML
  return path;
}

/** The user of a kubeconfig who has the certificate `name`. */
export async function certificateUser(pki: Pki, name: string): Promise<Record<string, string>> {
  return {
    'client-certificate-data': await pki.base64(`${name}.crt`),
    'client-key-data': await pki.base64(`${name}.key`),
  };
}
