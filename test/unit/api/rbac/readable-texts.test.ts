import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tableNameOf, type TableName } from '../../../../src/pinot/table-name.ts';
import { policy, role, roleAssignment } from '../../../builders/resources.ts';
import { testGateway, type Answer, type TestGateway } from './gateway.ts';

/** Names of others. None of them may be in a response to a caller that may read nothing, except the one that its request has. */
const SECRET = {
  role: 'secret-role',
  policy: 'secret-policy',
  table: 'secret-table',
  user: 'secret@hidden.org',
  token: 'secret-token',
};
const ABSENT: typeof SECRET = {
  role: 'absent-role',
  policy: 'absent-policy',
  table: 'absent-table',
  user: 'absent@hidden.org',
  token: 'absent-token',
};

const EVERYTHING = ['srn2:role#*', 'srn2:policy#*', 'srn2:service-token#*', 'srn2:cluster#*'];
/** Every write and every question, and nothing to read. */
const WRITES = [
  'CreateRole',
  'UpdateRole',
  'DeleteRole',
  'AttachPolicy',
  'DetachPolicy',
  'CreatePolicy',
  'UpdatePolicy',
]
  .concat(['DeletePolicy', 'CreateAssignment', 'DeleteAssignment', 'CreateServiceToken', 'UpdateServiceToken'])
  .concat('DeleteServiceToken')
  .concat('SimulateAccess');

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
type Names = typeof SECRET;
type Call = (names: Names) => readonly [method: Method, path: string, body?: object];

const srn = (kind: string, name: string): string => `srn2:${kind}%23${name}`;
const DOCUMENT = { version: 'v1', statements: [{ effect: 'allow', resources: ['srn2:role#none'] }] };
const OWN = '/roles/srn2:role%23own-role';
const AS_USER = { subjectType: 'user-email' };

/** Every route of the RBAC manager, by its operation in the OpenAPI document. */
const ROUTES: Readonly<Record<string, Call>> = {
  listRoles: () => ['GET', '/roles'],
  createRole: ({ role: name }) => ['POST', '/roles', { name }],
  getRole: (names) => ['GET', `/roles/${srn('role', names.role)}`],
  updateRole: (names) => ['PUT', `/roles/${srn('role', names.role)}`, { description: 'x' }],
  deleteRole: (names) => ['DELETE', `/roles/${srn('role', names.role)}`],
  listRolePolicies: (names) => ['GET', `/roles/${srn('role', names.role)}/policies`],
  attachPolicy: (names) => ['POST', `${OWN}/attach-policy`, { policySrn: `srn2:policy#${names.policy}` }],
  detachPolicy: (names) => ['POST', `${OWN}/detach-policy`, { policySrn: `srn2:policy#${names.policy}` }],
  listAssignments: (names) => ['GET', `/roles/${srn('role', names.role)}/assignments`],
  listAllAssignments: () => ['GET', '/assignments'],
  createAssignment: (names) => ['POST', `${OWN}/create-assignment`, { subject: names.user, ...AS_USER }],
  deleteAssignment: (names) => ['POST', `${OWN}/delete-assignment`, { subject: names.user, ...AS_USER }],
  replaceAssignments: (names) => ['PUT', `/roles/${srn('role', names.role)}/assignments`, []],
  listPolicies: () => ['GET', '/policies'],
  createPolicy: ({ policy: name }) => ['POST', '/policies', { name, policyDocument: DOCUMENT }],
  getPolicy: (names) => ['GET', `/policies/${srn('policy', names.policy)}`],
  updatePolicy: (names) => ['PUT', `/policies/${srn('policy', names.policy)}`, { description: 'x' }],
  deletePolicy: (names) => ['DELETE', `/policies/${srn('policy', names.policy)}`],
  listPolicyRoles: (names) => ['GET', `/policies/${srn('policy', names.policy)}/roles`],
  listServiceTokens: () => ['GET', '/service-tokens'],
  createServiceToken: () => ['POST', '/service-tokens', { expiresAt: '2000-01-01T00:00:00Z' }],
  getServiceToken: (names) => ['GET', `/service-tokens/${srn('service-token', names.token)}`],
  rotateServiceToken: (names) => ['POST', `/service-tokens/${srn('service-token', names.token)}/rotate`, {}],
  deleteServiceToken: (names) => ['DELETE', `/service-tokens/${srn('service-token', names.token)}`],
  whoAmI: () => ['GET', '/whoami'],
  simulateAccess: (names) => [
    'POST',
    '/simulate-access',
    {
      subjectTypeToSubject: { 'user-email': names.user },
      resourceSrn2String: `srn2:table#${names.table}`,
      action: 'Query',
    },
  ],
  previewPolicy: (names) => [
    'POST',
    '/preview-policy',
    {
      policyDocument: { version: 'v1', statements: [{ effect: 'allow', resources: ['srn2:table#*'] }] },
      sql: `SELECT * FROM "${names.table.toUpperCase()}"`,
    },
  ],
  whoCan: (names) => ['GET', `/who-can?action=Query&resource=${srn('table', names.table)}`],
  accessReview: () => ['GET', '/access-review'],
};

/** The engine has the one table, and compares names without case. */
const QUERIES = {
  engine: {
    actualTables: async (names: readonly TableName[]) =>
      names.map((name) => (name.toLowerCase() === SECRET.table ? tableNameOf(SECRET.table) : name)),
    currentTables: async () => [tableNameOf(SECRET.table)],
    tableNames: () => [tableNameOf(SECRET.table)],
    isLogical: () => false,
  },
  schemas: {} as never,
};

let gateway: TestGateway;
afterEach(() => (gateway as TestGateway | undefined)?.app.close());

/** @param actions of the caller; none: it has no role */
async function start(actions?: readonly string[]): Promise<void> {
  gateway = await testGateway({ roles: actions === undefined ? [] : ['blind'], queries: QUERIES });
  gateway.store.seed(
    policy(SECRET.policy, {
      statements: [
        { effect: 'allow', actions: ['Query'], resources: [`srn2:table#${SECRET.table}`] },
        { effect: 'deny', actions: ['Query'], resources: ['srn2:table#secret-denied'] },
      ],
    }),
    role(SECRET.role, { policies: [SECRET.policy] }),
    role('own-role', { policies: [] }),
    role('granting', { policies: [SECRET.policy] }),
    roleAssignment('secret-assignment', { role: SECRET.role, subjects: [{ type: 'user-email', name: SECRET.user }] }),
    policy('blind', { statements: [{ effect: 'allow', actions: [...(actions ?? WRITES)], resources: EVERYTHING }] }),
    role('blind', { policies: ['blind'] }),
  );
}

async function send(call: Call, names: Names): Promise<{ status: number; text: string }> {
  const answer = await gateway.call(...call(names));
  return { status: answer.status, text: textOf(answer, names) };
}

/** The response, with the names of the request and the time replaced. */
function textOf({ body, headers }: Answer, names: Names): string {
  const { etag } = headers;
  let text = JSON.stringify({ body, etag }).replaceAll(/"timestamp":"[^"]*"/g, '"timestamp":""');
  for (const [kind, name] of Object.entries(names))
    text = text.replaceAll(name, `<${kind}>`).replaceAll(name.toUpperCase(), `<${kind} as written>`);
  return text;
}

function expectNoSecret(text: string): void {
  expect(text).not.toMatch(/secret/);
}

describe('the routes of the RBAC manager', () => {
  it('are all in the table', () => {
    const { paths } = JSON.parse(readFileSync(new URL('../../../../openapi.json', import.meta.url), 'utf8')) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      path.startsWith('/api/v1/rbac-manager') ? Object.values(methods).map(({ operationId }) => operationId) : [],
    );
    expect(Object.keys(ROUTES).sort()).toEqual(operations.sort());
  });

  describe.each(Object.entries(ROUTES))('%s', (operation, call) => {
    it('answers a caller without any right the same, whether the names exist', async () => {
      await start();
      const existing = await send(call, SECRET);
      const absent = await send(call, ABSENT);
      expect(existing).toEqual(absent);
      expectNoSecret(existing.text);
    });

    it('names nothing of others to a caller that may write and not read', async () => {
      await start(WRITES);
      const { text } = await send(call, SECRET);
      expectNoSecret(text);
      expect(text).not.toContain('granting');
      if (['whoAmI', 'attachPolicy', 'detachPolicy', 'createAssignment', 'deleteAssignment'].includes(operation))
        return;
      expect(text).not.toContain('statements[');
    });
  });
});

/** What each message about another resource names to a caller that may not read it. */
const MESSAGES: readonly (readonly [what: string, call: Call, status: number, message: string])[] = [
  [
    'attaching a policy',
    ROUTES['attachPolicy']!,
    403,
    'you may not attach policy `<policy>` to role `own-role`: there is no policy `<policy>`, or a statement of policy `<policy>`, which you may not read, exceeds what you hold; the right `BindPolicy` on `srn2:policy#<policy>` would allow it',
  ],
  [
    'assigning a role',
    (names) => ['POST', `/roles/srn2:role%23granting/create-assignment`, { subject: names.user, ...AS_USER }],
    403,
    'you may not assign role `granting`: a statement of role `granting`, which you may not read, exceeds what you hold; the right `AssignRole` on `srn2:role#granting` would allow it',
  ],
  [
    'assigning a role to a service token',
    (names) => [
      'POST',
      `/roles/srn2:role%23granting/create-assignment`,
      { subject: names.token, subjectType: 'service-token' },
    ],
    403,
    'you may not assign role `granting`: a statement of role `granting`, which you may not read, exceeds what you hold; the right `AssignRole` on `srn2:role#granting` would allow it',
  ],
];

describe('a message about a resource that the caller may not read', () => {
  beforeEach(() => start(WRITES));

  it.each(MESSAGES)('is the same for an existing and an absent one: %s', async (_what, call, status, message) => {
    const existing = await send(call, SECRET);
    expect(existing).toEqual(await send(call, ABSENT));
    expect(existing.status).toBe(status);
    expect(existing.text).toContain(JSON.stringify(message).slice(1, -1));
  });

  it.each([
    [
      'that has the policy',
      'deletePolicy',
      'policy `<policy>` is attached to a role, which you may not read: detach it first',
    ],
    [
      'that removes a deny',
      'updatePolicyDocument',
      'a statement of policy `<policy>`, which you may not read, exceeds what you hold',
    ],
    ['to which the role is assigned', 'deleteRole', 'role `<role>` is assigned to a subject, which you may not read'],
  ])('does not name what is in use: %s', async (_what, operation, message) => {
    const held = {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['UpdateRole'], resources: ['srn2:role#x'] }],
    };
    const rewrite: Call = (names) => ['PUT', `/policies/${srn('policy', names.policy)}`, { policyDocument: held }];
    const { text } = await send(ROUTES[operation] ?? rewrite, SECRET);
    expect(text).toContain(message);
    expectNoSecret(text);
  });

  it('is the same when the policy is attached already', async () => {
    gateway.store.seed(role('own-role', { policies: [SECRET.policy] }));
    const attach = ROUTES['attachPolicy']!;
    expect(await send(attach, SECRET)).toEqual(await send(attach, ABSENT));
  });

  it('has neither the version in its text nor in `ETag`', async () => {
    for (const path of ['/roles/srn2:role%23secret-role', '/policies/srn2:policy%23secret-policy']) {
      const response = await gateway.app.inject({
        method: 'DELETE',
        url: `/api/v1/rbac-manager${path}`,
        headers: { 'if-match': '"0"' },
      });
      expect([response.statusCode, response.headers.etag]).toEqual([412, undefined]);
      expect(response.body).toContain('was changed since it was read: read it again');
    }
  });
});

describe('a response to a write', () => {
  it('has only name and SRN where the caller may not read the resource', async () => {
    await start(WRITES);
    const updated = await gateway.call(...ROUTES['updatePolicy']!(SECRET));
    expect(updated.body).toEqual({ name: SECRET.policy, srn: `srn2:policy#${SECRET.policy}` });
    const role = await gateway.call(...ROUTES['updateRole']!(SECRET));
    expect(role.body).toEqual({ name: SECRET.role, srn: `srn2:role#${SECRET.role}` });
  });

  it('has all fields where it may', async () => {
    await start([...WRITES, 'GetPolicy']);
    const updated = await gateway.call(...ROUTES['updatePolicy']!(SECRET));
    expect(updated.body).toMatchObject({ description: 'x', policyDocument: { version: 'v1' } });
  });
});

it('a preview names a table as its request does, whether the table exists', async () => {
  await start(WRITES);
  const existing = await send(ROUTES['previewPolicy']!, SECRET);
  expect(existing).toEqual(await send(ROUTES['previewPolicy']!, ABSENT));
  expect(existing.text).toContain('`GetSchema` on `srn2:table#<table as written>`');
});

describe('a simulation', () => {
  it('shows the roles and statements that the caller may read, and says that there are others', async () => {
    await start(WRITES);
    const hidden = await gateway.call(...ROUTES['simulateAccess']!(SECRET));
    expect(hidden.body).toMatchObject({
      principal: { roles: [] },
      decision: 'ALLOW',
      matchedStatements: [],
      statementsOmitted: true,
    });
    await gateway.app.close();
    await start([...WRITES, 'GetAssignment', 'GetPolicy']);
    const shown = await gateway.call(...ROUTES['simulateAccess']!(SECRET));
    expect(shown.body.matchedStatements).toMatchObject([{ role: SECRET.role, policy: SECRET.policy }]);
    expect(shown.body).not.toHaveProperty('statementsOmitted');
  });
});
