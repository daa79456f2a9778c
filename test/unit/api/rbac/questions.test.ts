import { beforeAll, expect, it } from 'vitest';
import { policy, role, roleAssignment } from '../../../builders/resources.ts';
import { testGateway, type TestGateway } from './gateway.ts';

const DENIED = 'z@dd.test';
let gateway: TestGateway;

// Everybody may query, except the contractors of one domain; a table is secret.
beforeAll(async () => {
  gateway = await testGateway();
  const on = (effect: 'allow' | 'deny', table: string) => ({
    statements: [{ effect, actions: ['Query'], resources: [`srn2:table#${table}`] }],
  });
  gateway.store.seed(
    policy('open', on('allow', '*')),
    policy('closed', on('deny', '*')),
    policy('secret', on('deny', 'secret')),
    role('readers', { policies: ['open', 'secret'] }),
    role('blocked', { policies: ['closed'] }),
    roleAssignment('readers', { role: 'readers', subjects: [{ type: 'user-email', name: DENIED }] }),
    roleAssignment('blocked', { role: 'blocked', subjects: [{ type: 'domain', name: 'dd.test' }] }),
    ...['*', 'team-*'].flatMap((name, at) => [
      policy(`tokens-${at}`, {
        statements: [{ effect: 'allow', actions: ['*ServiceToken'], resources: [`srn2:service-token#${name}`] }],
      }),
      role(`tokens-${at}`, { policies: [`tokens-${at}`] }),
    ]),
    roleAssignment('tokens-0', { role: 'tokens-0', subjects: [{ type: 'group', name: 'token-makers' }] }),
    roleAssignment('tokens-1', { role: 'tokens-1', subjects: [{ type: 'group', name: 'team' }] }),
    roleAssignment('group', { role: 'readers', subjects: [{ type: 'group', name: 'staff' }] }),
  );
});

const simulate = (subjectTypeToSubject: object, resourceSrn2String: string, action = 'Query') =>
  gateway.call('POST', '/simulate-access', { subjectTypeToSubject, resourceSrn2String, action });
const askWhoCan = (resource: string, action = 'Query') =>
  gateway.call('GET', `/who-can?action=${encodeURIComponent(action)}&resource=${encodeURIComponent(resource)}`);

async function whoCan(resource: string, action?: string): Promise<string[]> {
  const { subjects } = (await askWhoCan(resource, action)).body as { subjects: { subject: string }[] };
  return subjects.map(({ subject }) => subject);
}

it('a user has the roles of the domain of its address, and the response says so', async () => {
  const { body } = await simulate({ 'user-email': DENIED }, 'srn2:table#events');
  expect(body).toMatchObject({
    decision: 'DENY',
    reason: 'explicitDeny',
    principal: {
      subjects: [
        { subject: DENIED, subjectType: 'user-email' },
        { subject: 'dd.test', subjectType: 'domain' },
      ],
    },
  });
  const able = await whoCan('srn2:table#events');
  expect(able).toContain('staff');
  expect(able).not.toContain(DENIED);
});

it.each([
  'srn2:table#secret',
  'srn2:table#secret_OFFLINE',
  'srn2:table#default.secret',
  'srn2:table#Default.secret_REALTIME',
])('a table has one name in questions: %s', async (resource) => {
  expect((await simulate({ group: 'staff' }, resource)).body).toMatchObject({ decision: 'DENY' });
  expect(await whoCan(resource)).not.toContain('staff');
});

it.each([
  ['srn2:table#*', 'Query', 'names several resources'],
  ['srn2:table#sec*', 'Query', 'names several resources'],
  ['srn2:cluster#*:table#events', 'Query', 'names several resources'],
  ['srn2:table#"secret"', 'Query', 'write the name of the table without them'],
  ['srn2:table#events', 'Get*', 'names several actions'],
  ['srn2:table#events', '**', 'names several actions'],
  ['srn2:table#events', 'Qery', 'did you mean `Query`?'],
])('a question that does not name one thing is refused: %s %s', async (resource, action, message) => {
  const expected = { status: 400, body: { message: expect.stringContaining(message) } };
  expect(await simulate({ group: 'staff' }, resource, action)).toMatchObject(expected);
  expect(await askWhoCan(resource, action)).toMatchObject(expected);
});

it.each(['srn2:service-token#team-new', 'srn2:service-token#*'])(
  'a new service token has no name in questions, as in the call: %s',
  async (resource) => {
    const simulated = (group: string) => simulate({ group }, resource, 'createServiceToken');
    expect((await simulated('token-makers')).body).toMatchObject({ decision: 'ALLOW' });
    expect((await simulated('team')).body).toMatchObject({ decision: 'DENY' });
    const able = await whoCan(resource, 'CreateServiceToken');
    expect(able).toContain('token-makers');
    expect(able).not.toContain('team');
  },
);

it('every action at once is a question', async () => {
  expect(await simulate({ group: 'staff' }, 'srn2:table#events', '*')).toMatchObject({
    status: 200,
    body: { decision: 'DENY' },
  });
});
