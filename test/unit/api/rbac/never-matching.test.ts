import { beforeAll, describe, expect, it } from 'vitest';
import type { SubjectType } from '../../../../src/resources/role-assignment.ts';
import { policy, role, roleAssignment, statement } from '../../../builders/resources.ts';
import { inPath, testGateway } from './gateway.ts';

// A statement or a subject that can never match is refused, because a deny for it would silently do nothing.

type Call = Awaited<ReturnType<typeof testGateway>>['call'];
let call: Call;

beforeAll(async () => {
  const gateway = await testGateway();
  gateway.store.seed(role('r'));
  ({ call } = gateway);
});

let written = 0;
const write = (statements: object[]) =>
  call('POST', '/policies', { name: `p${written++}`, policyDocument: { version: 'v1', statements } });

/** Resources that nothing has, each with what was meant; undefined where that is not known. */
const RESOURCES: readonly (readonly [resource: string, meant: string | undefined])[] = [
  // Levels that no resource has.
  ['srn2:cluster#pinot:policy#*', 'srn2:policy#*'],
  ['srn2:cluster#*:role#*', 'srn2:role#*'],
  ['srn2:cluster#pinot:role#team-a-*', 'srn2:role#team-a-*'],
  ['srn2:cluster#pinot:service-token#*', 'srn2:service-token#*'],
  ['srn2:environment#olap:cluster#pinot:policy#p', 'srn2:environment#olap:policy#p'],
  ['srn2:role#x:policy#y', 'srn2:policy#y'],
  ['srn2:policy#x:role#y', 'srn2:role#y'],
  ['srn2:role#x:service-token#y', 'srn2:service-token#y'],
  ['srn2:table#t:cluster#pinot', 'srn2:cluster#pinot:table#t'],
  ['srn2:cluster#pinot:environment#olap', 'srn2:environment#olap:cluster#pinot'],
  ['srn2:table#t:environment#olap', 'srn2:environment#olap:table#t'],
  ['srn2:role#r:environment#olap', 'srn2:environment#olap:role#r'],
  ['srn2:table#a:table#b', 'srn2:table#b'],
  ['srn2:cluster#a:cluster#b', 'srn2:cluster#b'],
  ['srn2:cluster#a:environment#b:table#c', 'srn2:table#c'],
  ['srn2:role#a:table#b', 'srn2:table#b'],
  ['srn2:policy#a:table#b', 'srn2:table#b'],
  ['srn2:user#a:table#b', 'srn2:table#b'],
  ['srn2:table#a:role#b', 'srn2:role#b'],
  ['srn2:environment#a:environment#b', 'srn2:environment#b'],
  ['srn2:cluster#*:cluster#*:table#*', 'srn2:cluster#*:table#*'],
  ['srn2:environment#*:cluster#*:table#*:table#*', 'srn2:environment#*:cluster#*:table#*'],
  ['srn2:cluster#*:user#*', 'srn2:user#*'],
  // Names that tables do not have.
  ['srn2:table#*_OFFLINE', 'srn2:table#*'],
  ['srn2:table#*_REALTIME', 'srn2:table#*'],
  ['srn2:table#t_OFFLINE', 'srn2:table#t'],
  ['srn2:table#t_REALTIME', 'srn2:table#t'],
  ['srn2:table#sales.deals_OFFLINE', 'srn2:table#sales.deals'],
  ['srn2:cluster#pinot:table#t_OFFLINE', 'srn2:cluster#pinot:table#t'],
  ['srn2:environment#olap:cluster#*:table#prod_*_REALTIME', 'srn2:environment#olap:cluster#*:table#prod_*'],
  ['srn2:table#default.*', 'srn2:table#*'],
  ['srn2:table#default.orders', 'srn2:table#orders'],
  ['srn2:table#DEFAULT.orders', 'srn2:table#orders'],
  ['srn2:table#Default.o*', 'srn2:table#o*'],
  ['srn2:cluster#pinot:table#default.*', 'srn2:cluster#pinot:table#*'],
  ['srn2:table#"orders"', 'srn2:table#orders'],
  ['srn2:table#"sales"."deals"', 'srn2:table#sales.deals'],
  ['srn2:table#`orders`', 'srn2:table#orders'],
  ["srn2:table#'orders'", 'srn2:table#orders'],
  ['srn2:table#orders,customers', undefined],
  ['srn2:table#orders;customers', undefined],
  // Variables.
  ['srn2:table#${user}_*', undefined],
  ['srn2:table#${user}', undefined],
  ['srn2:table#${aws.username}_*', undefined],
  ['srn2:role#${group}-*', undefined],
  ['srn2:policy#${team}', undefined],
  ['srn2:cluster#${cluster}:table#*', undefined],
  ['srn2:environment#${env}:*#*', undefined],
  // Names that objects of Kubernetes do not have.
  ['srn2:role#Team-*', 'srn2:role#team-*'],
  ['srn2:role#TEAM', 'srn2:role#team'],
  ['srn2:role#team_a', 'srn2:role#team-a'],
  ['srn2:role#team_*', 'srn2:role#team-*'],
  ['srn2:role#team/a', 'srn2:role#team-a'],
  ['srn2:role#-team', 'srn2:role#team'],
  ['srn2:role#team-', 'srn2:role#team'],
  ['srn2:role#-*', 'srn2:role#*'],
  ['srn2:role#*-', 'srn2:role#*'],
  ['srn2:role#.team', 'srn2:role#team'],
  ['srn2:role#a..b', undefined],
  ['srn2:role#a+b', 'srn2:role#a-b'],
  ['srn2:role#ä', undefined],
  [`srn2:role#${'a'.repeat(254)}`, undefined],
  [`srn2:policy#${'a'.repeat(200)}*${'b'.repeat(54)}`, undefined],
  ['srn2:policy#Read', 'srn2:policy#read'],
  ['srn2:policy#read_*', 'srn2:policy#read-*'],
  ['srn2:policy#read@home', 'srn2:policy#read-home'],
  ['srn2:policy#*Admin', 'srn2:policy#*admin'],
  ['srn2:environment#olap:policy#Read', 'srn2:environment#olap:policy#read'],
  ['srn2:service-token#AKIA', 'srn2:service-token#akia'],
  ['srn2:service-token#my_token', 'srn2:service-token#my-token'],
  ['srn2:environment#olap:role#Team', 'srn2:environment#olap:role#team'],
  ['srn2:role#rôle', 'srn2:role#r-le'],
  // Kinds on which no action exists.
  ['srn2:user#ada@example.com', undefined],
  ['srn2:user#*', undefined],
  ['srn2:environment#olap:user#*', undefined],
  ['srn2:environment#olap', 'srn2:environment#olap:*#*'],
  ['srn2:environment#*', 'srn2:environment#*:*#*'],
  ['srn2:env*#olap', undefined],
  ['srn2:us*#*', undefined],
  ['srn2:table#"a"."b"_OFFLINE', 'srn2:table#a.b_OFFLINE'],
  ['srn2:table#default.orders_OFFLINE', 'srn2:table#default.orders'],
  ['srn2:cluster#*:table#"t"', 'srn2:cluster#*:table#t'],
];

describe('a resource that nothing has', () => {
  it('is one of at least 80', () => {
    expect(new Set(RESOURCES.map(([resource]) => resource)).size).toBeGreaterThanOrEqual(80);
  });

  it.each(RESOURCES)('%s is refused with what is right: %s', async (resource, meant) => {
    for (const effect of ['allow', 'deny']) {
      const { status, body } = await write([{ effect, actions: ['*'], resources: ['srn2:table#x', resource] }]);
      expect([status, body.message]).toEqual([
        400,
        expect.stringContaining('`policyDocument`: statements[0].resources[1]: '),
      ]);
      expect(body.message).toContain('never matches');
      if (meant === undefined) expect(body.message).not.toContain('did you mean');
      else expect(body.message).toContain(`did you mean \`${meant}\``);
    }
  });
});

describe('a resource that something has', () => {
  it.each([
    '*',
    'srn2:*#*',
    'srn2:**#**',
    'srn2:table#*',
    'srn2:table#orders',
    'srn2:table#Orders',
    'srn2:table#*_offline',
    'srn2:table#OFFLINE',
    'srn2:table#defaults.x',
    'srn2:table#default_orders',
    'srn2:table#*.*',
    'srn2:table#sales.*',
    'srn2:table#$user',
    'srn2:tab*#*',
    'srn2:cluster#*',
    'srn2:cluster#Main_OFFLINE',
    'srn2:cluster#*:*#*',
    'srn2:cluster#pinot:table#t',
    'srn2:environment#*:*#*',
    'srn2:environment#olap:cluster#pinot',
    'srn2:environment#olap:role#a.b-c',
    'srn2:role#*',
    'srn2:policy#team-*-x.*',
    'srn2:service-token#abc123',
  ])('%s is accepted', async (resource) => {
    const { status, body } = await write([{ effect: 'allow', actions: ['*'], resources: [resource] }]);
    expect([status, body.message]).toEqual([200, undefined]);
  });
});

describe('an action that does not exist on a resource of its statement', () => {
  it.each([
    ['GetHealth', ['srn2:table#*'], 'srn2:cluster#*'],
    ['GetRole', ['srn2:table#orders'], 'srn2:role#*'],
    ['GetSize', ['srn2:cluster#*'], 'srn2:table#*'],
    ['UpdateHealth', ['srn2:table#*'], 'srn2:cluster#*'],
    ['CreateTenant', ['srn2:table#*', 'srn2:role#r'], 'srn2:cluster#*'],
    ['AttachPolicy', ['srn2:policy#*'], 'srn2:role#*'],
    ['BindPolicy', ['srn2:role#*'], 'srn2:policy#*'],
    ['AssignRole', ['srn2:policy#*'], 'srn2:role#*'],
    ['EscalatePolicy', ['srn2:role#*'], 'srn2:policy#*'],
    ['SimulateAccess', ['srn2:role#*'], 'srn2:cluster#*'],
    ['GetServiceToken', ['srn2:role#*'], 'srn2:service-token#*'],
    ['*Assignment', ['srn2:policy#*', 'srn2:table#*'], 'srn2:role#*'],
    ['Query', ['srn2:role#*'], 'srn2:table#*'],
    ['GetTenant', ['srn2:environment#*:role#*'], 'srn2:cluster#*'],
  ])('%s on %j is refused with %s', async (action, resources, meant) => {
    const { status, body } = await write([{ effect: 'allow', actions: [action], resources }]);
    expect([status, body.message]).toEqual([
      400,
      expect.stringContaining(`statements[0].actions[0]: \`${action}\` exists on `),
    ]);
    expect(body.message).toContain(`did you mean \`${meant}\`?`);
  });

  it('is accepted as a pattern as soon as one action exists, and where one resource has it', async () => {
    const accepted = [
      { actions: ['Get*'], resources: ['srn2:table#*'] },
      { actions: ['*'], resources: ['srn2:service-token#*'] },
      { resources: ['srn2:role#*'] },
      { actions: ['*Role', '*Policy', '*Assignment'], resources: ['srn2:role#a-*', 'srn2:policy#a-*'] },
      { actions: ['Query', 'GetHealth'], resources: ['srn2:table#*', 'srn2:cluster#*'] },
      { actions: ['GetHealth'], resources: ['*'] },
    ];
    for (const one of accepted)
      expect((await write([{ effect: 'allow', ...one }])).status, JSON.stringify(one)).toBe(200);
  });

  it('makes a resource useless on which no other action exists', async () => {
    const { body } = await write([{ effect: 'deny', actions: ['Query'], resources: ['srn2:table#*', 'srn2:role#r'] }]);
    expect(body.message).toContain('statements[0].resources[1]: no action of the statement exists on a role');
  });

  it('is a warning where only few calls ask for it', async () => {
    const onCluster = await write([{ effect: 'deny', actions: ['Query'], resources: ['srn2:cluster#*'] }]);
    expect([onCluster.status, onCluster.body.warnings]).toEqual([
      200,
      [
        '`statements[0].actions[0]`: on the cluster only calls that name no table ask for `Query`; did you mean `srn2:table#*`?',
      ],
    ]);
    const onTable = await write([{ effect: 'deny', actions: ['UpdateZnode'], resources: ['srn2:table#*'] }]);
    expect([onTable.status, onTable.body.warnings]).toEqual([
      200,
      [expect.stringContaining('calls on the cluster that name the table')],
    ]);
  });

  it('creates service tokens of all names only', async () => {
    const { status, body } = await write([
      { effect: 'allow', actions: ['CreateServiceToken'], resources: ['srn2:service-token#a-*'] },
    ]);
    expect([status, body.message]).toEqual([400, expect.stringContaining('write it on `srn2:service-token#*`')]);
  });
});

const BEARER = `svc-${'a'.repeat(16)}-${'b'.repeat(32)}`;

/** Subjects that no caller is, each with what was meant: another name, or a name of another type. */
const SUBJECTS: readonly (readonly [type: SubjectType, name: string, meant: string | undefined])[] = [
  ['domain', '@x.test', 'x.test'],
  ['domain', '*.x.test', 'x.test'],
  ['domain', '*@x.test', 'x.test'],
  ['domain', 'a@x.test', 'x.test'],
  ['domain', 'x.test.', 'x.test'],
  ['domain', '.x.test', 'x.test'],
  ['domain', 'https://x.test', 'x.test'],
  ['domain', 'https://x.test/', 'x.test'],
  ['domain', 'http://mail.x.test/login', 'mail.x.test'],
  ['domain', 'x.test/', 'x.test'],
  ['domain', 'x.test:443', 'x.test'],
  ['domain', 'x', undefined],
  ['domain', 'intranet', undefined],
  ['domain', '*', undefined],
  ['domain', 'x.test,y.test', undefined],
  ['domain', 'x.test y.test', undefined],
  ['domain', 'x..test', undefined],
  ['domain', '-x.test', undefined],
  ['domain', 'x-.test', undefined],
  ['domain', '<x.test>', undefined],
  ['domain', '${domain}', undefined],
  ['domain', 'srn2:domain#x.test', 'x.test'],
  ['domain', 'x.test;', undefined],
  ['domain', '"x.test"', undefined],
  ['user-email', 'a@x.test,b@x.test', undefined],
  ['user-email', 'a@x,b@x', undefined],
  ['user-email', 'a@x.test, b@x.test', undefined],
  ['user-email', 'a@x.test;b@x.test', undefined],
  ['user-email', 'a@x.test b@x.test', undefined],
  ['user-email', '*', undefined],
  ['user-email', '*@x.test', 'x.test'],
  ['user-email', 'a*@x.test', 'x.test'],
  ['user-email', 'Dev <dev@x.test>', 'dev@x.test'],
  ['user-email', 'Dev <dev@x>', 'dev@x'],
  ['user-email', '<dev@x.test>', 'dev@x.test'],
  ['user-email', '"Dev" <dev@x.test>', 'dev@x.test'],
  ['user-email', "'dev@x.test'", 'dev@x.test'],
  ['user-email', '"dev@x.test"', 'dev@x.test'],
  ['user-email', 'mailto:dev@x.test', 'dev@x.test'],
  ['user-email', 'MAILTO:dev@x.test', 'dev@x.test'],
  ['user-email', 'dev%40x.test', 'dev@x.test'],
  ['user-email', 'dev@x.test.', 'dev@x.test'],
  ['user-email', '@x.test', 'x.test'],
  ['user-email', 'dev@', undefined],
  ['user-email', '@', undefined],
  ['user-email', '${user}@x.test', undefined],
  ['user-email', 'srn2:user#dev@x.test', 'dev@x.test'],
  ['user-email', 'system:masters', 'system:masters'],
  ['user-email', 'system:authenticated', 'system:authenticated'],
  ['user-email', 'system:unauthenticated', undefined],
  ['user-email', 'system:anonymous', undefined],
  ['user-email', 'system:serviceaccounts', 'system:serviceaccounts'],
  ['user-email', 'system:serviceaccounts:olap', 'system:serviceaccounts:olap'],
  ['user-email', 'system:serviceaccount:olap', undefined],
  ['user-email', 'system:serviceaccount::app', undefined],
  ['user-email', 'system:serviceaccount:olap:app:x', undefined],
  ['group', '*', undefined],
  ['group', 'contractors-*', undefined],
  ['group', '${group}', undefined],
  ['group', 'srn2:group#contractors', 'contractors'],
  ['group', 'system:serviceaccount:olap:app', 'system:serviceaccount:olap:app'],
  ['group', 'system:unauthenticated', undefined],
  ['service-token', 'Abc', undefined],
  ['service-token', '*', undefined],
  ['service-token', 'a b', undefined],
  ['service-token', 'my_token', undefined],
  ['service-token', BEARER, undefined],
  ['service-token', 'srn2:service-token#abc', 'abc'],
];

const assign = (subjectType: string, subject: string) =>
  call('POST', `/roles/${inPath('role', 'r')}/create-assignment`, { subject, subjectType });

describe('a subject that no caller is', () => {
  it('is one of at least 60', () => {
    expect(SUBJECTS.length).toBeGreaterThanOrEqual(60);
  });

  it.each(SUBJECTS)('%s %s is refused with what is right: %s', async (type, name, meant) => {
    const { status, body } = await assign(type, name);
    expect([status, body.message]).toEqual([400, expect.stringMatching(/^`subject`: (`.+`|the value) \S/)]);
    if (meant === undefined) expect(body.message).not.toContain('did you mean');
    else expect(body.message).toContain(`did you mean \`${meant}\``);
    expect(body.message).not.toContain(BEARER);
    expect(body.message).not.toMatch(/must match|\^/);
  });

  it.each([
    ['user-email', 'ada@example.com'],
    ['user-email', "o'brien@example.com"],
    ['user-email', 'a+b@example.com'],
    ['user-email', 'admin@localhost'],
    ['user-email', 'jane doe'],
    ['user-email', 'auth0|5f7c'],
    ['user-email', 'https://issuer.example#jane'],
    ['user-email', 'oidc:ann@example.com'],
    ['user-email', 'system:serviceaccount:olap:app.v1'],
    ['user-email', 'system:node:n1'],
    ['domain', 'example.com'],
    ['domain', 'Example.COM'],
    ['domain', 'localhost'],
    ['domain', 'münchen.example'],
    ['domain', 'a_b.example.com'],
    ['group', 'Data Engineers'],
    ['group', 'cn=admins,ou=groups,dc=example'],
    ['group', 'team@example.com'],
    ['group', '[internal]'],
    ['group', 'system:serviceaccounts:olap'],
  ])('but %s %s may be one', async (type, name) => {
    expect((await assign(type, name)).status).toBe(200);
  });
});

describe('what an earlier version has stored', () => {
  const NEVER = statement({ effect: 'deny', actions: ['Query'], resources: ['srn2:table#t_OFFLINE'] });
  const stored = () => policy('old', { statements: [NEVER] });

  it('stays in a policy that is written for other reasons, with a warning', async () => {
    const gateway = await testGateway();
    gateway.store.seed(stored());
    const path = `/policies/${inPath('policy', 'old')}`;
    const warning = expect.stringMatching(/^`statements\[0\].resources\[0\]`: `srn2:table#t_OFFLINE` never matches/);
    const described = await gateway.call('PUT', path, { description: 'kept' });
    expect([described.status, described.body.warnings]).toEqual([200, [warning]]);
    const { body } = await gateway.call('GET', path);
    expect((await gateway.call('PUT', path, body)).status).toBe(200);
    const statements = [...body.policyDocument.statements, { ...NEVER, resources: ['srn2:table#u_OFFLINE'] }];
    const more = await gateway.call('PUT', path, { policyDocument: { version: 'v1', statements } });
    expect([more.status, more.body.message]).toEqual([400, expect.stringContaining('statements[1].resources[0]')]);
  });

  it('stays in an assignment, and can be removed', async () => {
    const gateway = await testGateway();
    gateway.store.seed(
      role('r'),
      roleAssignment('old', { role: 'r', subjects: [{ type: 'domain', name: '@x.test' }] }),
    );
    const path = `/roles/${inPath('role', 'r')}`;
    const [listed] = (await gateway.call('GET', `${path}/assignments`)).body;
    const kept = await gateway.call('PUT', `${path}/assignments`, [
      listed,
      { subject: 'a@x.test', subjectType: 'user-email' },
    ]);
    expect(kept.status).toBe(200);
    const removed = await gateway.call('POST', `${path}/delete-assignment`, {
      subject: '@x.test',
      subjectType: 'domain',
    });
    expect(removed.status).toBe(200);
    expect((await gateway.call('GET', `${path}/assignments`)).body).toHaveLength(1);
  });
});
