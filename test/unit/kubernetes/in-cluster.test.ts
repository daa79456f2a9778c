import { KubeConfig } from '@kubernetes/client-node';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CredentialSource } from '../../../src/kubernetes/credentials.ts';
import { inClusterConfig, isInCluster } from '../../../src/kubernetes/in-cluster.ts';
import { systemClock } from '../../../src/platform/clock.ts';

// Certificates of Node's own list.
const [CA = '', ANOTHER_CA = ''] = rootCertificates;

let root: string;
let folder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'olap-warden-pod-'));
  folder = join(root, '/var/run/secrets/kubernetes.io/serviceaccount');
  await mkdir(folder, { recursive: true });
  await Promise.all([
    writeFile(join(folder, 'token'), 'the-token\n'),
    writeFile(join(folder, 'ca.crt'), CA),
    writeFile(join(folder, 'namespace'), 'olap'),
  ]);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true });
});

describe('the configuration of a pod', () => {
  it.each([
    ['10.96.0.1', '443'],
    ['fd00::1', '6443'],
  ])('is equal to that of KubeConfig from the same files, at %s', async (host, port) => {
    vi.stubEnv('KUBERNETES_SERVICE_HOST', host);
    vi.stubEnv('KUBERNETES_SERVICE_PORT', port);
    const theirs = new CredentialSource(() => {
      const config = new KubeConfig();
      config.loadFromCluster(root);
      return config;
    }, systemClock);
    const ours = new CredentialSource(() => inClusterConfig(process.env, folder), systemClock);
    expect(ours.namespace).toBe('olap');
    expect(ours.namespace).toBe(theirs.namespace);
    const { server, headers, connection } = await ours.get();
    const expected = await theirs.get();
    expect({ server, headers }).toEqual({ server: expected.server, headers: expected.headers });
    expect(headers).toEqual({ authorization: 'Bearer the-token' });
    expect(connection).toEqual({ type: 'agent', connect: { ca: CA } });
  });

  it('has the token and the CA that the kubelet replaced; another CA has another fingerprint', async () => {
    const source = new CredentialSource(() => inClusterConfig({ KUBERNETES_SERVICE_HOST: 'api' }, folder), systemClock);
    const before = await source.get();
    await writeFile(join(folder, 'token'), 'the-next');
    source.expire();
    const rotated = await source.get();
    expect(rotated.headers).toEqual({ authorization: 'Bearer the-next' });
    expect(rotated.fingerprint).toBe(before.fingerprint);
    await writeFile(join(folder, 'ca.crt'), ANOTHER_CA);
    source.expire();
    expect((await source.get()).fingerprint).not.toBe(before.fingerprint);
  });

  it('is used only in a pod, and only without KUBECONFIG', () => {
    const pod = { KUBERNETES_SERVICE_HOST: '10.96.0.1' };
    expect(isInCluster(pod, folder)).toBe(true);
    expect(isInCluster({ ...pod, KUBECONFIG: '/home/me/config' }, folder)).toBe(false);
    expect(isInCluster({}, folder)).toBe(false);
    expect(isInCluster(pod, join(root, 'nothing'))).toBe(false);
  });
});
