import { describe, expect, it } from 'vitest';
import { tableResource } from '../../../../src/access/policy/srn.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import { policy, role, roleAssignment, statement } from '../../../builders/resources.ts';
import { inPath, NOW, testGateway, type TestGateway } from './gateway.ts';

const AT = (seconds: number): string => new Date(NOW.getTime() + seconds * 1000).toISOString();
const ASSIGN = `/roles/${inPath('role', 'analysts')}/create-assignment`;
const LIST = `/roles/${inPath('role', 'analysts')}/assignments`;
const ADA = { subject: 'ada@example.com', subjectType: 'user-email' };
const PRINCIPAL = {
  kind: 'user',
  srn: 'srn2:user#ada@example.com',
  id: 'ada@example.com',
  groups: [],
  domain: undefined,
  authenticator: 'test',
} as const;

async function withAnalysts() {
  const gateway = await testGateway();
  gateway.store.seed(policy('read'), role('analysts', { policies: ['read'] }));
  const mayQuery = () => gateway.directory.isAllowed(PRINCIPAL, 'Query', tableResource(tableNameOf('events')));
  return { ...gateway, mayQuery };
}

describe('an assignment with an expiry', () => {
  it('is in the response, in the lists and in the resource, and ends to the second', async () => {
    const { call, clock, store, mayQuery } = await withAnalysts();
    const { status, body } = await call('POST', ASSIGN, { ...ADA, expiresAt: AT(60) });
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...ADA, expiresAt: AT(60), status: 'ACTIVE' });
    expect(store.truth('RoleAssignment').find(({ spec }) => spec.role === 'analysts')?.spec.subjects).toEqual([
      { type: 'user-email', name: 'ada@example.com', expiresAt: AT(60) },
    ]);
    clock.time += 59_999;
    expect(mayQuery()).toBe(true);
    clock.time += 1;
    expect(mayQuery()).toBe(false);
    expect((await call('GET', LIST)).body).toMatchObject([{ ...ADA, expiresAt: AT(60), status: 'EXPIRED' }]);
    const all = (await call('GET', '/assignments')).body as { role: string }[];
    expect(all.find((entry) => entry.role === 'analysts')).toMatchObject({ expiresAt: AT(60), status: 'EXPIRED' });
  });

  it('is replaced by assigning again: by another expiry, and by none', async () => {
    const { call, store, mayQuery, clock } = await withAnalysts();
    await call('POST', ASSIGN, { ...ADA, expiresAt: AT(10) });
    expect((await call('POST', ASSIGN, { ...ADA, expiresAt: AT(20) })).body.expiresAt).toBe(AT(20));
    clock.time += 15_000;
    expect(mayQuery()).toBe(true);
    clock.time += 10_000;
    expect(mayQuery()).toBe(false);
    expect((await call('POST', ASSIGN, ADA)).body).toMatchObject({ expiresAt: null, status: 'ACTIVE' });
    expect(mayQuery()).toBe(true);
    expect((await call('POST', ASSIGN, { ...ADA, expiresAt: null })).body.expiresAt).toBeNull();
    expect(store.truth('RoleAssignment').filter(({ spec }) => spec.role === 'analysts')).toHaveLength(1);
  });

  it('is replaced in every object that names the subject, because the last expiry counts', async () => {
    const { call, store, mayQuery, clock } = await withAnalysts();
    const group = { type: 'group', name: 'data' } as const;
    const ada = { type: 'user-email', name: 'Ada@example.com' } as const;
    store.seed(
      roleAssignment('by-kubectl', { subjects: [group, ada] }),
      roleAssignment('by-kubectl-2', { subjects: [{ ...ada, expiresAt: AT(500) }] }),
    );
    expect((await call('GET', LIST)).body).toContainEqual(expect.objectContaining({ ...ADA, expiresAt: null }));
    await call('POST', ASSIGN, { ...ADA, expiresAt: AT(10) });
    clock.time += 10_000;
    expect(mayQuery()).toBe(false);
    expect(store.truth('RoleAssignment').find(({ metadata }) => metadata.name === 'by-kubectl')?.spec.subjects).toEqual(
      [group, { ...ada, expiresAt: AT(10) }],
    );
  });

  it.each([
    [AT(0), /`expiresAt`: `.*` must be in the future/],
    [AT(-1), /`expiresAt`/],
    ['tomorrow', /expiresAt/],
    ['2026-12-31T23:59:60Z', /expiresAt/],
  ])('is refused with 400 for %s', async (expiresAt, message) => {
    const { call, store } = await withAnalysts();
    const answer = await call('POST', ASSIGN, { ...ADA, expiresAt });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(message);
    expect(store.truth('RoleAssignment').filter(({ spec }) => spec.role === 'analysts')).toEqual([]);
  });

  it('is not a field of delete-assignment', async () => {
    const { call } = await withAnalysts();
    const path = `/roles/${inPath('role', 'analysts')}/delete-assignment`;
    expect((await call('POST', path, { ...ADA, expiresAt: AT(10) })).status).toBe(400);
  });
});

describe('a caller whose own role expires', () => {
  const MINE = { subject: 'visitor@example.com', subjectType: 'user-email' };
  const VISITOR = { ...PRINCIPAL, id: MINE.subject, srn: `srn2:user#${MINE.subject}` };
  const manage = statement({
    actions: ['*Role', '*Policy', '*Assignment', 'Query'],
    resources: ['srn2:role#team-*', 'srn2:policy#team-*', 'srn2:table#events'],
  });

  async function asVisitor(expiresAt: string | undefined) {
    const gateway = await testGateway({ roles: [], principal: VISITOR });
    const visitor = { type: 'user-email', name: MINE.subject } as const;
    gateway.store.seed(
      policy('team-all', { statements: [manage] }),
      role('team-a', { policies: ['team-all'] }),
      roleAssignment('mine', {
        role: 'team-a',
        subjects: [expiresAt === undefined ? visitor : { ...visitor, expiresAt }],
      }),
    );
    return gateway;
  }
  const assign = (gateway: TestGateway, who: object) =>
    gateway.call('POST', `/roles/${inPath('role', 'team-a')}/create-assignment`, who);

  it('can grant it until its own expiry, but not beyond, and cannot extend it', async () => {
    const gateway = await asVisitor(AT(3600));
    expect((await assign(gateway, { ...ADA, expiresAt: AT(3600) })).status).toBe(200);
    for (const beyond of [{ ...ADA, expiresAt: AT(3601) }, ADA, { ...MINE, expiresAt: AT(7200) }, MINE]) {
      const { status, body } = await assign(gateway, beyond);
      expect(status).toBe(403);
      expect(body.message).toContain('which you hold only for a shorter time');
    }
    const document = {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#events'] }],
    };
    const made = await gateway.call('POST', '/policies', { name: 'team-own', policyDocument: document });
    expect(made.status).toBe(403);
  });

  it('can do all of it with a role that does not expire', async () => {
    const gateway = await asVisitor(undefined);
    expect((await assign(gateway, ADA)).status).toBe(200);
  });
});
