import { describe, expect, it } from 'vitest';
import type { Conditions, Statement } from '../../../../src/resources/policy.ts';
import { policy, role, roleAssignment, statement } from '../../../builders/resources.ts';
import { ALICE } from '../../../support/app.ts';
import { MemoryStore } from '../../access/memory-store.ts';
import { inPath, testGateway, type TestGateway } from './gateway.ts';

type TestGatewayOptions = NonNullable<Parameters<typeof testGateway>[0]>;

const CONDITIONS: Conditions = {
  rowFilters: ["region = 'eu'", 'owner = ${subject.email}'],
  columns: { deny: ['phone'], mask: { mail: "'hidden'" } },
};
const PART = statement({ conditions: CONDITIONS });
const where = (...rowFilters: string[]): Statement => statement({ conditions: { rowFilters } });
const document = (...statements: Statement[]): object => ({ policyDocument: { version: 'v1', statements } });
const POLICY = `/policies/${inPath('policy', 'part')}`;

/** With a role `readers` that has the policy `part`, for Bob and a group. */
async function withReaders(...statements: Statement[]): Promise<TestGateway> {
  const gateway = await testGateway();
  gateway.store.seed(
    policy('part', { statements }),
    role('readers', { policies: ['part'] }),
    roleAssignment('readers', {
      role: 'readers',
      subjects: [
        { type: 'user-email', name: 'Bob@example.com' },
        { type: 'group', name: 'team' },
      ],
    }),
  );
  return gateway;
}

const asked = { resourceSrn2String: 'srn2:table#events', action: 'Query' };
const bob = { 'user-email': 'Bob@example.com' };

describe('a policy with conditions', () => {
  it('is returned as it was written, and stays the same when it is written again', async () => {
    const { call } = await testGateway();
    const created = await call('POST', '/policies', { name: 'part', ...document(PART) });
    expect([created.status, created.body.policyDocument.statements]).toEqual([200, [PART]]);
    const { body } = await call('GET', POLICY);
    expect(body.policyDocument.statements).toEqual([PART]);
    expect(JSON.parse(body.policyDocumentJson)).toEqual({ version: 'v1', statements: [PART] });
    expect((await call('PUT', POLICY, body)).body.policyDocument.statements).toEqual([PART]);
  });

  it.each<[object, string]>([
    [{ rowFilters: ['region = '] }, 'statements[0].conditions.rowFilters[0]: line 1, column 10: the text ends here'],
    [{ rowFilters: ['a IN (SELECT b FROM t)'] }, 'line 1, column 7: a row filter has no query'],
    [{ rowFilter: ['a = 1'] }, 'statements[0].conditions.rowFilter: unknown field; did you mean `rowFilters`?'],
    [
      { columns: { mask: { mail: 'name' } } },
      'statements[0].conditions.columns.mask.mail: line 1, column 1: a mask has no other column',
    ],
    [null as unknown as object, 'statements[0].conditions: `null` is null, but must be an object'],
  ])('is refused with the place of the error: %j', async (conditions, message) => {
    const { call } = await testGateway();
    const statements = [{ ...statement(), conditions }];
    const { status, body } = await call('POST', '/policies', {
      name: 'part',
      policyDocument: { version: 'v1', statements },
    });
    expect([status, body.message]).toEqual([400, expect.stringContaining(message)]);
  });
});

describe('a policy with conditions for tables that exist', () => {
  const COLUMNS = new Set(['owner', 'region', 'phone', 'mail']);
  /** The tables `events` and `bare`, of which only the first one has a schema that can be read. */
  const cluster = (more: Partial<TestGatewayOptions> = {}) => {
    const tables = ['events', 'bare'];
    const columnsOf = async (table: string) => {
      if (table === 'bare') throw new Error('status 500');
      return COLUMNS;
    };
    const lookup = { actualTables: async (names: readonly string[]) => names, tableNames: () => tables };
    return testGateway({ tables: lookup, schemas: { columnsOf }, ...more });
  };

  it('is refused with the column, the table and the nearest name where no table has the column', async () => {
    const { call } = await cluster();
    expect((await call('POST', '/policies', { name: 'part', ...document(PART) })).status).toBe(200);
    const { status, body } = await call('POST', '/policies', {
      name: 'other',
      ...document(PART, where("regoin = 'eu'")),
    });
    expect([status, body.message]).toEqual([
      400,
      '`statements[1].conditions.rowFilters[0]`: the column `regoin` does not exist in `events`; did you mean `region`?',
    ]);
    expect((await call('GET', `/policies/${inPath('policy', 'other')}`)).status).toBe(404);
    expect((await call('PUT', POLICY, document(where('gone = 1')))).body.message).toContain('`gone` does not exist');
  });

  it('is written with a warning where its columns cannot be read, or not all tables have them', async () => {
    const { call } = await cluster();
    const statements = [
      { ...where('gone = 1'), resources: ['srn2:table#bare'] },
      { ...where('gone = 1'), resources: ['srn2:table#*'] },
    ];
    const { status, body } = await call('POST', '/policies', { name: 'part', ...document(...statements) });
    expect(status).toBe(200);
    expect(body.warnings).toEqual([
      '`statements[1].conditions.rowFilters[0]`: the column `gone` does not exist in `events`; their queries are refused',
      '`statements[0].conditions`: the columns of `bare` (status 500) could not be checked',
      '`statements[1].conditions`: the columns of `bare` (status 500) could not be checked',
    ]);
  });

  it('is written with a warning while the tables cannot be listed', async () => {
    const tables = { actualTables: async () => Promise.reject(new Error('unreachable')), tableNames: () => undefined };
    const { call } = await cluster({ tables });
    const { status, body } = await call('POST', '/policies', { name: 'part', ...document(where('gone = 1')) });
    expect([status, body.warnings]).toEqual([
      200,
      [
        '`statements[0].conditions`: the columns could not be checked, because the tables of the cluster cannot be listed',
      ],
    ]);
  });

  it('keeps statements that no longer fit, and a table that does not exist yet is a warning', async () => {
    const { call, store } = await cluster();
    store.seed(policy('part', { statements: [where('gone = 1')] }));
    const later = { ...where('zip = 1'), resources: ['srn2:table#later'] };
    const { status, body } = await call('PUT', POLICY, document(where('gone = 1'), later));
    expect([status, body.warnings]).toEqual([
      200,
      [
        '`statements[1].resources[0]`: table `later` does not exist or is not visible to you',
        expect.stringContaining('the column `gone` does not exist in `events`'),
      ],
    ]);
  });

  it.each(['phone', 'gone'])(
    'shows nothing of a schema that its author may not read: the column %s',
    async (column) => {
      const store = new MemoryStore();
      const mine = statement({ conditions: { columns: { allow: ['owner', column] } } });
      const { call } = await cluster({ store, roles: ['system-admin'] });
      store.seed(
        policy('author', { statements: [statement({ actions: ['*Policy'], resources: ['srn2:policy#*'] }), mine] }),
        role('authors', { policies: ['author'] }),
        roleAssignment('test-system-admin', { role: 'authors', subjects: [{ type: 'user-email', name: ALICE.id }] }),
      );
      const { status, body } = await call('POST', '/policies', { name: 'part', ...document(mine) });
      expect([status, body.warnings]).toEqual([
        200,
        ['`statements[0].conditions`: the columns of `events` (you may not read its schema) could not be checked'],
      ]);
    },
  );
});

describe('the simulation of a table that may be read in part', () => {
  it('knows claims of the question', async () => {
    const { call } = await withReaders(where('region IN (${subject.claims.regions})'));
    const ask = async (claims: object) => {
      const { status, body } = await call('POST', '/simulate-access', { subjectTypeToSubject: bob, ...asked, claims });
      return [status, body.decision ?? body.message, body.conditions?.values];
    };
    expect(await ask({})).toEqual([200, 'DENY', undefined]);
    expect(await ask({ regions: ['eu', 'us'] })).toEqual([
      200,
      'CONDITIONAL',
      { 'subject.claims.regions': ['eu', 'us'] },
    ]);
    expect(await ask({ regions: 7 })).toEqual([200, 'CONDITIONAL', { 'subject.claims.regions': ['7'] }]);
    expect(await ask({ regions: ['eu', 7] })).toEqual([400, expect.stringContaining('`claims.regions`'), undefined]);
    // Not every claim.
    expect(await ask({ '*': 'eu' })).toEqual([200, 'DENY', undefined]);
  });

  it('is CONDITIONAL, with the rows, columns and values of the caller', async () => {
    const { call } = await withReaders(PART);
    const { body } = await call('POST', '/simulate-access', { subjectTypeToSubject: bob, ...asked });
    expect(body).toMatchObject({
      decision: 'CONDITIONAL',
      reason: 'conditional',
      conditions: {
        rowFilters: [['owner = ${subject.email}', "region = 'eu'"]],
        columns: { deny: ['phone'], mask: { mail: "'hidden'" } },
        values: { 'subject.email': ['bob@example.com'] },
      },
      matchedStatements: [{ role: 'readers', policy: 'part', statementIndex: 0, conditions: CONDITIONS }],
    });
  });

  it('is DENY where a value is missing or a statement denies, and ALLOW where one allows without conditions', async () => {
    const { call, store } = await withReaders(PART);
    const ask = async (subjects: object): Promise<unknown[]> => {
      const { body } = await call('POST', '/simulate-access', { subjectTypeToSubject: subjects, ...asked });
      return [body.decision, body.reason, 'conditions' in body];
    };
    expect(await ask({ group: 'team' })).toEqual(['DENY', 'implicitDeny', false]);
    expect(await ask({ group: 'team', ...bob })).toEqual(['CONDITIONAL', 'conditional', true]);
    expect(await ask({ 'user-email': ['Bob@example.com', 'amy@example.com'] })).toEqual([
      'DENY',
      'implicitDeny',
      false,
    ]);
    store.seed(policy('part', { statements: [PART, statement()] }));
    expect(await ask(bob)).toEqual(['ALLOW', 'allowed', false]);
    store.seed(policy('part', { statements: [PART, statement({ effect: 'deny' })] }));
    expect(await ask(bob)).toEqual(['DENY', 'explicitDeny', false]);
  });

  it('knows a document that is not stored, and has a result for each request', async () => {
    const { call } = await withReaders(where('a = 1'));
    const { body } = await call('POST', '/simulate-access', {
      subjectTypeToSubject: bob,
      ...document(where('b = 2')),
      requests: [asked, { ...asked, action: 'GetSchema' }],
    });
    expect(body.results).toMatchObject([
      { decision: 'CONDITIONAL', conditions: { rowFilters: [['a = 1'], ['b = 2']] } },
      { decision: 'DENY', reason: 'implicitDeny' },
    ]);
  });
});

describe('who can query a table that may be read in part', () => {
  it('is marked', async () => {
    const { call } = await withReaders(PART);
    const { body } = await call('GET', '/who-can?action=Query&resource=srn2%3Atable%23events');
    const marked = (body.subjects as { subject: string; conditional?: true }[]).map(({ subject, conditional }) => [
      subject,
      conditional,
    ]);
    // A member of the group can have an address.
    expect(marked).toEqual([
      ['team', true],
      ['Bob@example.com', true],
      [ALICE.id, undefined],
    ]);
    expect(body.roles).toContainEqual({ role: 'readers', policy: 'part', statementIndex: 0, conditional: true });
  });
});

describe('who holds a table in part', () => {
  const DELEGATION: Statement = {
    effect: 'allow',
    actions: ['*Role', '*Policy', '*Assignment', 'CreateServiceToken'],
    resources: ['srn2:role#*', 'srn2:policy#*', 'srn2:service-token#*'],
  };
  const gatewayFor = async (...held: Statement[]): Promise<TestGateway> => {
    const gateway = await testGateway({ roles: [] });
    gateway.store.seed(
      policy('own', { statements: [DELEGATION, ...held] }),
      role('own', { policies: ['own'] }),
      roleAssignment('own', { role: 'own', subjects: [{ type: 'user-email', name: ALICE.id }] }),
    );
    return gateway;
  };

  it.each<[string, Statement[], Statement[], 200 | 403]>([
    ['all of it', [statement()], [where('a = 1')], 200],
    ['the same part', [where('a = 1', 'b = 2')], [where('b = 2', 'a = 1')], 200],
    [
      'the same part, of one table of many',
      [{ ...where('a = 1'), resources: ['srn2:table#e*'] }],
      [where('a = 1')],
      200,
    ],
    ['another part', [where('a = 1')], [where('a = 2')], 403],
    [
      'less columns',
      [statement({ conditions: { columns: { allow: ['a'] } } })],
      [statement({ conditions: { columns: { allow: ['a', 'b'] } } })],
      403,
    ],
    ['a part, for all of it', [where('a = 1')], [statement()], 403],
    ['two parts, for all of it', [where('a = 1'), where('a <> 1')], [statement()], 403],
    ['a part, of another table', [where('a = 1')], [{ ...where('a = 1'), resources: ['srn2:table#other'] }], 403],
    ['its own rows, for those of others', [where('a = ${subject.user}')], [where('a = ${subject.user}')], 403],
    ['all of it, for the own rows of others', [statement()], [where('a = ${subject.user}')], 200],
    ['a part that is denied', [where('a = 1'), statement({ effect: 'deny' })], [where('a = 1')], 403],
  ])('may give, with %s: %#', async (_title, held, given, expected) => {
    const { call, store } = await gatewayFor(...held);
    const written = await call('POST', '/policies', { name: 'p', ...document(...given) });
    store.seed(policy('q', { statements: given }), role('q', { policies: ['q'] }), role('empty'));
    const attached = await call('POST', `/roles/${inPath('role', 'empty')}/attach-policy`, {
      policySrn: 'srn2:policy#q',
    });
    const assigned = await call('POST', `/roles/${inPath('role', 'q')}/create-assignment`, {
      subject: 'bob@example.com',
      subjectType: 'user-email',
    });
    const { body: token } = await call('POST', '/service-tokens', { description: 'x' });
    const tokenAssigned = await call('POST', `/roles/${inPath('role', 'q')}/create-assignment`, {
      subject: token.accessKey,
      subjectType: 'service-token',
    });
    const all = [written, attached, assigned, tokenAssigned];
    expect(all.map(({ status }) => status)).toEqual(all.map(() => expected));
    if (expected === 403) expect(written.body.message).toContain('gives `Query` on `srn2:table#');
  });

  it('may not take the conditions from a statement, nor change them', async () => {
    const { call } = await gatewayFor(where('a = 1'));
    expect((await call('POST', '/policies', { name: 'part', ...document(where('a = 1')) })).status).toBe(200);
    const statuses = [
      await call('PUT', POLICY, document(statement())),
      await call('PUT', POLICY, document(where('a = 1 OR a = 2'))),
      await call('PUT', POLICY, document(statement({ conditions: { columns: { deny: ['a'] } } }))),
      await call('PUT', POLICY, document({ ...where('a = 1'), description: 'Part' })),
    ].map(({ status }) => status);
    expect(statuses).toEqual([403, 403, 403, 200]);
  });
});
