import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildTokenSecret } from '../../../src/operator/tokens/token-secret.ts';
import type { Secret, ServiceToken } from '../../../src/resources/kinds.ts';
import { serviceToken } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { auditLogPath } from '../../support/kubernetes/programs.ts';
import { rawRequests, sendText, type RawRequests } from '../../support/kubernetes/raw-requests.ts';
import { eventually } from '../../support/operator.ts';

// Attempts with a stolen token of the operator to get at the content of Secrets, by every verb with every kind of body.
const NAMESPACE = 'olap';
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;
const SESSION_KEY = 'olap-warden-session-key';
const PASSWORD = 'top-secret-of-pinot';
const KEYS = { accessKey: 'a'.repeat(16), secretKey: 's'.repeat(32) };
const PART = { 'olapwarden.io/part': 'service-token-secret' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** No response, Event or line of the audit log may have one of these. */
const CONTENTS = [PASSWORD, base64(PASSWORD), KEYS.secretKey, base64(KEYS.secretKey)];
/** Secrets that the operator did not create, and the one that it may neither read nor delete afterwards. */
const FOREIGN = ['pinot-admin', 'labelled', SESSION_KEY];

// Its own control plane, because the rules are cluster-scoped and would affect other tests.
let api: ControlPlane;
let kubeconfig: string;
let admin: RawRequests;
let operator: RawRequests;
let own: Secret;

const secret = (name: string, fields: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  type: 'Opaque',
  ...fields,
});
/** A Secret as the operator creates it for the session keys. */
const sessionKey = (name: string, fields: object = {}): object =>
  secret(name, {
    metadata: { name, labels: { 'olapwarden.io/part': 'session-key' } },
    data: { keys: base64(PASSWORD) },
    ...fields,
  });

beforeAll(async () => {
  api = await startControlPlane({ auditLog: true });
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  kubeconfig = await api.serviceAccountKubeconfig(NAMESPACE, 'olap-warden-operator');
  await applyManifests(api);
  [admin, operator] = [rawRequests(api.kubeconfigPath, NAMESPACE), rawRequests(kubeconfig, NAMESPACE)];
  const data = { password: base64(PASSWORD) };
  // With a finalizer the response to a deletion is the object.
  const metadata = { finalizers: ['example.com/kept'] };
  const tokens = `/apis/olapwarden.io/v1beta1/namespaces/${NAMESPACE}/servicetokens`;
  const created = await admin.send('POST', tokens, serviceToken('owned', { secretName: 'owned-token' }));
  own = buildTokenSecret(created.body as ServiceToken, 'owned-token', KEYS);
  for (const object of [
    secret('pinot-admin', { data, metadata: { name: 'pinot-admin', ...metadata } }),
    secret('labelled', { data, metadata: { name: 'labelled', labels: PART, ...metadata } }),
    own,
  ])
    expect(await admin.send('POST', SECRETS, object)).toMatchObject({ ok: true });
  await eventually(
    () => operator.send('DELETE', `${SECRETS}/pinot-admin?dryRun=All`),
    ({ message }) => message.includes('olap-warden-secrets'),
  );
});
afterAll(async () => {
  await operator.close();
  await admin.close();
  await api.stop();
});

const TYPES = [
  'application/json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/json-patch+json',
  'application/apply-patch+yaml',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  undefined,
];
const QUERIES = [
  '',
  '?dryRun=All',
  '?dryRun=None',
  '?fieldValidation=Strict',
  '?fieldValidation=Warn',
  '?fieldValidation=Ignore&dryRun=All',
  '?fieldValidation=x',
  '?fieldManager=x&force=true',
  '?gracePeriodSeconds=x&propagationPolicy=y',
];
const bodiesFor = (name: string): string[] => [
  '',
  '{',
  'null',
  '[]',
  '{}',
  '"x"',
  '\u0000',
  '{"immutable":"x"}',
  '{"immutable":true,"immutable":7}',
  '{"data":1}',
  '{"data":{"password":7}}',
  '{"data":{"password":"not base64"}}',
  '{"stringData":[]}',
  '{"type":5,"unknown":{}}',
  '{"metadata":{"managedFields":[{"manager":1}]}}',
  '{"metadata":{"name":7,"labels":[]}}',
  '{"$patch":"replace","data":{"$retainKeys":1}}',
  '[{"op":"test","path":"/data/password","value":"x"}]',
  '[{"op":"copy","from":"/data/password","path":"/metadata/annotations/x"}]',
  '[{"op":"move","from":"/data","path":"/immutable"}]',
  '{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"x","resourceVersion":7}}',
  '{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"x"},"dryRun":["All"]}',
  '{"kind":"DeleteOptions","apiVersion":"v1","orphanDependents":true,"ignoreStoreReadErrorWithClusterBreakingPotential":true}',
  JSON.stringify(secret(name)),
  JSON.stringify(secret(name, { immutable: 'x', data: { x: 7 } })),
  JSON.stringify(secret(name, { metadata: { name, labels: PART, ownerReferences: own.metadata.ownerReferences } })),
];

/** Every verb on one Secret; the queries take turns, so that each meets every verb. */
async function responsesFor(name: string): Promise<string[]> {
  const paths = [`${SECRETS}/${name}`, SECRETS, `${SECRETS}/${name}/status`];
  const responses: string[] = [];
  const send = async (method: string, path: string, more: { contentType?: string; body?: string } = {}) =>
    responses.push(`${method} ${path}: ${(await sendText(kubeconfig, { method, path, ...more })).text}`);
  for (const path of paths)
    for (const query of ['', '?watch=1', `?fieldSelector=metadata.name%3D${name}&limit=1`, '?pretty=true'])
      await send('GET', path + query);
  let turn = 0;
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    for (const path of paths)
      for (const body of bodiesFor(name))
        for (const contentType of method === 'PATCH' || path === paths[0] ? TYPES : TYPES.slice(0, 1)) {
          const query = QUERIES[turn++ % QUERIES.length]!;
          await send(method, path + query, { body, ...(contentType === undefined ? {} : { contentType }) });
        }
  return responses;
}

describe('a stolen token of the operator', () => {
  it('creates the Secret of the session keys, and no other one like it', async () => {
    const type = 'kubernetes.io/service-account-token';
    const annotations = { 'kubernetes.io/service-account.name': 'olap-warden-operator' };
    const labels = { 'olapwarden.io/part': 'session-key' };
    const account = sessionKey(SESSION_KEY, { type, metadata: { name: SESSION_KEY, labels, annotations } });
    for (const { message } of [
      await operator.send('POST', SECRETS, sessionKey('other')),
      await operator.send('POST', SECRETS, account),
      await operator.send('POST', SECRETS, { ...secret('x'), metadata: { generateName: 'x-' } }),
    ])
      expect(message).toContain('olap-warden-secrets');
    expect(await operator.send('POST', SECRETS, sessionKey(SESSION_KEY))).toMatchObject({ ok: true });
  });

  it.each([...FOREIGN, 'owned-token'])('gets no content of Secret %s by any verb, body or option', async (name) => {
    const before = await admin.send('GET', `${SECRETS}/${name}`);
    const responses = await responsesFor(name);
    const found = responses.filter((text) => CONTENTS.some((content) => text.includes(content)));
    expect(found).toEqual([]);
    const after = await admin.send('GET', `${SECRETS}/${name}`);
    if (FOREIGN.includes(name)) expect(after.body).toEqual(before.body);
    const audit = await readFile(auditLogPath(api.description.directory), 'utf8');
    const events = JSON.stringify((await admin.send('GET', `/api/v1/namespaces/${NAMESPACE}/events`)).body);
    for (const content of CONTENTS) expect([audit.includes(content), events.includes(content)]).toEqual([false, false]);
    expect(audit.split('\n').length).toBeGreaterThan(responses.length);
  });

  it('cannot check a guess of a value', async () => {
    const guess = (value: string) =>
      operator.send(
        'PATCH',
        `${SECRETS}/pinot-admin`,
        [{ op: 'test', path: '/data/password', value }],
        'application/json-patch+json',
      );
    const [right, wrong] = [await guess(base64(PASSWORD)), await guess(base64('another'))];
    expect(right).toMatchObject({ ok: false, status: 403 });
    expect(wrong).toEqual(right);
  });
});
