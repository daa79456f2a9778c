import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashSecretKey } from '../../../src/access/service-token.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { buildTokenSecret } from '../../../src/operator/tokens/token-secret.ts';
import type { ServiceToken } from '../../../src/resources/kinds.ts';
import { role, serviceToken } from '../../builders/resources.ts';
import { startControlPlane, type CommandResult, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { accountRights, documentedRights } from '../../support/kubernetes/rights-table.ts';
import { eventually } from '../../support/operator.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const ROOT = join(import.meta.dirname, '../../..');
const namespace = 'olap';
const ACCOUNTS = ['gateway', 'operator', 'sidecar'] as const;
const KEYS = { accessKey: 'a'.repeat(16), secretKey: 's'.repeat(32) };
const HASH = hashSecretKey('known to the attacker');

// Its own control plane, because the rules are cluster-scoped and would affect other tests.
let api: ControlPlane;
const kubeconfigs = { gateway: '', operator: '', sidecar: '' };
let owned: ServiceToken;

beforeAll(async () => {
  api = await startControlPlane({ controllerManager: true });
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', namespace]);
  for (const name of ACCOUNTS) {
    kubeconfigs[name] = await api.serviceAccountKubeconfig(namespace, `olap-warden-${name}`);
  }
  await applyManifests(api);
  await api.mustKubectl(['-n', namespace, 'apply', '-f', join(ROOT, 'manifests/sidecar/rbac.yaml')]);
  await asAdmin('create', 'secret', 'generic', 'pinot-admin', '--from-literal=password=top-secret');
  await asAdmin('create', 'secret', 'generic', 'labelled', '--from-literal=password=top-secret');
  await asAdmin('label', 'secret', 'labelled', 'olapwarden.io/part=other');
  await input('create', serviceToken('owned', { secretName: 'owned-token' }));
  await input('create', serviceToken('from-rest'));
  owned = JSON.parse(
    await asAdmin('get', 'servicetokens.v1beta1.olapwarden.io', 'owned', '-o', 'json'),
  ) as ServiceToken;
  await input('create', buildTokenSecret(owned, 'owned-token', KEYS));
  // The API server applies admission policies shortly after they are stored.
  await eventually(
    () => remove('pinot-admin'),
    ({ stderr }) => stderr.includes('olap-warden-secrets'),
  );
  await eventually(
    () => status('gateway', 'owned', { accessKey: KEYS.accessKey, secretHash: HASH }),
    ({ stderr }) => stderr.includes('olap-warden-token-hashes'),
  );
});
afterAll(() => api.stop());

async function asAdmin(...args: string[]): Promise<string> {
  return (await api.mustKubectl(['-n', namespace, ...args])).stdout;
}

async function input(verb: string, object: object): Promise<void> {
  await api.mustKubectl(['-n', namespace, verb, '-f', '-'], { input: JSON.stringify(object) });
}

/** What kubectl says with the stolen token. `--raw` requests do not need a right to read first. */
function attempt(account: (typeof ACCOUNTS)[number], ...args: string[]): Promise<CommandResult> {
  return api.kubectl(['-n', namespace, ...args], { kubeconfig: kubeconfigs[account] });
}

function send(account: (typeof ACCOUNTS)[number], verb: 'create' | 'replace', path: string, object: object) {
  return api.kubectl([verb, '--raw', path, '-f', '-'], {
    kubeconfig: kubeconfigs[account],
    input: JSON.stringify(object),
  });
}

const SECRETS = `/api/v1/namespaces/${namespace}/secrets`;
const TOKENS = `/apis/olapwarden.io/v1beta1/namespaces/${namespace}/servicetokens`;

/** Replaces the status of a ServiceToken by its current version. */
async function status(account: (typeof ACCOUNTS)[number], name: string, fields: object): Promise<CommandResult> {
  const current = JSON.parse(
    await asAdmin('get', 'servicetokens.v1beta1.olapwarden.io', name, '-o', 'json'),
  ) as ServiceToken;
  return send(account, 'replace', `${TOKENS}/${name}/status`, { ...current, status: { ...current.status, ...fields } });
}

/** A deletion with the operator's token. kubectl would read the object first. */
function remove(name: string): Promise<CommandResult> {
  return api.kubectl(['delete', '--raw', `${SECRETS}/${name}`], { kubeconfig: kubeconfigs.operator });
}

/** A PATCH with the operator's token. */
async function patch(name: string, body: object): Promise<CommandResult> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfigs.operator);
  const transport = new KubernetesTransport(() => config, { namespace });
  try {
    const contentType = 'application/merge-patch+json';
    const { body: answer } = await transport.request('PATCH', `${SECRETS}/${name}`, {
      body,
      contentType,
      timeoutMs: WAIT_LIMIT_MS,
    });
    return { code: 0, stdout: JSON.stringify(answer), stderr: '' };
  } catch (error) {
    return { code: 1, stdout: '', stderr: String(error) };
  } finally {
    await transport.close();
  }
}

function plainSecret(name: string, fields: object = {}): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type: 'Opaque', ...fields };
}

describe.each(ACCOUNTS)('the token of the %s', (account) => {
  it('has exactly the rights that SECURITY.md lists', async () => {
    const documented = documentedRights(await readFile(join(ROOT, 'SECURITY.md'), 'utf8'), account);
    expect(await accountRights(api, kubeconfigs[account], namespace)).toEqual(documented);
  });

  it.each(['get', 'list', 'watch'])('may not %s Secrets', async (verb) => {
    const { stdout } = await attempt(account, 'auth', 'can-i', verb, 'secrets/pinot-admin');
    expect(stdout.trim()).toBe('no');
  });

  it.each([
    ['create', 'serviceaccounts/token'],
    ['impersonate', 'serviceaccounts'],
    ['create', 'pods'],
    ['create', 'pods/exec'],
    ['create', 'rolebindings.rbac.authorization.k8s.io'],
    ['escalate', 'roles.rbac.authorization.k8s.io'],
    ['update', 'validatingadmissionpolicies.admissionregistration.k8s.io'],
    ['update', 'customresourcedefinitions.apiextensions.k8s.io'],
    ['create', 'subjectaccessreviews.authorization.k8s.io'],
  ])('may not %s %s', async (verb, resource) => {
    const [kind, subresource] = resource.split('/') as [string, string?];
    const { stdout } = await attempt(
      account,
      'auth',
      'can-i',
      verb,
      kind,
      ...(subresource ? [`--subresource=${subresource}`] : []),
    );
    expect(stdout.trim()).toBe('no');
  });
});

describe('the token of the operator', () => {
  it.each(['pinot-admin', 'labelled'])('does not delete Secret %s', async (name) => {
    expect((await remove(name)).stderr).toContain('olap-warden-secrets');
    expect(await asAdmin('get', 'secret', name, '-o', 'jsonpath={.data.password}')).toBe(btoa('top-secret'));
  });

  it('creates no Secret but one for a ServiceToken, and so gets no token of another account', async () => {
    const labels = { 'olapwarden.io/part': 'service-token-secret' };
    const { ownerReferences } = buildTokenSecret(owned, 'x', KEYS).metadata;
    const annotations = { 'kubernetes.io/service-account.name': 'olap-warden-gateway' };
    const type = 'kubernetes.io/service-account-token';
    const secrets = [
      plainSecret('s1'),
      plainSecret('s2', { metadata: { name: 's2', labels } }),
      plainSecret('s3', {
        metadata: { name: 's3', labels: { 'olapwarden.io/part': 'service-token' }, ownerReferences },
      }),
      plainSecret('s4', { metadata: { name: 's4', labels, annotations, ownerReferences }, type }),
    ];
    for (const secret of secrets)
      expect((await send('operator', 'create', SECRETS, secret)).stderr).toContain('olap-warden-secrets');
  });

  it('changes no Secret, also if it had the right', async () => {
    const verbs = '--verb=patch,update';
    await asAdmin('create', 'role', 'secret-writer', verbs, '--resource=secrets');
    const account = `--serviceaccount=${namespace}:olap-warden-operator`;
    await asAdmin('create', 'rolebinding', 'secret-writer', '--role=secret-writer', account);
    for (const name of ['owned-token', 'pinot-admin']) {
      const { stderr } = await eventually(
        () => patch(name, {}),
        (answer) => !answer.stderr.includes('cannot patch'),
      );
      expect(stderr).toContain('the operator may not change Secrets');
    }
    await asAdmin('delete', 'rolebinding', 'secret-writer');
  });

  it('deletes a Secret of a service token', async () => {
    expect(await remove('owned-token')).toMatchObject({ code: 0 });
  });
});

describe('the token of the gateway', () => {
  it('does not replace the hash of a token of the operator', async () => {
    const { stderr } = await status('gateway', 'owned', { accessKey: KEYS.accessKey, secretHash: HASH });
    expect(stderr).toContain('written by olap-warden');
  });

  it('writes hashes only of a token that REST has created, for its own access key: a first one, and at a rotation another one', async () => {
    const wrong = await status('gateway', 'from-rest', { accessKey: 'another', secretHash: HASH });
    expect(wrong.stderr).toContain('written by olap-warden');
    expect((await status('gateway', 'from-rest', { accessKey: 'from-rest', secretHash: HASH })).stderr).toBe('');
    const another = hashSecretKey('another');
    const former = (hash: string) => ({ previousHashes: [{ hash, validUntil: '2099-01-01T00:00:00Z' }] });
    const refused = [
      former(HASH),
      { secretHash: undefined },
      { accessKey: 'another', secretHash: another },
      { secretHash: another, ...former(hashSecretKey('unknown')) },
    ];
    for (const fields of refused)
      expect((await status('gateway', 'from-rest', fields)).stderr).toContain('written by olap-warden');
    expect((await status('gateway', 'from-rest', { secretHash: another, ...former(HASH) })).stderr).toBe('');
    expect((await status('gateway', 'from-rest', { secretHash: hashSecretKey('third') })).stderr).toBe('');
    expect((await status('gateway', 'from-rest', { state: 'Active' })).stderr).toBe('');
  });

  it('may make an administrator, as SECURITY.md says', async () => {
    expect((await attempt('gateway', 'auth', 'can-i', 'create', 'roleassignments.olapwarden.io')).stdout.trim()).toBe(
      'yes',
    );
  });
});

describe('the token of the sidecar', () => {
  it('changes no resource', async () => {
    const path = `/apis/olapwarden.io/v1beta1/namespaces/${namespace}/roles`;
    expect((await send('sidecar', 'create', path, role('mine'))).stderr).toContain('forbidden');
    expect((await status('sidecar', 'owned', { secretHash: HASH })).stderr).toContain('forbidden');
  });
});

describe('a user who may write the status of ServiceTokens', () => {
  it('does not write hashes', async () => {
    await asAdmin(
      'create',
      'role',
      'status-writer',
      '--verb=get,patch,update',
      '--resource=servicetokens.olapwarden.io/status,servicetokens.olapwarden.io',
    );
    await asAdmin('create', 'rolebinding', 'status-writer', '--role=status-writer', '--user=mallory');
    const patch = JSON.stringify({ status: { accessKey: KEYS.accessKey, secretHash: HASH } });
    const { stderr } = await api.kubectl(
      ['-n', namespace, 'patch', 'otoken', 'owned', '--subresource=status', '--type=merge', '-p', patch],
      { kubeconfig: await api.kubeconfig('mallory') },
    );
    expect(stderr).toContain('written by olap-warden');
    // In the object itself the API server drops the status.
    await input('create', { ...serviceToken('sent-with-status'), status: { accessKey: 'x', secretHash: HASH } });
    expect(await asAdmin('get', 'otoken', 'sent-with-status', '-o', 'jsonpath={.status.secretHash}')).toBe('');
  });
});
