import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildTokenSecret } from '../../../src/operator/tokens/token-secret.ts';
import type { ServiceToken } from '../../../src/resources/kinds.ts';
import { serviceToken } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { rawRequests, type RawAnswer, type RawRequests } from '../../support/kubernetes/raw-requests.ts';
import { eventually } from '../../support/operator.ts';

// Attempts with a stolen token of the operator to get at Secrets of others, by every kind of request that it may send.
const NAMESPACE = 'olap';
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;
const VALUE = Buffer.from('top-secret').toString('base64');
const KEYS = { accessKey: 'a'.repeat(16), secretKey: 's'.repeat(32) };
const PART = { 'olapwarden.io/part': 'service-token-secret' };
const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

// Its own control plane, because the rules are cluster-scoped and would affect other tests.
let api: ControlPlane;
let admin: RawRequests;
let operator: RawRequests;
let owners: unknown;

const secret = (name: string, fields: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  type: 'Opaque',
  ...fields,
});
const patch = (body: unknown, type: string, query = ''): Promise<RawAnswer> =>
  operator.send('PATCH', `${SECRETS}/pinot-admin${query}`, body, type);

beforeAll(async () => {
  api = await startControlPlane();
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  const kubeconfig = await api.serviceAccountKubeconfig(NAMESPACE, 'olap-warden-operator');
  await applyManifests(api);
  [admin, operator] = [rawRequests(api.kubeconfigPath, NAMESPACE), rawRequests(kubeconfig, NAMESPACE)];
  const stored = secret('pinot-admin', { data: { password: VALUE } });
  expect(await admin.send('POST', SECRETS, stored)).toMatchObject({ ok: true });
  const tokens = `/apis/olapwarden.io/v1beta1/namespaces/${NAMESPACE}/servicetokens`;
  const created = await admin.send('POST', tokens, serviceToken('owned', { secretName: 'owned-token' }));
  const marks = { rotateAt: undefined, rotatedAt: undefined };
  const own = buildTokenSecret(created.body as ServiceToken, 'owned-token', KEYS, marks);
  owners = own.metadata.ownerReferences;
  expect(await admin.send('POST', SECRETS, own)).toMatchObject({ ok: true });
  await eventually(
    () => patch({}, MERGE),
    ({ message }) => message.includes('olap-warden-secrets'),
  );
});
afterAll(async () => {
  await operator.close();
  await admin.close();
  await api.stop();
});

/** A Secret as the operator creates it for the session keys. */
const sessionKey = (name: string, fields: object = {}): object =>
  secret(name, {
    metadata: { name, labels: { 'olapwarden.io/part': 'session-key' } },
    data: { keys: VALUE },
    ...fields,
  });

const EDITS: [what: string, send: () => Promise<RawAnswer>][] = [
  ['an empty merge patch', () => patch({}, MERGE)],
  ['an empty strategic merge patch', () => patch({}, STRATEGIC)],
  ['an empty JSON patch', () => patch([], JSON_PATCH)],
  ['a dry run', () => patch({}, MERGE, '?dryRun=All')],
  ['a patch for the status', () => operator.send('PATCH', `${SECRETS}/pinot-admin/status`, {}, MERGE)],
  [
    'server-side apply',
    () =>
      patch(
        secret('pinot-admin', { metadata: { name: 'pinot-admin', labels: PART } }),
        APPLY,
        '?fieldManager=x&force=true',
      ),
  ],
  [
    'a value that is copied to an annotation',
    () =>
      patch(
        [
          { op: 'add', path: '/metadata/annotations', value: {} },
          { op: 'copy', from: '/data/password', path: '/metadata/annotations/x' },
        ],
        JSON_PATCH,
      ),
  ],
  ['the label and the owner of a token', () => patch({ metadata: { labels: PART, ownerReferences: owners } }, MERGE)],
  ['a generated name', () => operator.send('POST', SECRETS, { ...secret('x'), metadata: { generateName: 'x-' } })],
  ['a replacement', () => operator.send('PUT', `${SECRETS}/pinot-admin`, secret('pinot-admin'))],
  ['a deletion', () => operator.send('DELETE', `${SECRETS}/pinot-admin`)],
  [
    'a dry run of a deletion, which would return the object',
    () => operator.send('DELETE', `${SECRETS}/pinot-admin?dryRun=All`),
  ],
  ['a deletion of all', () => operator.send('DELETE', SECRETS)],
  ['a read as a table', () => operator.send('GET', `${SECRETS}/pinot-admin`)],
  ['a watch of one', () => operator.send('GET', `${SECRETS}?watch=1&fieldSelector=metadata.name%3Dpinot-admin`)],
];

describe('a stolen token of the operator', () => {
  it.each(EDITS)('does not get at the Secret of somebody else by %s', async (_what, send) => {
    const answer = await send();
    expect(answer).toMatchObject({ ok: false, body: undefined });
    expect(answer.message).toMatch(/olap-warden-secrets|is forbidden: User|could not find the requested resource/u);
    expect(answer.message).not.toContain(VALUE);
    const { body } = await admin.send('GET', `${SECRETS}/pinot-admin`);
    expect(body).toMatchObject({ data: { password: VALUE } });
    expect((body as { metadata: object }).metadata).not.toHaveProperty('labels');
  });

  it('can check a guess of a value, as SECURITY.md says, and gets no part of it', async () => {
    const guess = (value: string) => patch([{ op: 'test', path: '/data/password', value }], JSON_PATCH);
    const right = await guess(VALUE);
    const wrong = await guess(Buffer.from('top-guess').toString('base64'));
    expect([right.ok, wrong.ok]).toEqual([false, false]);
    expect(right.message).toContain('olap-warden-secrets');
    expect(wrong.message).not.toContain('olap-warden-secrets');
    expect(right.message + wrong.message).not.toContain(VALUE);
  });

  it('creates the Secret of the session keys, and cannot read, change or delete it', async () => {
    const name = 'olap-warden-session-key';
    const path = `${SECRETS}/${name}`;
    const other = await operator.send('POST', SECRETS, sessionKey('other'));
    const type = 'kubernetes.io/service-account-token';
    const annotations = { 'kubernetes.io/service-account.name': 'olap-warden-operator' };
    const labels = { 'olapwarden.io/part': 'session-key' };
    const account = sessionKey(name, { type, metadata: { name, labels, annotations } });
    for (const { message } of [other, await operator.send('POST', SECRETS, account)])
      expect(message).toContain('olap-warden-secrets');
    expect(await operator.send('POST', SECRETS, sessionKey(name))).toMatchObject({ ok: true });
    const applied = `${path}?fieldManager=x&force=true`;
    for (const answer of [
      await operator.send('GET', path),
      await operator.send('PATCH', path, {}, MERGE),
      await operator.send('PATCH', path, [], JSON_PATCH),
      await operator.send('PATCH', path, { metadata: { labels: PART, ownerReferences: owners } }, MERGE),
      await operator.send('PATCH', applied, { apiVersion: 'v1', kind: 'Secret', metadata: { name } }, APPLY),
      await operator.send('PUT', path, sessionKey(name)),
      await operator.send('DELETE', path),
    ])
      expect(answer).toMatchObject({ ok: false, body: undefined });
  });

  it('does not move its own Secret out of its reach, nor change the type', async () => {
    const own = (body: object) => operator.send('PATCH', `${SECRETS}/owned-token`, body, MERGE);
    for (const change of [
      { metadata: { labels: { 'olapwarden.io/part': 'other' } } },
      { metadata: { ownerReferences: [] } },
    ])
      expect((await own(change)).message).toContain('olap-warden-secrets');
    expect(await own({ type: 'kubernetes.io/service-account-token' })).toMatchObject({ ok: false });
    expect(await own({})).toMatchObject({ ok: true });
  });
});
