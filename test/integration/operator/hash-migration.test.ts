import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServiceTokenAuthenticator } from '../../../src/access/authenticators/service-token.ts';
import { Directory } from '../../../src/access/directory.ts';
import { hashesOf, hashSecretKey } from '../../../src/access/service-token.ts';
import { buildTokenSecret, readTokenSecret } from '../../../src/operator/tokens/token-secret.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import type { Secret, ServiceToken } from '../../../src/resources/kinds.ts';
import { API_VERSION } from '../../../src/resources/meta.ts';
import { legacyHashSecret, roleAssignment, serviceToken, withMeta } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { connect, eventually, runOperator, type Connection, type RunningOperator } from '../../support/operator.ts';
import { shellBlock } from '../../support/documents/shell-blocks.ts';
import { DocumentShell } from '../../support/documents/shell.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';

const ROOT = join(import.meta.dirname, '../../..');
const RELEASED = join(ROOT, 'test/fixtures/released/v0.1.0');
const namespace = 'olap';
/** The sample with a `secretName`, and a token that REST has created. */
const JOB = { name: 'ingestion-job', accessKey: 'j'.repeat(16), secretKey: 'k'.repeat(32) };
const REST = { name: 'r'.repeat(16), accessKey: 'r'.repeat(16), secretKey: 's'.repeat(32) };
const asOperator = ['-n', namespace, `--as=system:serviceaccount:${namespace}:olap-warden-operator`];
const OLD_KEY = 'o'.repeat(32);

// Its own control plane, because the definitions and the rules are cluster-scoped.
let api: ControlPlane;
let operator: RunningOperator;
let gateway: Connection;
let directory: Directory;
let shell: DocumentShell;

beforeAll(async () => {
  api = await startControlPlane({ controllerManager: true });
  await api.mustKubectl(['apply', '--server-side', '-f', join(RELEASED, 'crds')]);
  await api.mustKubectl(['wait', '--for=condition=Established', KUBECTL_TIMEOUT, '-f', join(RELEASED, 'crds')]);
  await api.mustKubectl(['create', 'namespace', namespace]);
  await kubectl('apply', '-f', join(RELEASED, 'samples'));
  await createWithVersion01();

  await api.applyCrds();
  const operatorKubeconfig = await api.serviceAccountKubeconfig(namespace, 'olap-warden-operator');
  const gatewayKubeconfig = await api.serviceAccountKubeconfig(namespace, 'olap-warden-gateway');
  await applyManifests(api);
  operator = runOperator(operatorKubeconfig, namespace);
  gateway = connect(gatewayKubeconfig, namespace);
  directory = new Directory(gateway.store, { environment: 'olap', cluster: 'pinot' });
});
afterAll(async () => {
  await shell.remove();
  directory.close();
  await gateway.close();
  await operator.stop();
  await api.stop();
});

async function kubectl(...args: string[]): Promise<string> {
  return (await api.mustKubectl(['-n', namespace, ...args])).stdout;
}

/** Creates an object as version 0.1 did, also with its owner in the version of the API that 0.1 had. */
async function create(object: object): Promise<void> {
  const input = JSON.stringify(object).replaceAll(API_VERSION, 'olapwarden.io/v1alpha1');
  await api.mustKubectl(['-n', namespace, 'create', '-f', '-'], { input });
}

async function token(name: string): Promise<ServiceToken> {
  return JSON.parse(await kubectl('get', 'servicetokens.olapwarden.io', name, '-o', 'json')) as ServiceToken;
}

async function secret(name: string): Promise<Secret | undefined> {
  const { code, stdout } = await api.kubectl(['-n', namespace, 'get', 'secret', name, '-o', 'json']);
  return code === 0 ? (JSON.parse(stdout) as Secret) : undefined;
}

/** What an operator and a gateway of version 0.1 have written. */
async function createWithVersion01(): Promise<void> {
  const byRest = {
    labels: { 'app.kubernetes.io/managed-by': 'olap-warden' },
    annotations: { 'olapwarden.io/created-by': 'srn2:user#ada' },
  };
  await create(serviceToken(REST.name, {}, withMeta(byRest)));
  await create(roleAssignment('for-rest', { subjects: [{ type: 'service-token', name: REST.name }] }));
  const [job, rest] = [await token(JOB.name), await token(REST.name)];
  const previousExpiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const previous = { previousHash: hashSecretKey(OLD_KEY), previousExpiresAt };
  await create(
    legacyHashSecret(job, { accessKey: JOB.accessKey, secretHash: hashSecretKey(JOB.secretKey), ...previous }),
  );
  await create(buildTokenSecret(job, job.spec.secretName!, JOB));
  await create(legacyHashSecret(rest, { accessKey: REST.accessKey, secretHash: hashSecretKey(REST.secretKey) }));
  for (const { name, accessKey } of [JOB, REST]) {
    const patch = JSON.stringify({ status: { accessKey } });
    await kubectl('patch', 'servicetokens.olapwarden.io', name, '--subresource=status', '--type=merge', '-p', patch);
  }
}

async function outcome(accessKey: string, secretKey: string): Promise<string> {
  const authenticator = new ServiceTokenAuthenticator(directory, systemClock);
  return (await authenticator.authenticate({ scheme: 'basic', username: accessKey, password: secretKey })).outcome;
}

it('says that the hashes cannot be read, and deletes no token, until the right is granted as docs/versions.md says', async () => {
  for (const { name } of [JOB, REST])
    await eventually(
      async () => (await token(name)).status?.conditions?.find(({ type }) => type === 'Ready')?.reason,
      (reason) => reason === 'HashNotReadable',
    );
  expect(await outcome(REST.accessKey, REST.secretKey)).toBe('rejected');
  shell = await DocumentShell.create({
    env: { KUBECONFIG: api.kubeconfigPath },
    programs: { kubectl: `exec '${join(api.description.binaries, 'kubectl')}' "$@"` },
  });
  const { code, stderr } = await shell.run(shellBlock('docs/versions.md', 2).text);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const read = (name: string) => api.kubectl(['auth', 'can-i', 'get', `secrets/${name}`, ...asOperator]);
  expect((await read(`${JOB.name}-hash`)).stdout.trim()).toBe('yes');
  expect((await read('another')).stdout.trim()).toBe('no');
});

it('moves the hashes of version 0.1 into the status; gateways without a right on Secrets accept the tokens', async () => {
  const accepted: [string, string][] = [
    [JOB.accessKey, JOB.secretKey],
    [JOB.accessKey, OLD_KEY],
    [REST.accessKey, REST.secretKey],
  ];
  for (const [accessKey, secretKey] of accepted) {
    await eventually(
      () => outcome(accessKey, secretKey),
      (answer) => answer === 'authenticated',
    );
  }
  expect(await outcome(REST.accessKey, OLD_KEY)).toBe('rejected');
  expect(hashesOf(await token(REST.name))).toEqual({
    accessKey: REST.accessKey,
    secretHash: hashSecretKey(REST.secretKey),
    previousHashes: [],
  });
});

it('keeps the Secrets, with which version 0.1 can be installed again, also when the token is rotated', async () => {
  const before = (await secret((await token(JOB.name)).spec.secretName!))?.metadata.uid;
  const annotate = ['-n', namespace, 'annotate', 'servicetokens.olapwarden.io', JOB.name, 'olapwarden.io/rotate-at=1'];
  // After an upgrade from 0.1 the admission policies know the second version some seconds later than the definitions.
  const annotated = await eventually(
    () => api.kubectl(annotate),
    ({ code, stderr }) => code === 0 || !stderr.includes('There can be a delay'),
  );
  expect(annotated.stderr).toBe('');
  const { spec } = await token(JOB.name);
  await eventually(
    async () => (await secret(spec.secretName!))?.metadata.uid,
    (uid) => uid !== undefined && uid !== before,
  );
  const fresh = readTokenSecret((await secret(spec.secretName!))!)!;
  expect(fresh.accessKey).toBe(JOB.accessKey);
  for (const secretKey of [fresh.secretKey, JOB.secretKey, OLD_KEY]) {
    await eventually(
      () => outcome(JOB.accessKey, secretKey),
      (answer) => answer === 'authenticated',
    );
  }
  for (const { name } of [JOB, REST]) expect(await secret(`${name}-hash`)).toBeDefined();
});
