import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVED_VERSIONS, VERSION } from '../../../src/resources/meta.ts';
import { policy, role, roleAssignment, serviceToken } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { eventually } from '../../support/operator.ts';
import { rawRequests, type RawAnswer, type RawRequests } from '../../support/kubernetes/raw-requests.ts';

// Attempts of somebody who may write every kind, also its status, but has none of the verbs bind, assign and escalate.
const NAMESPACE = 'olap';
const BASE = `/apis/olapwarden.io/v1beta1/namespaces/${NAMESPACE}`;
const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const APPLY = 'application/apply-patch+yaml';

// Its own control plane, because the rules are cluster-scoped and would affect other tests.
let api: ControlPlane;
let admin: RawRequests;
let carol: RawRequests;

const everything = { effect: 'allow' as const, actions: ['*e*'], resources: ['*'] };
const query = { effect: 'allow' as const, actions: ['Query'], resources: ['srn2:table#events'] };
const carols = [{ type: 'user-email' as const, name: 'carol' }];
const tokens = [{ type: 'service-token' as const, name: 'machine' }];
const labelled = <T extends { readonly metadata: object }>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, labels: { set: 'attacked' } },
});
const unnamed = (object: { readonly metadata: object }): object => ({
  ...object,
  metadata: { generateName: 'generated-' },
});

/** What exists: `attached` is in `holder`, which `giver` assigns; `naming` and `future` refer to what does not exist. */
const OBJECTS = [
  labelled(policy('attached', { statements: [query] })),
  policy('other', { statements: [query] }),
  labelled(role('holder', { policies: ['attached'] })),
  role('naming', { policies: ['missing'] }),
  labelled(roleAssignment('giver', { role: 'holder', subjects: [{ type: 'user-email', name: 'ada' }] })),
  roleAssignment('future', { role: 'later', subjects: carols }),
  roleAssignment('of-token', { role: 'holder', subjects: [...tokens, { type: 'service-token', name: 'made-later' }] }),
  serviceToken('machine', { expiresAt: '2030-01-01T00:00:00Z' }),
];
const PLURALS = {
  Policy: 'policies',
  Role: 'roles',
  RoleAssignment: 'roleassignments',
  ServiceToken: 'servicetokens',
} as const;

beforeAll(async () => {
  api = await startControlPlane();
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  await applyManifests(api);
  await api.mustKubectl(['create', 'clusterrole', 'status', '--verb=update,patch', '--resource', statuses()]);
  for (const clusterRole of [`olap-warden-admin.${NAMESPACE}`, 'status'])
    await api.mustKubectl([
      'create',
      'clusterrolebinding',
      clusterRole,
      `--clusterrole=${clusterRole}`,
      '--user=carol',
    ]);
  admin = rawRequests(api.kubeconfigPath, NAMESPACE);
  carol = rawRequests(await api.kubeconfig('carol'), NAMESPACE);
  for (const object of OBJECTS)
    expect(await admin.send('POST', pathOf(object.kind), object)).toMatchObject({ ok: true });
  // As the operator writes it.
  for (const [path, referrer] of [
    ['policies/attached', 'holder'],
    ['roles/holder', 'giver'],
  ] as const) {
    const status = { status: { referencedBy: [referrer] } };
    expect(await admin.send('PATCH', `${BASE}/${path}/status`, status, MERGE)).toMatchObject({ ok: true });
  }
  // Rules are in force a moment after they are stored.
  const probes: [Parameters<RawRequests['send']>, string][] = [
    [['POST', `${BASE}/policies?dryRun=All`, policy('probe')], 'escalate on policies'],
    [['POST', `${BASE}/roles?dryRun=All`, role('probe', { policies: ['attached'] })], 'bind on each'],
    [['POST', `${BASE}/roleassignments?dryRun=All`, roleAssignment('probe')], 'assign on roles'],
    [['DELETE', `${BASE}/policies/attached?dryRun=All`], 'is attached to role'],
    [['DELETE', `${BASE}/roles/holder?dryRun=All`], 'is assigned in RoleAssignment'],
    [['POST', `${BASE}/servicetokens?dryRun=All`, serviceToken('made-later')], 'assign on servicetokens'],
    [['PATCH', `${BASE}/policies/attached?dryRun=All`, { metadata: { ownerReferences: owners } }, MERGE], 'owner'],
    [['PATCH', `${BASE}/servicetokens/machine/status?dryRun=All`, { status: { accessKey: 'k' } }, MERGE], 'written by'],
    [['PATCH', `${BASE}/roles/holder/status?dryRun=All`, { status: { referencedBy: [] } }, MERGE], 'written by'],
  ];
  for (const [request, refusal] of probes)
    await eventually(
      () => carol.send(...request),
      ({ message }) => message.includes(refusal),
    );
});
afterAll(async () => {
  await carol.close();
  await admin.close();
  await api.stop();
});

const statuses = (): string =>
  Object.values(PLURALS)
    .map((plural) => `${plural}.olapwarden.io/status`)
    .join(',');
const pathOf = (kind: string, name?: string): string =>
  [BASE, PLURALS[kind as keyof typeof PLURALS], name].filter((part) => part !== undefined).join('/');
const owners = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: '4dd4b0c4-0f3a-4a3f-9d51-3b9f8d0b6a11' }];
const apply = (name: string): string => `${name}?fieldManager=carol&force=true`;
const first = (path: string, value: unknown): object => [{ op: 'replace', path, value }];

type Attack = [what: string, request: Parameters<RawRequests['send']>, refusal: string];
const ESCALATE = 'you need the verb escalate on policies.olapwarden.io';
const BIND = 'you need the verb bind on each of these policies.olapwarden.io';
const ASSIGN = 'you need the verb assign on roles.olapwarden.io';
const ASSIGN_TOKEN = 'you need the verb assign on servicetokens.olapwarden.io';
const merge = (path: string, body: object): Parameters<RawRequests['send']> => [
  'PATCH',
  `${BASE}/${path}`,
  body,
  MERGE,
];
const post = (object: { readonly kind: string }, body: object = object): Parameters<RawRequests['send']> => [
  'POST',
  pathOf(object.kind),
  body,
];
const ATTACKS: Attack[] = [
  ['a glob as the action', post(policy('new', { statements: [everything] })), ESCALATE],
  ['a policy that a role names already', post(policy('missing', { statements: [query] })), ESCALATE],
  ['a generated name', post(policy('x'), unnamed(policy('x', { statements: [everything] }))), ESCALATE],
  ['an attached policy rewritten', merge('policies/attached', { spec: { statements: [everything] } }), ESCALATE],
  [
    'a statement added by JSON patch',
    ['PATCH', `${BASE}/policies/attached`, [{ op: 'add', path: '/spec/statements/-', value: everything }], JSON_PATCH],
    ESCALATE,
  ],
  [
    'one action of a statement',
    ['PATCH', `${BASE}/policies/attached`, first('/spec/statements/0/actions/0', '*'), JSON_PATCH],
    ESCALATE,
  ],
  [
    'a policy created by server-side apply',
    ['PATCH', `${BASE}/policies/${apply('new')}`, policy('new', { statements: [query] }), APPLY],
    ESCALATE,
  ],
  [
    'an attached policy by server-side apply',
    ['PATCH', `${BASE}/policies/${apply('attached')}`, policy('attached', { statements: [everything] }), APPLY],
    ESCALATE,
  ],
  ['a policy added to a role', merge('roles/holder', { spec: { policies: ['attached', 'other'] } }), BIND],
  ['a policy taken from a role', merge('roles/holder', { spec: { policies: [] } }), BIND],
  ['all of the spec taken away', merge('roles/holder', { spec: { policies: null } }), BIND],
  ['a role that an assignment names already', post(role('later', { policies: ['other'] })), BIND],
  ['a role with a generated name', post(role('x'), unnamed(role('x', { policies: ['other'] }))), BIND],
  [
    'a policy of a role by server-side apply',
    ['PATCH', `${BASE}/roles/${apply('holder')}`, role('holder', { policies: ['other'] }), APPLY],
    BIND,
  ],
  ['a subject added', merge('roleassignments/giver', { spec: { subjects: carols } }), ASSIGN],
  [
    'a subject added by server-side apply',
    [
      'PATCH',
      `${BASE}/roleassignments/${apply('giver')}`,
      roleAssignment('giver', { role: 'holder', subjects: carols }),
      APPLY,
    ],
    ASSIGN,
  ],
  ['an assignment moved to another role', merge('roleassignments/future', { spec: { role: 'holder' } }), 'immutable'],
  ['an assignment', post(roleAssignment('new', { role: 'holder', subjects: carols })), ASSIGN],
  [
    'an assignment with a generated name',
    post(roleAssignment('x'), unnamed(roleAssignment('x', { role: 'holder', subjects: carols }))),
    ASSIGN,
  ],
  ['an assignment deleted', ['DELETE', `${BASE}/roleassignments/giver`], ASSIGN],
  [
    'a policy in use deleted',
    ['DELETE', `${BASE}/policies/attached?propagationPolicy=Foreground`],
    'is attached to role',
  ],
  ['a role in use deleted', ['DELETE', `${BASE}/roles/holder?gracePeriodSeconds=0`], 'is assigned in RoleAssignment'],
  ...['policies', 'roles', 'roleassignments'].map((plural): Attack => {
    const request: Attack[1] = ['DELETE', `${BASE}/${plural}?labelSelector=set%3Dattacked`];
    return [`all ${plural} with a label deleted`, request, 'olap-warden-'];
  }),
  ['a service token that an assignment names', post(serviceToken('made-later')), ASSIGN_TOKEN],
  ['the expiry of an assigned token', merge('servicetokens/machine', { spec: { expiresAt: null } }), ASSIGN_TOKEN],
  [
    'the references to a policy',
    merge('policies/attached/status', { status: { referencedBy: [] } }),
    'status.referencedBy is written by olap-warden',
  ],
  [
    'the references to a role',
    merge('roles/holder/status', { status: { referencedBy: null } }),
    'status.referencedBy is written by olap-warden',
  ],
  [
    'the hash of a known secret key',
    merge('servicetokens/machine/status', { status: { accessKey: 'machine', secretHash: `sha256:${'0'.repeat(64)}` } }),
    'written by olap-warden',
  ],
  ['an owner of a policy', merge('policies/attached', { metadata: { ownerReferences: owners } }), 'verb bind'],
  [
    'an owner of an assignment',
    merge('roleassignments/giver', { metadata: { ownerReferences: owners } }),
    'verb assign',
  ],
  [
    'the mark that lets the last administrator be deleted',
    merge('roleassignments/giver', { metadata: { annotations: { 'olapwarden.io/deletion': 'allowed' } } }),
    ASSIGN,
  ],
];

/** The request in another version of the API. */
function inVersion(
  [method, path, body, type]: Parameters<RawRequests['send']>,
  version: string,
): Parameters<RawRequests['send']> {
  const changed = (text: string): string => text.replaceAll(`olapwarden.io/${VERSION}`, `olapwarden.io/${version}`);
  return [
    method,
    changed(path),
    body === undefined ? body : (JSON.parse(changed(JSON.stringify(body))) as object),
    type,
  ];
}

interface StoredObject {
  readonly metadata: { readonly name: string; readonly ownerReferences?: object };
  readonly spec: object;
  readonly status?: { readonly referencedBy?: readonly string[] };
}

/** What decides access: everything but the metadata and what the server writes. */
async function state(): Promise<object> {
  const lists = await Promise.all(
    Object.values(PLURALS).map(async (plural) => {
      const { body } = await admin.send('GET', `${BASE}/${plural}`);
      const { items } = body as { items: StoredObject[] };
      return items.map(({ metadata, spec, status }) => [
        plural,
        metadata.name,
        metadata.ownerReferences ?? [],
        spec,
        status?.referencedBy ?? null,
      ]);
    }),
  );
  return lists;
}

describe('without the verbs bind, assign and escalate', () => {
  it.each(
    SERVED_VERSIONS.flatMap((version) => ATTACKS.map(([what, ...attack]) => [what, version, ...attack] as const)),
  )('%s is refused in %s', async (_what, version, request, refusal) => {
    const before = await state();
    const answer = await carol.send(...inVersion(request, version));
    expect(answer).toMatchObject({ ok: false, message: expect.stringContaining(refusal) });
    expect([403, 422]).toContain(answer.status);
    expect(await state()).toEqual(before);
  });

  const STATUS_WRITES: [what: string, path: string, body: object][] = [
    ['statements', 'policies/attached', { spec: { statements: [everything] } }],
    ['policies', 'roles/holder', { spec: { policies: ['other'] } }],
    ['subjects', 'roleassignments/giver', { spec: { subjects: carols } }],
    ['the expiry', 'servicetokens/machine', { spec: { expiresAt: null } }],
    ['an owner', 'policies/attached', { metadata: { ownerReferences: owners } }],
    ['labels', 'roles/holder', { metadata: { labels: { set: 'other' } } }],
  ];
  it.each(STATUS_WRITES)('%s cannot be written through the status', async (_what, path, body) => {
    const before = await state();
    const written: RawAnswer = await carol.send('PATCH', `${BASE}/${path}/status`, body, MERGE);
    expect(written).toMatchObject({ ok: true });
    expect(await state()).toEqual(before);
    expect((written.body as { metadata: { labels?: object } }).metadata.labels ?? {}).not.toMatchObject({
      set: 'other',
    });
  });

  it.each([
    ['policies/attached', { metadata: { labels: { team: 'data' }, annotations: { note: 'x' } } }],
    ['roles/holder', { spec: { description: 'x' } }],
    ['roleassignments/giver', { metadata: { labels: { team: 'data' } } }],
    ['servicetokens/machine', { spec: { description: 'x', expiresAt: '2029-01-01T00:00:00Z' } }],
  ])('what grants nothing is written: %s %j', async (path, body) => {
    expect(await carol.send(...merge(path, body))).toMatchObject({ ok: true });
  });
});
