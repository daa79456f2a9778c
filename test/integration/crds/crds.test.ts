import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CUSTOM_KINDS, KINDS, type CustomKind, type ResourceByKind } from '../../../src/resources/kinds.ts';
import { API_VERSION, GROUP } from '../../../src/resources/meta.ts';
import { validateResource } from '../../../src/resources/validate.ts';
import { sharedControlPlane, type CommandResult, type ControlPlaneClient } from '../../support/control-plane.ts';

const SAMPLES = join(import.meta.dirname, '../../../manifests/samples');

let api: ControlPlaneClient;
let namespace: string;

beforeAll(async () => {
  api = await sharedControlPlane();
  await api.applyCrds();
  namespace = await api.createNamespace('crds');
});

function kubectl(args: readonly string[], input?: object): Promise<CommandResult> {
  return api.kubectl(['-n', namespace, ...args], input ? { input: JSON.stringify(input) } : {});
}

describe('a real kube-apiserver', () => {
  it('establishes every kind without a warning about its schema', async () => {
    for (const kind of CUSTOM_KINDS) {
      const { stdout } = await kubectl(['get', 'crd', `${KINDS[kind].plural}.${GROUP}`, '-o', 'json']);
      const { status } = JSON.parse(stdout) as { status: { conditions: { type: string; status: string }[] } };
      const conditions = Object.fromEntries(status.conditions.map(({ type, status }) => [type, status]));
      expect(conditions, kind).toMatchObject({ Established: 'True', NamesAccepted: 'True' });
      expect(conditions['NonStructuralSchema'] ?? 'False', kind).toBe('False');
    }
  });

  it('accepts every sample', async () => {
    const samples = (await readdir(SAMPLES)).filter((name) => name.endsWith('.yaml'));
    expect(samples.length).toBeGreaterThanOrEqual(10);
    const applied = await kubectl(['apply', '-f', SAMPLES]);
    expect(applied.stderr).toBe('');
    expect(applied.stdout.trim().split('\n')).toHaveLength(samples.length);
  });

  it('lists them by category and short name, with their columns', async () => {
    const all = await kubectl(['get', 'olap', '-o', 'name']);
    for (const kind of CUSTOM_KINDS) expect(all.stdout).toContain(`${KINDS[kind].singular}.${GROUP}/`);
    for (const kind of CUSTOM_KINDS) {
      const { stdout } = await kubectl(['get', KINDS[kind].shortNames[0], '-o', 'wide']);
      const columns = KINDS[kind].printerColumns.map(({ name }) => name.toUpperCase());
      expect(
        stdout
          .split('\n')[0]
          ?.split(/ {2,}/)
          .map((name) => name.trim()),
      ).toEqual(['NAME', ...columns]);
    }
    expect((await kubectl(['get', 'roles.olapwarden.io'])).stdout).toMatch(/^analysts\s/m);
  });

  it('explains every field', async () => {
    const role = await kubectl(['explain', 'roles.olapwarden.io.spec']);
    expect(role.stdout).toContain('policies\t<[]string>');
    expect(role.stdout).toContain('Names of the policies of this role');
    const statements = await kubectl(['explain', 'policies.olapwarden.io.spec.statements']);
    expect(statements.stdout).toContain('enum: allow, deny');
  });

  it('names an unknown field', async () => {
    const bad = {
      ...manifest('Policy', 'p', { statements: [{ effect: 'allow', resources: ['*'], action: ['Query'] }] }),
    };
    expect((await kubectl(['apply', '-f', '-'], bad)).stderr).toContain('unknown field "spec.statements[0].action"');
  });
});

function manifest(kind: CustomKind, name: string, spec: object): object {
  return { apiVersion: API_VERSION, kind, metadata: { name }, spec };
}

const table = (resource: string): object => ({
  statements: [{ effect: 'allow', actions: ['Query'], resources: [resource] }],
});
const subject = (name: unknown, type = 'group'): object => ({ role: 'r', subjects: [{ type, name }] });

/**
 * Specs that both the kube-apiserver and validateResource() validate. Third: undefined if it is valid, otherwise a part of the
 * kube-apiserver's error.
 */
/** A valid mute with changes. */
const muted = (changes: object = {}) => ({
  id: 'm',
  entity: 'events_*',
  reason: 'planned',
  until: '2026-12-01T00:00:00Z',
  ...changes,
});

function many(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** A policy with one statement that has conditions. */
function part(conditions: unknown, fields: object = {}): object {
  const statement = { effect: 'allow', actions: ['Query'], resources: ['srn2:table#events'], conditions };
  return { statements: [{ ...statement, ...fields }] };
}

/** Statements with one filter each. */
function parts(count: number, length: number): object {
  const [statement] = (part({ rowFilters: [`a = '${'😀'.repeat(length - 6)}'`] }) as { statements: object[] })
    .statements;
  return { statements: many(count).map(() => statement) };
}

const TABLE: [CustomKind, object, string | undefined][] = [
  ['Policy', table('*'), undefined],
  ['Policy', table('srn2:table#events'), undefined],
  ['Policy', table('srn2:cluster#*:table#prod_*'), undefined],
  ['Policy', { statements: [{ resources: ['*'] }] }, undefined],
  ['Policy', table('table#events'), 'spec.statements[0].resources[0] in body should match'],
  ['Policy', table('srn2:table#a b'), 'should match'],
  ['Policy', table(`srn2:table#${'x'.repeat(1020)}`), 'Too long'],
  ['Policy', { statements: [] }, 'spec.statements in body should have at least 1 items'],
  ['Policy', {}, 'spec.statements: Required value'],
  ['Policy', { statements: [{ effect: 'permit', resources: ['*'] }] }, 'supported values: "allow", "deny"'],
  ['Policy', { statements: [{ effect: 'allow' }] }, 'spec.statements[0].resources: Required value'],
  ['Policy', { statements: [{ effect: 'allow', actions: ['Get Table'], resources: ['*'] }] }, 'should match'],
  ['Policy', { statements: [{ effect: 'allow', actions: ['x'.repeat(129)], resources: ['*'] }] }, 'Too long'],
  ['Policy', { description: 'x'.repeat(4097), ...table('*') }, 'Too long'],
  ['Policy', { description: '😀'.repeat(4096), ...table('*') }, undefined],
  ['Policy', part({ rowFilters: ["region = 'eu'"] }), undefined],
  ['Policy', part({ columns: { allow: ['a'], mask: { a: "''" } } }), undefined],
  ['Policy', part({ rowFilters: ['a = 1'], columns: { deny: ['a'] } }), undefined],
  ['Policy', part({}), '`conditions` must have `rowFilters`, `columns` or both'],
  ['Policy', part({ columns: {} }), '`columns` must have `allow` or `deny`'],
  ['Policy', part({ columns: { allow: ['a'], deny: ['b'] } }), 'which exclude each other'],
  ['Policy', part({ columns: { allow: ['t.a'] } }), 'should match'],
  ['Policy', part({ columns: { allow: ['$segmentName'] } }), 'should match'],
  ['Policy', part({ columns: { allow: Array.from({ length: 501 }, (_, at) => `c${at}`) } }), 'Too many'],
  ['Policy', part({ columns: { mask: Object.fromEntries(many(101).map((at) => [`c${at}`, '0'])) } }), 'Too many'],
  ['Policy', part({ rowFilters: [] }), 'should have at least 1 items'],
  ['Policy', part({ rowFilters: many(11).map((at) => `a = ${at}`) }), 'Too many'],
  ['Policy', part({ rowFilters: ['x'.repeat(4097)] }), 'Too long'],
  ['Policy', part({ rowFilters: ['a = 1', null] }), 'must be of type string'],
  [
    'Policy',
    part({ rowFilters: ['a = 1'] }, { effect: 'deny' }),
    'must have the effect `allow` and the single action `Query`',
  ],
  ['Policy', part({ rowFilters: ['a = 1'] }, { actions: ['query'] }), 'the single action `Query`'],
  ['Policy', part({ rowFilters: ['a = 1'] }, { actions: ['Query', 'GetSchema'] }), 'the single action `Query`'],
  ['Policy', part({ rowFilters: ['a = 1'] }, { actions: undefined }), 'the single action `Query`'],
  ['Policy', parts(16, 4096), undefined],
  ['Policy', parts(17, 4096), 'all filters and masks together may have at most 65536 characters'],
  ['Role', {}, undefined],
  ['Role', { policies: [] }, undefined],
  ['Role', { policies: ['a', 'b.c-d'] }, undefined],
  ['Role', { policies: ['a', 'a'] }, 'spec.policies[1]: Duplicate value: "a"'],
  ['Role', { policies: ['Data Engineers'] }, 'should match'],
  ['Role', { policies: [''] }, 'should be at least 1 chars long'],
  ['Role', { policies: 'a' }, 'must be of type array'],
  [
    'Role',
    { policies: Array.from({ length: 257 }, (_, index) => `p${index}`) },
    'Too many: 257: must have at most 256 items',
  ],
  ['RoleAssignment', subject('data'), undefined],
  ['RoleAssignment', subject('Ada Lovelace'), undefined],
  ['RoleAssignment', subject(' x'), 'should match'],
  ['RoleAssignment', subject('a\nb'), 'should match'],
  ['RoleAssignment', subject(''), 'should be at least 1 chars long'],
  ['RoleAssignment', subject(7), 'must be of type string'],
  ['RoleAssignment', subject('x', 'email'), 'supported values: "user-email", "group", "domain", "service-token"'],
  ['RoleAssignment', { role: 'r', subjects: [] }, 'should have at least 1 items'],
  ['RoleAssignment', { subjects: [{ type: 'group', name: 'x' }] }, 'spec.role: Required value'],
  [
    'RoleAssignment',
    {
      role: 'r',
      subjects: [
        { type: 'group', name: 'x' },
        { type: 'group', name: 'x' },
      ],
    },
    'spec.subjects[1]: Duplicate value',
  ],
  [
    'RoleAssignment',
    {
      role: 'r',
      subjects: [
        { type: 'group', name: 'x' },
        { type: 'domain', name: 'x.test' },
      ],
    },
    undefined,
  ],
  ['ServiceToken', {}, undefined],
  ['ServiceToken', { expiresAt: '2030-01-01T00:00:00Z' }, undefined],
  ['ServiceToken', { expiresAt: '2030-01-01T00:00:00.123+02:00' }, undefined],
  ['ServiceToken', { expiresAt: '2030-01-01' }, 'must be of type date-time'],
  ['ServiceToken', { expiresAt: '2030-01-01T00:00:00' }, 'must be of type date-time'],
  ['ServiceToken', { expiresAt: '2030-13-01T00:00:00Z' }, 'must be of type date-time'],
  ['ServiceToken', { expiresAt: 'tomorrow' }, 'must be of type date-time'],
  ['ServiceToken', { secretName: 'Up' }, 'should match'],
  ['ClusterHealthReport', {}, undefined],
  ['ClusterHealthReport', { interval: '1h30m' }, undefined],
  ['ClusterHealthReport', { schedule: '*/10 * * * *' }, undefined],
  ['ClusterHealthReport', { interval: '20' }, 'should match'],
  ['ClusterHealthReport', { interval: '60s' }, undefined],
  ['ClusterHealthReport', { interval: '0m60000ms' }, undefined],
  ['ClusterHealthReport', { interval: '1d' }, undefined],
  ['ClusterHealthReport', { interval: '0w20d' }, undefined],
  ['ClusterHealthReport', { interval: '59s' }, 'must be at least 1m'],
  ['ClusterHealthReport', { interval: '0d' }, 'must be at least 1m'],
  ['ClusterHealthReport', { interval: '0d59s999ms' }, 'must be at least 1m'],
  ['ClusterHealthReport', { schedule: '30 0 3 * * 1-5' }, undefined],
  ['ClusterHealthReport', { schedule: '0 3 L * MON#1' }, undefined],
  ['ClusterHealthReport', { schedule: 'every now and then' }, 'should match'],
  ['ClusterHealthReport', { schedule: '*/10 * * * * *' }, 'should match'],
  ['ClusterHealthReport', { schedule: '* * * * * * *' }, 'should match'],
  [
    'ClusterHealthReport',
    { interval: '20m', schedule: '*/10 * * * *' },
    'spec.interval and spec.schedule are mutually exclusive: set only one',
  ],
  ['ClusterHealthReport', { maxFindings: 0 }, 'should be greater than or equal to 1'],
  ['ClusterHealthReport', { maxFindings: 1.5 }, 'must be of type integer'],
  ['ClusterHealthReport', { thresholds: { SEGMENT_COUNT_CHECK: { maxSegments: 5.5 } } }, undefined],
  ['ClusterHealthReport', { thresholds: { SEGMENT_COUNT_CHECK: { maxSegments: 'many' } } }, 'must be of type number'],
  ['ClusterHealthReport', { disabledChecks: ['lower'] }, 'should match'],
  ['ClusterHealthReport', { mutes: [muted()] }, undefined],
  ['ClusterHealthReport', { mutes: [muted({ check: 'SEGMENT_*', entity: '*' })] }, undefined],
  ['ClusterHealthReport', { mutes: [muted({ entity: '*' })] }, 'a mute must name a check or an entity'],
  ['ClusterHealthReport', { mutes: [muted({ check: '*', entity: '*' })] }, 'a mute must name a check or an entity'],
  [
    'ClusterHealthReport',
    { mutes: [muted({ check: '*CHECK', entity: '*' })] },
    'a mute must name a check or an entity',
  ],
  ['ClusterHealthReport', { mutes: [muted({ check: '*_*', entity: '*_*' })] }, 'a mute must name a check or an entity'],
  ['ClusterHealthReport', { mutes: [muted({ check: '*_*', entity: '*_OFFLINE' })] }, undefined],
  ['ClusterHealthReport', { mutes: [muted({ check: '**', entity: '*' })] }, 'should match'],
  ['ClusterHealthReport', { mutes: [muted({ entity: '**' })] }, 'should match'],
  ['ClusterHealthReport', { mutes: [muted({ entity: 'a\nb' })] }, 'should match'],
  ['ClusterHealthReport', { mutes: [muted({ until: 'tomorrow' })] }, 'must be of type date-time'],
  ['ClusterHealthReport', { mutes: [muted({ until: undefined })] }, 'Required value'],
  ['ClusterHealthReport', { mutes: [muted(), muted()] }, 'Duplicate value'],
  ['ClusterHealthReport', { mutes: Array.from({ length: 101 }, (_, i) => muted({ id: `m-${i}` })) }, 'Too many'],
];

describe('the kube-apiserver and validateResource() agree on', () => {
  it.each(TABLE.map(([kind, spec, refusal]) => ({ kind, spec, refusal, shown: JSON.stringify(spec).slice(0, 100) })))(
    '$kind $shown',
    async ({ kind, spec, refusal }) => {
      const object = manifest(kind, 'table', spec);
      const answer = await kubectl(['create', '--dry-run=server', '-f', '-'], object);
      expect(answer.code === 0 ? undefined : answer.stderr).toEqual(
        refusal === undefined ? undefined : expect.stringContaining(refusal),
      );
      expect(validateResource(kind, object).ok).toBe(refusal === undefined);
    },
  );

  const BAD_NAME = 'must consist of lower-case letters, digits, `-` and `.`';
  it.each<[CustomKind, object, string]>([
    ['Role', { policies: ['Data Engineers'] }, BAD_NAME],
    ['RoleAssignment', { ...subject('a'), role: 'Up' }, BAD_NAME],
    ['RoleAssignment', subject(' x'), 'must not begin or end with a space'],
    ['ServiceToken', { secretName: 'Up' }, BAD_NAME],
    ['Policy', table('table#events'), 'must be `*` or a resource name such as `srn2:table#events`'],
    ['ClusterHealthReport', { schedule: 'now' }, 'must be a cron expression of five fields'],
    ['ClusterHealthReport', { deadline: '5 min' }, 'must be a duration such as `20m`'],
    ['ClusterHealthReport', { disabledChecks: ['lower'] }, 'must be the name of a check'],
    ['ClusterHealthReport', { mutes: [muted({ id: 'A' })] }, 'must consist of lower-case letters, digits and `-`'],
    ['ClusterHealthReport', { mutes: [muted({ check: '**' })] }, 'must be the name of a check'],
    ['ClusterHealthReport', { mutes: [muted({ entity: 'a\nb' })] }, 'must be the name of an entity in one line'],
  ])('%s %j is refused with the rule in words', async (kind, spec, words) => {
    const { stderr } = await kubectl(['create', '--dry-run=server', '-f', '-'], manifest(kind, 'words', spec));
    expect(stderr).toContain(words);
  });

  it.each([
    ['20', ['should match', 'must be a duration such as `20m`']],
    ['5x', ['should match', 'must be a duration such as `20m`']],
    ['59s', ['spec.interval must be at least 1m']],
    ['0d', ['spec.interval must be at least 1m']],
  ])('the interval %s is refused once, without an error of a rule', async (interval, said) => {
    const object = manifest('ClusterHealthReport', 'interval', { interval });
    const { stderr } = await kubectl(['create', '--dry-run=server', '-f', '-'], object);
    const causes = stderr.split('\n').filter((line) => line.includes('spec'));
    expect(causes).toEqual(said.map((text) => expect.stringContaining(text)));
  });

  const bearer = `svc-${'a'.repeat(16)}-${'b'.repeat(32)}`;
  /** What can never match, with a part of the error: only new entries are refused, so that stored ones stay in effect. */
  const NEVER: [CustomKind, object, string][] = [
    ['Policy', table('srn2:table#t_OFFLINE'), 'a table has its name without the type'],
    ['Policy', table('srn2:table#*_REALTIME'), 'a table has its name without the type'],
    ['Policy', table('srn2:table#default.*'), 'tables of the database `default` have no prefix'],
    ['Policy', table('srn2:user#ada'), 'no action exists on a user'],
    ['RoleAssignment', subject('*'), 'is no pattern in a subject'],
    ['RoleAssignment', subject('${group}'), 'is not replaced'],
    ['RoleAssignment', subject('srn2:group#g'), 'must be the name alone'],
    ['RoleAssignment', subject('system:serviceaccount:a:b'), 'use the type user-email'],
    ['RoleAssignment', subject('system:unauthenticated'), 'callers without a credential'],
    ...['@x.test', 'x.test.', 'https://x.test', 'a@x.test', 'x', 'x test'].map((name): [CustomKind, object, string] => [
      'RoleAssignment',
      subject(name, 'domain'),
      'must be the part of e-mail addresses after the `@`',
    ]),
    ...['a@x,b@x', 'Dev <dev@x>', '"a@x"', 'mailto:a@x', '@x.test', 'a%40x', 'a@x.'].map(
      (name): [CustomKind, object, string] => [
        'RoleAssignment',
        subject(name, 'user-email'),
        'must be one e-mail address',
      ],
    ),
    ['RoleAssignment', subject('system:masters', 'user-email'), 'use the type group'],
    ['RoleAssignment', subject('system:serviceaccount:a', 'user-email'), 'system:serviceaccount:<namespace>:<name>'],
    ['RoleAssignment', subject('A', 'service-token'), 'must be the access key'],
    ['RoleAssignment', subject(bearer, 'service-token'), 'a credential'],
  ];

  it.each(NEVER)(
    '%s %j never matches: refused by the kube-apiserver, kept where it is stored',
    async (kind, spec, why) => {
      const object = manifest(kind, 'never', spec);
      const { code, stderr } = await kubectl(['create', '--dry-run=server', '-f', '-'], object);
      expect([code, stderr]).toEqual([1, expect.stringContaining(why)]);
      expect(validateResource(kind, object).ok).toBe(true);
    },
  );

  it.each([
    subject('münchen.example', 'domain'),
    subject('Localhost', 'domain'),
    subject("o'brien@x.test", 'user-email'),
    subject('https://issuer.example#jane', 'user-email'),
    subject('system:serviceaccount:a:b.c', 'user-email'),
    subject('cn=a,ou=b'),
    subject('svc-reports', 'service-token'),
  ])('%j is accepted', async (spec) => {
    const { stderr } = await kubectl(
      ['create', '--dry-run=server', '-f', '-'],
      manifest('RoleAssignment', 'some', spec),
    );
    expect(stderr).toBe('');
  });

  const CHANGES: [CustomKind, object, object, string | undefined][] = [
    ['RoleAssignment', subject('a'), { ...subject('a'), role: 'other' }, 'spec.role is immutable'],
    ['RoleAssignment', subject('a'), subject('b'), undefined],
    ['ServiceToken', { secretName: 'a' }, { secretName: 'b' }, 'spec.secretName is immutable'],
    ['ServiceToken', { secretName: 'a' }, {}, 'spec.secretName is immutable'],
    ['ServiceToken', {}, { secretName: 'b' }, 'spec.secretName is immutable'],
    ['ServiceToken', { secretName: 'a' }, { secretName: 'a', description: 'x' }, undefined],
  ];

  it.each(CHANGES.map(([kind, before, after, refusal], index) => ({ kind, before, after, refusal, index })))(
    'change $index of a $kind',
    async ({ kind, before, after, refusal, index }) => {
      const [from, to] = [manifest(kind, `change-${index}`, before), manifest(kind, `change-${index}`, after)];
      expect((await kubectl(['create', '-f', '-'], from)).code).toBe(0);
      const answer = await kubectl(['replace', '-f', '-'], to);
      expect(answer.code === 0 ? undefined : answer.stderr).toEqual(
        refusal === undefined ? undefined : expect.stringContaining(refusal),
      );
      const ours = validateResource(kind, to, from as ResourceByKind[CustomKind]);
      expect(ours.ok).toBe(refusal === undefined);
      if (!ours.ok) expect(ours.errors[0]?.message).toContain(refusal);
    },
  );
});
