import { describe, expect, it } from 'vitest';
import { tableResource } from '../../../../src/access/policy/srn.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import { formatDay } from '../../../../src/access/usage/usage-record.ts';
import { UsageTracker } from '../../../../src/access/usage/usage-tracker.ts';
import type { ObjectMeta } from '../../../../src/resources/meta.ts';
import { policy, role, roleAssignment, serviceToken, statement, withMeta } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryDocument } from '../../access/usage/memory-document.ts';
import { silent } from '../../operator/fakes.ts';
import { inPath, testGateway, type TestGateway } from './gateway.ts';

const DAY = 86_400_000;
const ADA = {
  kind: 'user',
  srn: 'srn2:user#ada@example.com',
  id: 'ada@example.com',
  groups: [],
  domain: undefined,
  authenticator: 'test',
} as const;
const USED = statement({ actions: ['Query'] });
const UNUSED = statement({ actions: ['DeleteTable'], description: 'Drops' });

/** A gateway whose record begins on 2026-01-01, with objects of that day. */
async function recorded(roles: readonly string[] = ['system-admin']) {
  const clock = new FakeClock('2026-01-01T12:00:00Z');
  const usage = new UsageTracker({
    document: new MemoryDocument(),
    clock,
    log: silent,
    liveKeys: async () => new Set(),
  });
  usage.start();
  const gateway = await testGateway({ usage, roles });
  const old = <T extends { readonly metadata: Readonly<ObjectMeta> }>(object: T): T =>
    withMeta<T>({ creationTimestamp: '2026-01-01T00:00:00Z' })(object);
  gateway.store.seed(
    policy('read', { statements: [USED, UNUSED] }, old),
    role('analysts', { policies: ['read'] }, old),
    role('forgotten', { description: 'Nobody' }, old),
    roleAssignment('a', {}, old),
    roleAssignment('b', { subjects: [{ type: 'group', name: 'data' }] }, old),
    serviceToken('loader', {}, old),
  );
  gateway.clock.time = clock.now();
  const pass = async (days: number): Promise<void> => {
    clock.jump(days * DAY);
    // The tracker looks at the day once a minute.
    await clock.advance(60_000);
    gateway.clock.time = clock.now();
  };
  const query = () => gateway.directory.isAllowed(ADA, 'Query', tableResource(tableNameOf('events')));
  return { ...gateway, usage, pass, query };
}

async function review(
  { call }: TestGateway,
  query = '',
): Promise<{ complete: boolean; total: number; unused: { kind: string }[] }> {
  const { status, body } = await call('GET', `/access-review${query}`);
  expect(status).toBe(200);
  return body;
}

describe('the access review', () => {
  it('lists what was not used for that many days, with the day of the last use', async () => {
    const gateway = await recorded();
    await gateway.pass(10);
    expect(gateway.query()).toBe(true);
    await gateway.pass(80);
    const { unused, ...rest } = await review(gateway, '?unusedDays=90');
    expect(rest).toMatchObject({ trackedSince: '2026-01-01', unusedDays: 90, complete: true, total: 4 });
    const never = { lastUsedAt: null, unusedSince: '2026-01-01' };
    expect(unused).toEqual([
      { kind: 'assignment', role: 'analysts', subject: 'data', subjectType: 'group', ...never },
      { kind: 'role', role: 'forgotten', description: 'Nobody', ...never },
      { kind: 'service-token', serviceToken: 'loader', subject: 'loader', subjectType: 'service-token', ...never },
      { kind: 'statement', policy: 'read', statementIndex: 1, description: 'Drops', ...never },
    ]);
    await gateway.pass(11);
    expect((await review(gateway)).unused).toContainEqual({
      kind: 'role',
      role: 'analysts',
      lastUsedAt: '2026-01-11',
      unusedSince: '2026-01-12',
    });
  });

  it('lists nothing while the record is younger than the period, and reports that', async () => {
    const gateway = await recorded();
    await gateway.pass(30);
    expect(await review(gateway)).toMatchObject({ complete: false, total: 0 });
    gateway.store.seed(role('new', {}, withMeta({ creationTimestamp: new Date(gateway.clock.time).toISOString() })));
    const names = (await review(gateway, '?unusedDays=30')).unused as unknown as { role?: string }[];
    expect(names.map((entry) => entry.role)).toContain('forgotten');
    expect(names.map((entry) => entry.role)).not.toContain('new');
  });

  it('lists a statement again only after its change has been unused as long', async () => {
    const gateway = await recorded();
    await gateway.pass(50);
    await gateway.call('PUT', `/policies/${inPath('policy', 'read')}`, {
      policyDocument: { version: 'v1', statements: [{ ...UNUSED, actions: ['DeleteSchema'] }] },
    });
    await gateway.pass(50);
    expect((await review(gateway)).unused.map(({ kind }) => kind)).not.toContain('statement');
    await gateway.pass(40);
    expect((await review(gateway)).unused.map(({ kind }) => kind)).toContain('statement');
  });

  it('shows only what the caller may read', async () => {
    const gateway = await recorded(['health-reader']);
    await gateway.pass(100);
    expect(await review(gateway)).toMatchObject({ total: 0, unused: [] });
  });

  it.each(['0', '-1', 'x', '1.5', '100000'])('refuses %s days', async (days) => {
    const { call } = await recorded();
    expect((await call('GET', `/access-review?unusedDays=${days}`)).status).toBe(400);
  });
});

describe('lastUsedAt', () => {
  it('is shown by roles, assignments and service tokens', async () => {
    const gateway = await recorded();
    const { call } = gateway;
    const today = formatDay(gateway.usage.day);
    gateway.query();
    expect((await call('GET', `/roles/${inPath('role', 'analysts')}`)).body.lastUsedAt).toBe(today);
    expect((await call('GET', `/roles/${inPath('role', 'forgotten')}`)).body.lastUsedAt).toBeNull();
    const roles = (await call('GET', '/roles')).body as { name: string; lastUsedAt: string }[];
    expect(roles.find(({ name }) => name === 'analysts')?.lastUsedAt).toBe(today);
    const path = `/roles/${inPath('role', 'analysts')}/assignments`;
    expect((await call('GET', path)).body).toMatchObject([
      { subject: 'data', lastUsedAt: null },
      { subject: 'ada@example.com', lastUsedAt: today },
    ]);
    const all = (await call('GET', '/assignments')).body as { subject: string; lastUsedAt: string }[];
    expect(all.find(({ subject }) => subject === 'ada@example.com')?.lastUsedAt).toBe(today);
    expect((await call('GET', '/service-tokens')).body).toMatchObject([{ lastUsedAt: null }]);
    expect((await call('GET', `/service-tokens/${inPath('service-token', 'loader')}`)).body.lastUsedAt).toBeNull();
  });
});
