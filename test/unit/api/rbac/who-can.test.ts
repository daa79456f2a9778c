import { describe, expect, it } from 'vitest';
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
    });
    expect(answer.subjects.map(({ subject }) => subject)).not.toContain('bob@example.com');
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
