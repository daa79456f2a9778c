import { describe, expect, it } from 'vitest';
import { policy, role, roleAssignment, serviceToken, statement } from '../../../builders/resources.ts';
import { inPath, testGateway } from './gateway.ts';

const document = (effect: 'allow' | 'deny', resource: string) =>
  JSON.stringify({ version: 'v1', statements: [{ effect, actions: ['Query'], resources: [resource] }] });

async function withReaders() {
  const gateway = await testGateway();
  const { call } = gateway;
  await call('POST', '/policies', { name: 'read-events', policyDocumentJson: document('allow', 'srn2:table#events') });
  await call('POST', '/policies', { name: 'no-events', policyDocumentJson: document('deny', 'srn2:table#events') });
  for (const [role, policy] of [
    ['readers', 'read-events'],
    ['barred', 'no-events'],
  ] as const) {
    await call('POST', '/roles', { name: role });
    await call('POST', `/roles/${inPath('role', role)}/attach-policy`, { policySrn: `srn2:policy#${policy}` });
  }
  const assign = (role: string, subject: string) =>
    call('POST', `/roles/${inPath('role', role)}/create-assignment`, { subject, subjectType: 'user-email' });
  await assign('readers', 'zoe@example.com');
  await assign('readers', 'bob@example.com');
  await assign('barred', 'bob@example.com');
  return gateway;
}

describe('who can', () => {
  it('returns the subjects with access to a table and the role that grants it, without denied subjects', async () => {
    const { call } = await withReaders();
    const { status, body } = await call('GET', '/who-can?action=Query&resource=srn2%3Atable%23events');
    expect(status).toBe(200);
    const answer = body as unknown as { subjects: { subject: string }[] };
    expect(answer.subjects).toContainEqual({
      subject: 'zoe@example.com',
      subjectType: 'user-email',
      role: 'readers',
      policy: 'read-events',
      statementIndex: 0,
      expiresAt: null,
    });
    expect(answer.subjects.map(({ subject }) => subject)).not.toContain('bob@example.com');
  });

  it('names the roles that allow any action on any resource, also those without subjects', async () => {
    const { call, store } = await withReaders();
    store.seed(
      policy('drop', {
        statements: [
          statement({ actions: ['Query'] }),
          statement({ actions: ['DeleteTable'], resources: ['srn2:table#events'] }),
        ],
      }),
      role('cleaners', { policies: ['drop'] }),
    );
    const { body } = await call('GET', '/who-can?action=DeleteTable&resource=srn2%3Atable%23events');
    expect(body.roles).toEqual([
      { role: 'cleaners', policy: 'drop', statementIndex: 1 },
      { role: 'cluster-admin', policy: 'cluster-admin', statementIndex: 0 },
      { role: 'system-admin', policy: 'system-admin', statementIndex: 0 },
    ]);
    expect(body.totalRoles).toBe(3);
    const anything = await call('GET', '/who-can?action=*&resource=srn2%3Acluster%23pinot');
    expect(anything.body.roles.map((entry: { role: string }) => entry.role)).toEqual(['cluster-admin', 'system-admin']);
  });

  it('shows the expiry of a service token that is earlier than that of its assignment, and no expired token', async () => {
    const { call, store, clock } = await withReaders();
    const ends = (ms: number) => ({ expiresAt: new Date(clock.time + ms).toISOString() });
    const subjects = ['soon', 'old', 'lasting'].map((name) => ({
      type: 'service-token' as const,
      name,
      ...ends(60_000),
    }));
    store.seed(
      serviceToken('soon', ends(30_000)),
      serviceToken('old', ends(-1)),
      serviceToken('lasting', ends(90_000)),
      roleAssignment('tokens', { role: 'readers', subjects }),
    );
    const listed = async () => {
      const { body } = await call('GET', '/who-can?action=Query&resource=srn2%3Atable%23events');
      return (body.subjects as { subjectType: string; subject: string; expiresAt: string }[])
        .filter(({ subjectType }) => subjectType === 'service-token')
        .map(({ subject, expiresAt }) => [subject, expiresAt]);
    };
    const [soon, lasting] = [ends(30_000), ends(60_000)];
    expect(await listed()).toEqual([
      ['lasting', lasting.expiresAt],
      ['soon', soon.expiresAt],
    ]);
    clock.time += 30_000;
    expect(await listed()).toEqual([['lasting', lasting.expiresAt]]);
  });

  it('shows the expiry of an assignment, and the description of a service token beside its key', async () => {
    const { call, clock } = await withReaders();
    const { body: token } = await call('POST', '/service-tokens', { description: 'Nightly load' });
    const expiresAt = new Date(clock.time + 60_000).toISOString();
    await call('POST', `/roles/${inPath('role', 'readers')}/create-assignment`, {
      subject: token.accessKey,
      subjectType: 'service-token',
      expiresAt,
    });
    const ask = async () => (await call('GET', '/who-can?action=Query&resource=srn2%3Atable%23events')).body.subjects;
    expect(await ask()).toContainEqual({
      subject: token.accessKey,
      subjectType: 'service-token',
      description: 'Nightly load',
      role: 'readers',
      policy: 'read-events',
      statementIndex: 0,
      expiresAt,
    });
    clock.time += 60_000;
    expect((await ask()).map(({ subject }: { subject: string }) => subject)).not.toContain(token.accessKey);
  });

  it('truncates the list at the limit, with an exact count', async () => {
    const { call } = await withReaders();
    await call('POST', `/roles/${inPath('role', 'readers')}/create-assignment`, {
      subject: 'amy@example.com',
      subjectType: 'user-email',
    });
    const all = (await call('GET', '/who-can?action=Query&resource=srn2%3Atable%23events')).body as unknown as {
      total: number;
    };
    const limited = (await call('GET', '/who-can?action=Query&resource=srn2%3Atable%23events&limit=1'))
      .body as unknown as {
      total: number;
      subjects: unknown[];
    };
    expect(limited.subjects).toHaveLength(1);
    expect(limited.total).toBe(all.total);
    expect(all.total).toBeGreaterThanOrEqual(2);
  });

  it.each([
    ['action=Query&resource=events', /resource/],
    ['action=Qeury&resource=srn2%3Atable%23events', /Qeury/],
    ['resource=srn2%3Atable%23events', /action/],
  ])('rejects %s', async (query, message) => {
    const { call } = await testGateway();
    const answer = await call('GET', `/who-can?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(message);
  });
});
