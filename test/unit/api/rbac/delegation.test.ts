import { describe, expect, it } from 'vitest';
import type { Statement } from '../../../../src/resources/policy.ts';
import { policy, role, roleAssignment } from '../../../builders/resources.ts';
import { ALICE } from '../../../support/app.ts';
import { inPath, testGateway, type TestGateway } from './gateway.ts';

/** Policy 4 of docs/rbac.md. */
const TEAM: Statement[] = [
  {
    effect: 'allow',
    actions: ['*Role', '*Policy', '*Assignment'],
    resources: ['srn2:role#team-a-*', 'srn2:policy#team-a-*'],
  },
  { effect: 'allow', actions: ['SimulateAccess'], resources: ['srn2:cluster#*'] },
];
const READS: Statement = { effect: 'allow', actions: ['Query', 'GetSchema'], resources: ['srn2:table#a_*'] };
const allow = (actions: string[], ...resources: string[]): Statement => ({ effect: 'allow', actions, resources });
const deny = (actions: string[], ...resources: string[]): Statement => ({ effect: 'deny', actions, resources });

/** A gateway whose caller has the role `team-a-admin` with these policies. */
async function gatewayFor(own: Record<string, Statement[]>): Promise<TestGateway> {
  const gateway = await testGateway({ roles: [] });
  for (const [name, statements] of Object.entries(own)) gateway.store.seed(policy(name, { statements }));
  gateway.store.seed(
    role('team-a-admin', { policies: Object.keys(own) }),
    roleAssignment('alice', { role: 'team-a-admin', subjects: [{ type: 'user-email', name: ALICE.id }] }),
  );
  return gateway;
}

const document = (...statements: Statement[]): object => ({ policyDocument: { version: 'v1', statements } });
const policyPath = (name: string): string => `/policies/${inPath('policy', name)}`;
const rolePath = (name: string, suffix = ''): string => `/roles/${inPath('role', name)}${suffix}`;
const attached = (name: string): object => ({ policySrn: `srn2:policy#${name}` });
const bob = { subject: 'bob@example.com', subjectType: 'user-email' };

describe('a team that manages its own access', () => {
  it('can grant what its administrators hold', async () => {
    const { call } = await gatewayFor({ 'team-a-own': TEAM, 'team-a-reads': [READS] });
    const steps = [
      await call('POST', '/policies', { name: 'team-a-p', ...document(allow(['Query'], 'srn2:table#a_events')) }),
      await call('POST', '/roles', { name: 'team-a-r' }),
      await call('POST', rolePath('team-a-r', '/attach-policy'), attached('team-a-p')),
      await call('POST', rolePath('team-a-r', '/create-assignment'), bob),
      await call('PUT', policyPath('team-a-p'), document(READS)),
      await call('POST', rolePath('team-a-admin', '/create-assignment'), bob),
      await call('POST', rolePath('team-a-r', '/delete-assignment'), bob),
      await call('POST', rolePath('team-a-r', '/detach-policy'), attached('team-a-p')),
      await call('DELETE', policyPath('team-a-p')),
      await call('DELETE', rolePath('team-a-r')),
    ];
    expect(steps.map(({ status, body }) => [status, status === 200 ? '' : body.message])).toEqual(
      steps.map(() => [200, '']),
    );
  });

  it.each<[string, Statement[], string]>([
    ['one statement', [allow(['*'], '*')], '`*` on `srn2:environment#*`'],
    [
      'two statements',
      [allow(['A*', 'B*', 'C*', 'D*', 'E*', 'F*', 'G*'], '*'), allow(['I*', 'P*', 'Q*', 'R*', 'S*', 'U*', 'V*'], '*')],
      '`AttachPolicy` on `srn2:environment#*`',
    ],
    ['a glob', [allow(['*e*'], '*')], '`AssignRole` on `srn2:role#*`'],
    [
      'three resource names',
      [allow(['*'], 'srn2:cluster#*', 'srn2:cluster#*:*#*', 'srn2:environment#*:*#*')],
      '`*` on `srn2:cluster#*`',
    ],
    [
      'a right by its name',
      [allow(['EscalatePolicy'], 'srn2:policy#team-a-*')],
      '`EscalatePolicy` on `srn2:policy#team-a-*`',
    ],
  ])('does not write itself everything, in %s', async (_title, statements, missing) => {
    const { call, directory } = await gatewayFor({ 'team-a-own': TEAM });
    const refusals = [
      await call('POST', '/policies', { name: 'team-a-p', ...document(...statements) }),
      await call('PUT', policyPath('team-a-own'), document(...TEAM, ...statements)),
    ];
    for (const { status, body } of refusals) {
      expect([status, body.message]).toEqual([
        403,
        expect.stringMatching(
          /^you may not write policy `.+`: statements\[\d\] of policy `.+` gives .+, which you do not hold; the right `EscalatePolicy` on `srn2:policy#.+` would allow it$/,
        ),
      ]);
    }
    if (!missing.includes('AssignRole')) expect(refusals[0]!.body.message).toContain(missing);
    expect(directory.isAllowed(ALICE, 'Query', { levels: [{ kind: 'table', id: 'x' }] })).toBe(false);
  });

  it('does not attach what it does not hold to its own role', async () => {
    const { call, store } = await gatewayFor({ 'team-a-own': TEAM });
    store.seed(policy('team-a-wide', { statements: [allow(['DeleteTable'], 'srn2:table#*')] }));
    for (const name of ['cluster-admin', 'system-admin', 'team-a-wide']) {
      const { status, body } = await call('POST', rolePath('team-a-admin', '/attach-policy'), attached(name));
      expect([status, body.message]).toEqual([403, expect.stringContaining(`you may not attach policy \`${name}\``)]);
      expect(body.message).toContain(`the right \`BindPolicy\` on \`srn2:policy#${name}\` would allow it`);
    }
    store.seed(role('team-a-wide', { policies: ['team-a-wide'] }));
    const { status, body } = await call('POST', rolePath('team-a-wide', '/create-assignment'), bob);
    expect([status, body.message]).toEqual([
      403,
      'you may not assign role `team-a-wide`: statements[0] of policy `team-a-wide` gives `DeleteTable` on `srn2:table#*`, which you do not hold; the right `AssignRole` on `srn2:role#team-a-wide` would allow it',
    ]);
  });

  it('cannot remove a deny from itself by any change', async () => {
    const own = {
      'team-a-own': TEAM,
      'team-a-reads': [READS],
      'team-a-not': [deny(['Query'], 'srn2:table#a_salaries')],
    };
    const { call, store } = await gatewayFor(own);
    store.seed(
      role('team-a-denied', { policies: ['team-a-not'] }),
      roleAssignment('denied', { role: 'team-a-denied', subjects: [{ type: 'user-email', name: 'bob@example.com' }] }),
    );
    const refusals = [
      await call('POST', rolePath('team-a-admin', '/detach-policy'), attached('team-a-not')),
      await call('PUT', policyPath('team-a-not'), document(deny(['Query'], 'srn2:table#a_other'))),
      await call('PUT', policyPath('team-a-not'), document(deny(['GetSize'], 'srn2:table#a_salaries'))),
      await call('POST', rolePath('team-a-denied', '/delete-assignment'), bob),
    ];
    for (const { status, body } of refusals) {
      expect([status, body.message]).toEqual([
        403,
        expect.stringContaining(
          'statements[0] of policy `team-a-not` removes the deny of `Query` on `srn2:table#a_salaries`, which statements[0] of policy `team-a-not` denies to you',
        ),
      ]);
    }
    // Handing on everything around the deny is possible, the denied part is not.
    const around = document(allow(['Query'], 'srn2:table#a_*'), deny(['Query'], 'srn2:table#a_salaries'));
    expect((await call('POST', '/policies', { name: 'team-a-p', ...around })).status).toBe(200);
    const { status, body } = await call('PUT', policyPath('team-a-p'), document(allow(['Query'], 'srn2:table#a_*')));
    expect([status, body.message]).toEqual([
      403,
      expect.stringContaining('removes the deny of `Query` on `srn2:table#a_salaries`'),
    ]);
    // A deny may be moved to another policy of the role, but not be widened.
    const wider = await call('PUT', policyPath('team-a-not'), document(deny(['Query'], 'srn2:table#a_s*')));
    expect([wider.status, wider.body.message]).toEqual([
      403,
      expect.stringContaining(
        'statements[0] of policy `team-a-not` denies `Query` on `srn2:table#a_s*` to you, too, so that you could not take it back',
      ),
    ]);
    const same = document(deny(['Query'], 'srn2:table#a_salaries'));
    expect((await call('POST', '/policies', { name: 'team-a-not2', ...same })).status).toBe(200);
    expect((await call('POST', rolePath('team-a-admin', '/attach-policy'), attached('team-a-not2'))).status).toBe(200);
    expect((await call('POST', rolePath('team-a-admin', '/detach-policy'), attached('team-a-not'))).status).toBe(200);
  });

  it('changes nothing by sending again what is stored', async () => {
    const { call, store } = await gatewayFor({ 'team-a-own': TEAM });
    const wide = [allow(['DeleteTable'], 'srn2:table#*'), deny(['Query'], 'srn2:table#*')];
    store.seed(policy('team-a-wide', { statements: wide }));
    expect((await call('PUT', policyPath('team-a-wide'), { description: 'x', ...document(...wide) })).status).toBe(200);
    // A deny of what is denied already needs nothing, another one what it denies.
    const same = [...wide, deny(['Query'], 'srn2:table#x')];
    expect((await call('PUT', policyPath('team-a-wide'), document(...same))).status).toBe(200);
    const narrower = [...wide, deny(['DeleteTable'], 'srn2:table#x')];
    expect((await call('PUT', policyPath('team-a-wide'), document(...narrower))).status).toBe(403);
  });

  describe('denies others only what it holds', () => {
    const EVERYBODY = { subject: 'example.com', subjectType: 'domain' };
    const start = async () => {
      const gateway = await gatewayFor({ 'team-a-own': TEAM, 'team-a-reads': [READS] });
      gateway.store.seed(
        role('team-a-r'),
        policy('closed', { statements: [deny(['*'], '*')] }),
        policy('team-a-closed', { statements: [deny(['Query'], 'srn2:table#*')] }),
        role('team-a-shut', { policies: ['team-a-closed'] }),
      );
      return gateway;
    };

    it.each([
      ['everything', deny(['*'], '*'), '`*` on `srn2:environment#*`'],
      ['other tables', deny(['Query'], 'srn2:table#a_events', 'srn2:table#b'), '`Query` on `srn2:table#b`'],
      ['another action', deny(['GetSize'], 'srn2:table#a_events'), '`GetSize` on `srn2:table#a_events`'],
      ['other roles', deny(['GetRole'], 'srn2:role#*'), '`GetRole` on `srn2:role#*`'],
    ])('and not %s, by a new policy, a change, an attachment', async (_what, statement, missing) => {
      const { call, store } = await start();
      store.seed(policy('team-a-p', { statements: [READS] }), policy('team-a-ready', { statements: [statement] }));
      const refusals = [
        await call('POST', '/policies', { name: 'team-a-q', ...document(statement) }),
        await call('PUT', policyPath('team-a-p'), document(READS, statement)),
        await call('POST', rolePath('team-a-r', '/attach-policy'), attached('team-a-ready')),
      ];
      for (const { status, body } of refusals) {
        const lacks = 'which you do not hold, so that you could not take it back; the right `';
        expect([status, body.message]).toEqual([403, expect.stringContaining(`denies ${missing}, ${lacks}`)]);
      }
      expect(store.get('Role', 'team-a-r')?.spec.policies ?? []).toEqual([]);
    });

    it('and not by a role that has the deny already', async () => {
      const { call } = await start();
      const { status, body } = await call('POST', rolePath('team-a-shut', '/create-assignment'), EVERYBODY);
      expect([status, body.message]).toEqual([
        403,
        expect.stringContaining(
          'statements[0] of policy `team-a-closed` denies `Query` on `srn2:table#*`, which you do not hold',
        ),
      ]);
    });

    it('and takes each of its denies back', async () => {
      const { call, directory } = await start();
      const held = deny(['Query'], 'srn2:table#a_*');
      const steps: ['POST' | 'PUT', string, object][] = [
        ['POST', '/policies', { name: 'team-a-p', ...document(held) }],
        ['POST', rolePath('team-a-r', '/attach-policy'), attached('team-a-p')],
        ['POST', rolePath('team-a-r', '/create-assignment'), bob],
        ['POST', rolePath('team-a-r', '/delete-assignment'), bob],
        ['POST', rolePath('team-a-r', '/create-assignment'), bob],
        ['PUT', policyPath('team-a-p'), document(deny(['Query'], 'srn2:table#a_x'))],
        ['POST', rolePath('team-a-r', '/detach-policy'), attached('team-a-p')],
      ];
      for (const [method, path, body] of steps)
        expect((await call(method, path, body)).status, `${method} ${path}`).toBe(200);
      expect(directory.isAllowed(ALICE, 'Query', { levels: [{ kind: 'table', id: 'a_x' }] })).toBe(true);
    });

    it('and not itself: by its own role, and as one of the subjects', async () => {
      const { call, store } = await start();
      const held = deny(['Query'], 'srn2:table#a_x');
      store.seed(policy('team-a-p', { statements: [held] }), role('team-a-s', { policies: ['team-a-p'] }));
      const refusals = [
        await call('PUT', policyPath('team-a-reads'), document(READS, held)),
        await call('POST', rolePath('team-a-admin', '/attach-policy'), attached('team-a-p')),
        await call('POST', rolePath('team-a-s', '/create-assignment'), {
          subject: ALICE.id,
          subjectType: 'user-email',
        }),
        await call('POST', rolePath('team-a-s', '/create-assignment'), {
          subject: ALICE.groups[0],
          subjectType: 'group',
        }),
      ];
      for (const { status, body } of refusals)
        expect([status, body.message]).toEqual([
          403,
          expect.stringContaining('denies `Query` on `srn2:table#a_x` to you, too'),
        ]);
      expect((await call('POST', rolePath('team-a-s', '/create-assignment'), bob)).status).toBe(200);
    });
  });
});

describe('delegation rights', () => {
  it('are for single policies and roles', async () => {
    const rights = [
      allow(['BindPolicy'], 'srn2:policy#table-reader'),
      allow(['AssignRole'], 'srn2:role#team-a-r'),
      allow(['EscalatePolicy'], 'srn2:policy#team-a-free'),
    ];
    const { call } = await gatewayFor({ 'team-a-own': [...TEAM, ...rights] });
    expect((await call('POST', '/roles', { name: 'team-a-r' })).status).toBe(200);
    expect((await call('POST', '/roles', { name: 'team-a-s' })).status).toBe(200);
    for (const name of ['team-a-r', 'team-a-s']) {
      expect((await call('POST', rolePath(name, '/attach-policy'), attached('table-reader'))).status).toBe(200);
    }
    expect((await call('POST', rolePath('team-a-r', '/create-assignment'), bob)).status).toBe(200);
    expect((await call('POST', rolePath('team-a-s', '/create-assignment'), bob)).status).toBe(403);
    expect((await call('POST', rolePath('team-a-s', '/attach-policy'), attached('cluster-admin'))).status).toBe(403);
    expect((await call('POST', '/policies', { name: 'team-a-free', ...document(allow(['*'], '*')) })).status).toBe(200);
    expect((await call('POST', '/policies', { name: 'team-a-other', ...document(allow(['*'], '*')) })).status).toBe(
      403,
    );
    expect((await call('POST', rolePath('team-a-s', '/attach-policy'), attached('team-a-free'))).status).toBe(403);
  });

  it('are needed for an invalid policy, which denies everything until it is repaired', async () => {
    const broken: Statement[] = [{ effect: 'allow', actions: ['Quary'], resources: ['*'] }];
    const refused = await gatewayFor({ 'team-a-own': TEAM });
    const rights = [
      allow(['BindPolicy', 'EscalatePolicy'], 'srn2:policy#team-a-*'),
      allow(['AssignRole'], 'srn2:role#team-a-*'),
    ];
    const allowed = await gatewayFor({ 'team-a-own': [...TEAM, ...rights] });
    for (const [{ call, store }, status] of [
      [refused, 403],
      [allowed, 200],
    ] as const) {
      store.seed(
        policy('team-a-broken', { statements: broken }),
        role('team-a-r', { policies: ['team-a-broken'] }),
        role('team-a-s'),
      );
      const answers = [
        await call('POST', rolePath('team-a-s', '/attach-policy'), attached('team-a-broken')),
        await call('POST', rolePath('team-a-r', '/create-assignment'), bob),
        await call('POST', rolePath('team-a-r', '/detach-policy'), attached('team-a-broken')),
        await call('PUT', policyPath('team-a-broken'), document(deny(['Query'], 'srn2:table#x'))),
      ];
      expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => status));
      if (status === 200) continue;
      for (const { body } of answers) {
        expect(body.message).toContain('policy `team-a-broken` is invalid and denies everything');
      }
    }
  });
});

describe('predefined roles', () => {
  it('let an administrator of access make a team of policy 4, and nothing that reads a table', async () => {
    const { call } = await testGateway({ roles: ['rbac-admin'] });
    expect((await call('POST', '/policies', { name: 'team-a-own', ...document(...TEAM) })).status).toBe(200);
    expect((await call('POST', '/policies', { name: 'p', ...document(READS) })).status).toBe(403);
    for (const [name, status] of [
      ['rbac-admin', 200],
      ['table-reader', 403],
      ['system-admin', 403],
    ] as const) {
      expect((await call('POST', rolePath(name, '/create-assignment'), bob)).status).toBe(status);
    }
  });

  it('let a system administrator do everything', async () => {
    const { call } = await testGateway({ roles: ['system-admin'] });
    const rights = allow(['EscalatePolicy', 'BindPolicy', 'AssignRole'], '*');
    for (const [name, statements] of [
      ['all', [allow(['*'], '*')]],
      ['rights', [rights]],
    ] as const) {
      expect((await call('POST', '/policies', { name, ...document(...statements) })).status).toBe(200);
    }
    expect((await call('POST', rolePath('system-admin', '/create-assignment'), bob)).status).toBe(200);
  });
});
