import { describe, expect, it } from 'vitest';
import { Writable } from 'node:stream';
import { ServiceTokenAuthenticator } from '../../../../src/access/authenticators/service-token.ts';
import type { AuditRecord } from '../../../../src/api/server/logs/audit-record.ts';
import { AuditLog } from '../../../../src/api/server/logs/audit.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { createLogger } from '../../../../src/platform/logging.ts';
import { policy, role, roleAssignment, serviceToken, statement } from '../../../builders/resources.ts';
import { ALICE } from '../../../support/app.ts';
import { inPath, NOW, testGateway } from './gateway.ts';

const all = { version: 'v1', statements: [{ effect: 'allow', resources: ['*'] }] };

it('the message of an error shows the hidden characters of a name', async () => {
  const { call } = await testGateway();
  const { body } = await call('GET', '/roles/srn2:role%23a%E2%80%8Bb%E2%80%AE');
  expect(body.message).toContain('`a⟨U+200B⟩b⟨U+202E⟩`');
});

it('a service token shows its last rotation, and the former secrets that are still accepted', async () => {
  const { call, store } = await testGateway();
  const hash = (letter: string): string => `sha256:${letter.repeat(64)}`;
  store.seed({
    ...serviceToken('rotated'),
    status: {
      accessKey: 'a'.repeat(16),
      secretHash: hash('a'),
      rotatedAt: '2026-10-31T00:00:00Z',
      previousHashes: [
        { hash: hash('b'), validUntil: '2026-11-02T00:00:00Z' },
        { hash: hash('c'), validUntil: '2026-10-31T00:00:00Z' },
      ],
    },
  });
  const { body } = await call('GET', `/service-tokens/${inPath('service-token', 'rotated')}`);
  expect(body).toMatchObject({
    rotatedAt: '2026-10-31T00:00:00Z',
    formerSecrets: [{ validUntil: '2026-11-02T00:00:00Z' }],
  });
  expect(JSON.stringify(body)).not.toContain('sha256');
});

describe('service tokens over REST', () => {
  it('returns the secret once, and accepts the token when it has a role', async () => {
    const { call, directory } = await testGateway();
    const authenticator = new ServiceTokenAuthenticator(directory, { now: () => NOW.getTime() });
    const made = await call('POST', '/service-tokens', {
      description: 'nightly',
      expiresAt: '2026-12-01T00:00:00+01:00',
    });
    const { accessKey, secretKey, bearerToken, srn } = made.body;
    expect(made.status).toBe(200);
    expect(made.headers['cache-control']).toBe('no-store');
    expect(accessKey).toMatch(/^[a-z0-9]{16}$/);
    expect(secretKey).toMatch(/^[a-z0-9]{32}$/);
    expect(bearerToken).toBe(`svc-${accessKey}-${secretKey}`);
    expect(srn).toBe(`srn2:service-token#${accessKey}`);
    const credential = { scheme: 'bearer', token: bearerToken } as const;
    expect(await authenticator.authenticate(credential)).toEqual({
      outcome: 'rejected',
      message: `the service token \`${accessKey}\` has no role: assign one to it before it can be used`,
    });
    const path = `/service-tokens/${inPath('service-token', accessKey)}`;
    expect((await call('GET', path)).body).toEqual({
      srn,
      accessKey,
      description: 'nightly',
      createdAt: expect.any(String),
      createdBy: ALICE.srn,
      expiresAt: '2026-12-01T00:00:00+01:00',
      roles: [],
      status: 'UNASSIGNED',
    });
    await call('POST', `/roles/${inPath('role', 'table-reader')}/create-assignment`, {
      subject: accessKey,
      subjectType: 'service-token',
    });
    expect((await call('GET', path)).body).toMatchObject({
      status: 'ACTIVE',
      roles: [{ name: 'table-reader', srn: 'srn2:role#table-reader' }],
    });
    expect(await authenticator.authenticate(credential)).toMatchObject({
      outcome: 'authenticated',
      principal: { srn, kind: 'service-token' },
    });
    expect(JSON.stringify((await call('GET', '/service-tokens')).body)).not.toContain(secretKey);
    expect((await call('DELETE', path)).status).toBe(200);
    expect(await authenticator.authenticate(credential)).toMatchObject({ outcome: 'rejected' });
    expect((await call('GET', path)).status).toBe(404);
    expect((await call('GET', `/roles/${inPath('role', 'table-reader')}/assignments`)).body).toEqual([]);
  });

  it('rejects a past expiry time, and a token that does not exist', async () => {
    const { call } = await testGateway();
    const past = await call('POST', '/service-tokens', { description: 'x', expiresAt: '2026-10-01T00:00:00Z' });
    expect([past.status, past.body.message]).toEqual([400, expect.stringContaining('must be in the future')]);
    const wrong = await call('POST', '/service-tokens', { description: 'x', expiresAt: 'tomorrow' });
    expect(wrong.status).toBe(400);
    const nobody = await call('POST', `/roles/${inPath('role', 'table-reader')}/create-assignment`, {
      subject: 'aaaaaaaaaaaaaaaa',
      subjectType: 'service-token',
    });
    expect([nobody.status, nobody.body.message]).toEqual([400, expect.stringContaining('there is no service token')]);
  });
});

describe('simulate-access', () => {
  const question = { action: 'Query', resourceSrn2String: 'srn2:table#events' };

  it('returns the statements that determine the decision', async () => {
    const { call, store } = await testGateway();
    store.seed(
      policy('readers', { statements: [statement({ description: 'read events' })] }),
      role('analysts', { policies: ['readers'] }),
      roleAssignment('a', { role: 'analysts', subjects: [{ type: 'group', name: 'data' }] }),
    );
    const allowed = await call('POST', '/simulate-access', { subjectTypeToSubject: { group: 'data' }, ...question });
    expect(allowed).toMatchObject({
      status: 200,
      body: {
        decision: 'ALLOW',
        reason: 'allowed',
        matchedStatements: [
          {
            role: 'analysts',
            policy: 'readers',
            roleSrn: 'srn2:role#analysts',
            policySrn: 'srn2:policy#readers',
            statementIndex: 0,
            effect: 'allow',
            description: 'read events',
            actions: ['Query'],
            resources: ['srn2:table#events'],
          },
        ],
        principal: {
          subjects: [{ subject: 'data', subjectType: 'group' }],
          roles: [{ name: 'analysts', srn: 'srn2:role#analysts' }],
        },
      },
    });
    const many = await call('POST', '/simulate-access', {
      subjectTypeToSubject: { email: 'x@y.z', group: ['data', 'other'] },
      requests: [question, { ...question, action: 'DeleteTable' }],
    });
    expect(many.body.results).toMatchObject([
      { ...question, decision: 'ALLOW' },
      { action: 'DeleteTable', decision: 'DENY', reason: 'implicitDeny', matchedStatements: [] },
    ]);
  });

  it('evaluates an unsaved policy together with the stored ones', async () => {
    const { call } = await testGateway();
    const { body } = await call('POST', '/simulate-access', {
      subjectTypeToSubject: { 'user-email': ALICE.id },
      policyDocumentJson: '{"version":"v1","statements":[{"effect":"deny","resources":"srn2:table#events"}]}',
      ...question,
    });
    expect(body).toMatchObject({
      decision: 'DENY',
      reason: 'explicitDeny',
      matchedStatements: [{ role: null, policy: null, statementIndex: 0, effect: 'deny' }],
    });
  });

  it('limits the statements in its response, and gives every result a reason', async () => {
    const { call } = await testGateway();
    const table = (index: number) => ({
      effect: 'allow',
      actions: ['Query'],
      resources: Array.from({ length: 20 }, () => `srn2:table#${'e'.repeat(index % 2)}${'*'.repeat(400)}`),
    });
    const { status, body } = await call('POST', '/simulate-access', {
      subjectTypeToSubject: { 'user-email': 'nobody@example.com' },
      policyDocument: { version: 'v1', statements: Array.from({ length: 100 }, (_, index) => table(index)) },
      requests: Array.from({ length: 500 }, () => question),
    });
    expect(status).toBe(200);
    const counts = body.results.map((result: { matchedStatements: unknown[] }) => result.matchedStatements.length);
    expect(counts.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 100));
    expect(counts.slice(10)).toEqual(Array.from({ length: 490 }, () => 1));
    expect(body.results[0].matchedStatements[0].resources).toHaveLength(20);
    expect(body.results[499]).toEqual({
      ...question,
      decision: 'ALLOW',
      reason: 'allowed',
      matchedStatements: [
        {
          role: null,
          policy: null,
          roleSrn: null,
          policySrn: null,
          statementIndex: expect.any(Number),
          effect: 'allow',
        },
      ],
    });
    expect(JSON.stringify(body).length).toBeLessThan(600_000);
  });

  it('limits the number of requests by the number of patterns', async () => {
    const { call } = await testGateway();
    const resources = Array.from({ length: 250 }, (_, index) => `srn2:table#t${index}*x`);
    const ask = (questions: number) =>
      call('POST', '/simulate-access', {
        subjectTypeToSubject: { 'user-email': 'nobody@example.com' },
        policyDocument: {
          version: 'v1',
          statements: Array.from({ length: 8 }, () => ({ effect: 'allow', resources })),
        },
        requests: Array.from({ length: questions }, () => question),
      });
    expect((await ask(100)).status).toBe(200);
    const { status, body } = await ask(101);
    expect([status, body.message]).toEqual([
      400,
      '`requests` has 101 entries: at most 100 are allowed for the 2000 resources with a `*` before their end that these roles and this policy have',
    ]);
  });

  it.each([
    [
      { subjectTypeToSubject: { group: 'a' }, ...question, resourceSrn2String: `srn2:table#${'t'.repeat(513)}` },
      /at most 512/,
    ],
    [{ subjectTypeToSubject: {}, ...question }, /needs at least one subject/],
    [{ subjectTypeToSubject: { grup: 'a' }, ...question }, /did you mean `group`/],
    [{ subjectTypeToSubject: { group: 'a' }, action: 'Query' }, /`resourceSrn2String` in the body: is missing/],
    [{ subjectTypeToSubject: { group: 'a' }, ...question, action: 'Quary' }, /did you mean `Query`/],
    [{ subjectTypeToSubject: { group: 'a' }, ...question, resourceSrn2String: 'events' }, /must begin with `srn2:`/],
    [{ subjectTypeToSubject: { group: 'a' }, ...question, requests: [question] }, /not both/],
  ])('refuses %j', async (body, message) => {
    const { call } = await testGateway();
    const answer = await call('POST', '/simulate-access', body);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(message);
  });
});

describe('whoami', () => {
  it('returns the caller with its subjects, roles and policies', async () => {
    const { call } = await testGateway({ roles: ['table-reader'] });
    expect((await call('GET', '/whoami')).body).toEqual({
      srn: ALICE.srn,
      kind: 'user',
      authenticator: 'token-file',
      subjects: [
        { subject: ALICE.id, subjectType: 'user-email' },
        { subject: 'analysts', subjectType: 'group' },
        { subject: 'example.com', subjectType: 'domain' },
      ],
      roles: [{ name: 'table-reader', srn: 'srn2:role#table-reader' }],
      assignments: [{ role: 'table-reader', subject: ALICE.id, subjectType: 'user-email', expiresAt: null }],
      policies: [{ name: 'table-reader', srn: 'srn2:policy#table-reader' }],
      values: {
        'subject.email': [ALICE.id],
        'subject.user': [ALICE.id],
        'subject.domain': ['example.com'],
        'subject.groups': ['analysts'],
      },
    });
  });

  it('shows by which assignment the caller has a role, and until when', async () => {
    const { call, store, clock } = await testGateway({ roles: ['table-reader'] });
    const until = (ms: number): string => new Date(NOW.getTime() + ms).toISOString();
    const group = { type: 'group' as const, name: 'analysts' };
    store.seed(
      roleAssignment('short', { role: 'table-reader', subjects: [{ ...group, expiresAt: until(1000) }] }),
      // Of several, the last end counts.
      roleAssignment('long', { role: 'table-reader', subjects: [{ ...group, expiresAt: until(60_000) }] }),
      roleAssignment('past', { role: 'health-reader', subjects: [{ ...group, expiresAt: until(-1) }] }),
      roleAssignment('missing', { role: 'no-such-role', subjects: [group] }),
      roleAssignment('others', { role: 'health-reader', subjects: [{ type: 'group', name: 'others' }] }),
    );
    const own = { role: 'table-reader', subject: ALICE.id, subjectType: 'user-email', expiresAt: null };
    expect((await call('GET', '/whoami')).body.assignments).toEqual([
      own,
      { role: 'table-reader', subject: 'analysts', subjectType: 'group', expiresAt: until(60_000) },
    ]);
    clock.time += 60_000;
    expect((await call('GET', '/whoami')).body.assignments).toEqual([own]);
  });
});

describe('a caller with some rights', () => {
  it('lists what the caller may read, and denies the rest with a reason', async () => {
    const { call, store } = await testGateway({ roles: ['limited'] });
    store.seed(
      policy('limited', {
        statements: [
          statement({
            actions: ['GetRole', 'GetPolicy', 'UpdateRole'],
            resources: ['srn2:role#team-*', 'srn2:policy#team-*'],
          }),
        ],
      }),
      role('limited', { policies: ['limited'] }),
      role('team-a', { policies: ['limited', 'team-p'] }),
      role('team-b'),
      role('other'),
      policy('team-p'),
    );
    expect((await call('GET', '/roles')).body.map(({ name }: { name: string }) => name)).toEqual(['team-a', 'team-b']);
    expect((await call('GET', '/policies')).body.map(({ name }: { name: string }) => name)).toEqual(['team-p']);
    const attached = await call('GET', `/roles/${inPath('role', 'team-a')}/policies`);
    expect(attached.body.map(({ name }: { name: string }) => name)).toEqual(['team-p']);
    expect((await call('GET', '/service-tokens')).body).toEqual([]);
    expect(await call('GET', `/roles/${inPath('role', 'other')}`)).toMatchObject({
      status: 403,
      body: {
        message:
          '`srn2:user#alice@example.com` may not `GetRole` on `srn2:role#other`: no statement of its roles allows it',
      },
    });
    // 403 for unreadable objects must not reveal whether they exist.
    expect((await call('GET', `/roles/${inPath('role', 'none')}`)).status).toBe(403);
    expect((await call('GET', `/roles/${inPath('role', 'team-none')}`)).status).toBe(404);
    expect((await call('PUT', `/roles/${inPath('role', 'team-a')}`, { description: 'x' })).status).toBe(200);
    expect((await call('POST', '/roles', { name: 'team-c' })).status).toBe(403);
  });

  it('returns a list in pages without repetitions and gaps', async () => {
    const { call, store, app } = await testGateway();
    store.seed(...Array.from({ length: 7 }, (_, index) => role(`zz-${index}`)));
    const names: string[] = [];
    let path: string | undefined = '/roles?limit=5';
    while (path !== undefined) {
      const { body, headers } = await call('GET', path);
      names.push(...body.map(({ name }: { name: string }) => name));
      const next = /^<(.+)>; rel="next"$/.exec((headers['link'] as string | undefined) ?? '')?.[1];
      path = next?.replace('/api/v1/rbac-manager', '');
      if (names.length === 5) {
        await call('DELETE', `/roles/${inPath('role', 'zz-0')}`);
        await call('POST', '/roles', { name: 'aa' });
      }
    }
    expect(names).toEqual([
      'cluster-admin',
      'health-reader',
      'rbac-admin',
      'system-admin',
      'table-reader',
      ...[1, 2, 3, 4, 5, 6].map((index) => `zz-${index}`),
    ]);
    expect((await call('GET', '/roles?continue=bm9uc2Vuc2U')).status).toBe(400);
    expect((await call('GET', '/roles?limit=0')).status).toBe(400);
    await app.close();
  });

  it('audits each write and each denial, without credentials', async () => {
    const records: AuditRecord[] = [];
    let log = '';
    const logger = createLogger('info', new Writable({ write: (chunk, _e, done) => ((log += chunk), done()) }));
    const { call } = await testGateway({
      roles: ['rbac-admin'],
      parts: {
        logger,
        audit: new AuditLog({ write: (record) => void records.push(record), clock: systemClock }),
      },
    });
    await call('POST', '/roles', { name: 'a' });
    await call('GET', '/roles');
    await call('POST', '/policies', { name: 'p', policyDocument: all });
    const { body } = await call('POST', '/service-tokens', { description: 'x' });
    const subject = `svc-${body.accessKey}-${body.secretKey}`;
    await call('POST', `/roles/${inPath('role', subject)}/create-assignment`, {
      subject,
      subjectType: 'service-token',
    });
    const writes = records.slice(0, 3);
    expect(records.length).toBeGreaterThan(3);
    expect(writes.map(({ action, resource, outcome, status }) => [action, resource, outcome, status])).toEqual([
      ['CreateRole', 'srn2:role#a', 'succeeded', 200],
      ['CreatePolicy', 'srn2:policy#p', 'denied', 403],
      ['CreateServiceToken', 'srn2:service-token#*', 'succeeded', 200],
    ]);
    expect(JSON.stringify(records)).not.toContain(body.secretKey);
    expect(log).toContain('rbac-manager');
    expect(log).not.toContain(body.secretKey);
  });
});
