import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { configMapDocument } from '../../src/kubernetes/config-map-document.ts';
import { KubernetesTransport } from '../../src/kubernetes/transport.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../support/control-plane.ts';
import { sharedDocumentContract } from './shared-document.ts';

const { signal } = new AbortController();
const transports: KubernetesTransport[] = [];
let plane: ControlPlaneClient;
let namespace: string;

function transport(): KubernetesTransport {
  const load = () => {
    const config = new KubeConfig();
    config.loadFromFile(plane.kubeconfigPath);
    return config;
  };
  const made = new KubernetesTransport(load, { namespace });
  transports.push(made);
  return made;
}

beforeAll(async () => {
  plane = await sharedControlPlane();
  namespace = await plane.createNamespace('documents');
});
afterAll(async () => {
  for (const made of transports) await made.close();
});

let count = 0;
async function newConfigMap(): Promise<string> {
  const name = `usage-${count++}`;
  await plane.mustKubectl(['-n', namespace, 'create', 'configmap', name]);
  await plane.mustKubectl(['-n', namespace, 'label', 'configmap', name, 'team=data']);
  return name;
}

sharedDocumentContract('a ConfigMap', async () => {
  const name = await newConfigMap();
  return [configMapDocument(transport(), name, 'usage'), configMapDocument(transport(), name, 'usage')];
});

it('a ConfigMap keeps its labels, and its data when its manifest is applied again', async () => {
  const name = await newConfigMap();
  const manifest = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { team: 'data' } },
  });
  const apply = () =>
    plane.mustKubectl(['-n', namespace, 'apply', '--server-side', '--force-conflicts', '-f', '-'], { input: manifest });
  await apply();
  const document = configMapDocument(transport(), name, 'usage');
  await document.write('kept', (await document.read(signal)).version, signal);
  await apply();
  expect((await document.read(signal)).text).toBe('kept');
  const { stdout } = await plane.mustKubectl([
    '-n',
    namespace,
    'get',
    'configmap',
    name,
    '-o',
    'jsonpath={.metadata.labels}',
  ]);
  expect(JSON.parse(stdout)).toEqual({ team: 'data' });
});

it('a ConfigMap that is missing is an error that names it', async () => {
  const document = configMapDocument(transport(), 'nowhere', 'usage');
  await expect(document.read(signal)).rejects.toMatchObject({
    code: 'not-found',
    message: expect.stringContaining('nowhere'),
  });
});
