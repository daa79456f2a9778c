import { describe, expect, it } from 'vitest';
import { Directory, tokenPrincipal } from '../../../src/access/directory.ts';
import type { Principal } from '../../../src/access/principal.ts';
import { tableResource } from '../../../src/access/policy/srn.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import type { ServiceToken } from '../../../src/resources/kinds.ts';
import { policy, role, roleAssignment, serviceToken, statement, stored, withHashes } from '../../builders/resources.ts';
import { MemoryStore } from './memory-store.ts';

const ADA: Principal = {
  kind: 'user',
  srn: 'srn2:user#ada@example.com',
  id: 'ada@example.com',
  groups: [],
  domain: undefined,
  authenticator: 'test',
};
const ada = { type: 'user-email', name: 'ada@example.com' } as const;

function setUp() {
  const store = new MemoryStore();
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' });
  return {
    store,
    directory,
    mayQuery: (who = ADA) => directory.isAllowed(who, 'Query', tableResource(tableNameOf('events'))),
  };
}

describe('the rights of a caller', () => {
  it('decides by the current state after each change, in any order of events', async () => {
    const { store, directory, mayQuery } = setUp();
    expect(mayQuery()).toBe(false);
    store.seed(roleAssignment('a', { role: 'analysts', subjects: [ada] }));
    expect(mayQuery()).toBe(false);
    store.seed(role('analysts', { policies: ['read'] }));
    expect(mayQuery()).toBe(false);
    store.seed(policy('read'));
    expect(mayQuery()).toBe(true);
    store.seed(policy('read', { statements: [statement({ effect: 'deny' })] }));
    expect(mayQuery()).toBe(false);
    store.seed(policy('read'));
    store.seed(role('analysts', { policies: [] }));
    expect(mayQuery()).toBe(false);
    store.seed(role('analysts', { policies: ['read'] }));
    expect(mayQuery()).toBe(true);
    await store.delete('Policy', 'read');
    expect(mayQuery()).toBe(false);
    store.seed(policy('read'));
    await store.delete('Role', 'analysts');
    expect(mayQuery()).toBe(false);
    store.seed(role('analysts', { policies: ['read'] }));
    await store.delete('RoleAssignment', 'a');
    expect(mayQuery()).toBe(false);
    expect(directory.subjectCount('analysts')).toBe(0);
  });

  it.each(['RoleAssignment', 'Role', 'Policy'] as const)(
    'counts a %s with a finalizer as deleted when its deletion has begun',
    async (kind) => {
      const { store, mayQuery } = setUp();
      const objects = {
        RoleAssignment: roleAssignment('a', { role: 'analysts', subjects: [ada] }),
        Role: role('analysts', { policies: ['read'] }),
        Policy: policy('read'),
      };
      const object = objects[kind];
      for (const each of Object.values(objects)) store.seed(stored<typeof each>({ generation: 1 })(each));
      expect(mayQuery()).toBe(true);
      const finalizers = ['example.com/keep'];
      const deletionTimestamp = '2026-11-22T12:00:00Z';
      store.seed(stored<typeof object>({ generation: 1, finalizers, deletionTimestamp })(object));
      expect(mayQuery()).toBe(false);
      store.seed(stored<typeof object>({ generation: 1, finalizers, deletionTimestamp, labels: { a: 'b' } })(object));
      expect(mayQuery()).toBe(false);
      await store.delete(kind, object.metadata.name);
      store.seed(stored<typeof object>({ generation: 1, uid: 'new' })(object));
      expect(mayQuery()).toBe(true);
    },
  );

  it('accepts no service token whose deletion has begun', () => {
    const { store, directory } = setUp();
    const token = withHashes({ accessKey: 'a'.repeat(16) })(serviceToken('job'));
    store.seed(token);
    expect(directory.tokenByAccessKey('a'.repeat(16))?.name).toBe('job');
    store.seed(stored<ServiceToken>({ deletionTimestamp: '2026-11-22T12:00:00Z' })(token));
    expect(directory.tokenByAccessKey('a'.repeat(16))).toBeUndefined();
  });

  it('keeps a role from two assignments until both are deleted', async () => {
    const { store, directory, mayQuery } = setUp();
    store.seed(
      policy('read'),
      role('analysts', { policies: ['read'] }),
      roleAssignment('a', { role: 'analysts', subjects: [ada] }),
      roleAssignment('b', { role: 'analysts', subjects: [ada, { type: 'group', name: 'data' }] }),
    );
    expect(directory.rolesOf(ADA)).toEqual(['analysts']);
    await store.delete('RoleAssignment', 'a');
    expect(mayQuery()).toBe(true);
    store.seed(roleAssignment('b', { role: 'analysts', subjects: [{ type: 'group', name: 'data' }] }));
    expect(mayQuery()).toBe(false);
    expect(directory.subjectCount('analysts')).toBe(1);
  });

  it('follows a change of a token and of its access key', () => {
    const { store, directory, mayQuery } = setUp();
    const token = (accessKey?: string): ServiceToken =>
      serviceToken('ci', {}, stored(), accessKey === undefined ? (same) => same : withHashes({ accessKey }));
    store.seed(
      policy('read'),
      role('analysts', { policies: ['read'] }),
      roleAssignment('a', { role: 'analysts', subjects: [{ type: 'service-token', name: 'key1' }] }),
    );
    const ci = tokenPrincipal('ci');
    store.seed(token());
    expect(directory.tokenByAccessKey('key1')).toBeUndefined();
    expect(directory.tokenNameOf('ci')).toBe('ci');
    store.seed(token('key1'));
    expect(directory.tokenByAccessKey('key1')).toMatchObject({ name: 'ci' });
    expect(mayQuery(ci)).toBe(true);
    store.seed(token('key2'));
    expect(directory.tokenByAccessKey('key1')).toBeUndefined();
    expect(directory.tokenByAccessKey('key2')).toMatchObject({ name: 'ci' });
    expect(mayQuery(ci)).toBe(false);
  });

  it('rejects the secret of a token that was deleted and created again with its name', async () => {
    const { store, directory } = setUp();
    store.seed(serviceToken('ci', {}, stored({ uid: 'first' }), withHashes({ accessKey: 'key1' })));
    expect(directory.tokenByAccessKey('key1')).toMatchObject({ name: 'ci' });
    await store.delete('ServiceToken', 'ci');
    store.seed(serviceToken('ci', {}, stored({ uid: 'second' })));
    expect(directory.tokenByAccessKey('key1')).toBeUndefined();
    expect(directory.tokenByName('ci')).toBeUndefined();
  });

  it('knows which callers still exist: a service token until its deletion or expiry, a user always', async () => {
    const time = Date.parse('2026-12-01T00:00:00Z');
    const clock = { time: time - 1, now: () => clock.time };
    const store = new MemoryStore();
    const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' }, { clock });
    const [ci, loader] = [tokenPrincipal('ci', 'first'), tokenPrincipal('loader', 'first')];
    expect([directory.isActive(ADA), directory.isActive(ci)]).toEqual([true, false]);
    store.seed(
      serviceToken(
        'ci',
        { expiresAt: '2026-12-01T00:00:00Z' },
        stored({ uid: 'first' }),
        withHashes({ accessKey: 'key1' }),
      ),
      serviceToken('loader', {}, stored({ uid: 'first' }), withHashes({ accessKey: 'key2' })),
    );
    expect([directory.isActive(ci), directory.isActive(loader)]).toEqual([true, true]);
    clock.time = time;
    expect([directory.isActive(ci), directory.isActive(loader)]).toEqual([false, true]);
    store.seed(serviceToken('ci', { expiresAt: 'never' }, stored({ uid: 'first' }), withHashes({ accessKey: 'key1' })));
    expect(directory.isActive(ci)).toBe(false);
    await store.delete('ServiceToken', 'loader');
    expect(directory.isActive(loader)).toBe(false);
    // Another token with the name, which has no secret yet.
    store.seed(serviceToken('loader', {}, stored({ uid: 'second' })));
    expect(directory.isActive(loader)).toBe(false);
    store.seed(serviceToken('loader', {}, stored({ uid: 'second' }), withHashes({ accessKey: 'key2' })));
    expect([directory.isActive(loader), directory.isActive(tokenPrincipal('loader', 'second'))]).toEqual([false, true]);
    expect(directory.isActive(ADA)).toBe(true);
  });

  it('does not let a token take the access key of another one', () => {
    const { store, directory } = setUp();
    store.seed(serviceToken('victim', {}, stored(), withHashes({ accessKey: 'key1' })));
    store.seed(serviceToken('taker', {}, stored(), withHashes({ accessKey: 'key1' })));
    expect(directory.tokenByAccessKey('key1')).toMatchObject({ name: 'victim' });
    store.seed(serviceToken('taker', {}, stored(), withHashes({ accessKey: 'key2' })));
    expect(directory.tokenByAccessKey('key1')).toMatchObject({ name: 'victim' });
  });
});

describe('Assignments that expire', () => {
  const EXPIRY = Date.parse('2026-12-01T00:00:00Z');
  const until = (name: string, expiresAt?: string) =>
    roleAssignment(name, { subjects: [{ ...ada, ...(expiresAt === undefined ? {} : { expiresAt }) }] });

  function setUpAt(now: number) {
    const clock = { time: now, now: () => clock.time };
    const store = new MemoryStore();
    const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' }, { clock });
    store.seed(policy('read'), role('analysts', { policies: ['read'] }));
    return {
      clock,
      store,
      directory,
      mayQuery: () => directory.isAllowed(ADA, 'Query', tableResource(tableNameOf('events'))),
    };
  }

  it('give the role until the last millisecond before the expiry, also to a caller whose grants are cached', () => {
    const { clock, store, directory, mayQuery } = setUpAt(EXPIRY - 1);
    store.seed(until('a', '2026-12-01T00:00:00Z'));
    expect(mayQuery()).toBe(true);
    expect(directory.rolesOf(ADA)).toEqual(['analysts']);
    clock.time = EXPIRY;
    expect(mayQuery()).toBe(false);
    expect(directory.rolesOf(ADA)).toEqual([]);
    expect(directory.decide(ADA, 'Query', tableResource(tableNameOf('events'))).reason).toBe('implicitDeny');
  });

  it('give the role again when the clock is set back', () => {
    const { clock, store, mayQuery } = setUpAt(EXPIRY + 5000);
    store.seed(until('a', '2026-12-01T00:00:00Z'));
    expect(mayQuery()).toBe(false);
    clock.time = EXPIRY - 5000;
    expect(mayQuery()).toBe(true);
  });

  it('count by the last expiry of all assignments of the subject, and none is later than all', async () => {
    const { clock, store, mayQuery } = setUpAt(EXPIRY - 1);
    store.seed(until('a', '2026-12-01T00:00:00Z'), until('b', '2026-12-01T00:00:10Z'), until('c'));
    clock.time = EXPIRY + 10_000;
    expect(mayQuery()).toBe(true);
    await store.delete('RoleAssignment', 'c');
    expect(mayQuery()).toBe(false);
    clock.time = EXPIRY + 9_999;
    expect(mayQuery()).toBe(true);
    await store.delete('RoleAssignment', 'b');
    expect(mayQuery()).toBe(false);
    clock.time = EXPIRY - 1;
    expect(mayQuery()).toBe(true);
    await store.delete('RoleAssignment', 'a');
    expect(mayQuery()).toBe(false);
  });

  it('are renewed and shortened by a change of the expiry', () => {
    const { clock, store, mayQuery } = setUpAt(EXPIRY);
    store.seed(until('a', '2026-12-01T00:00:00Z'));
    expect(mayQuery()).toBe(false);
    store.seed(until('a', '2026-12-02T00:00:00+02:00'));
    expect(mayQuery()).toBe(true);
    clock.time = Date.parse('2026-12-01T22:00:00Z');
    expect(mayQuery()).toBe(false);
  });

  it('give nothing where the expiry cannot be read', () => {
    const { store, mayQuery } = setUpAt(EXPIRY);
    store.seed(until('a', '2026-12-31T23:59:60Z'));
    expect(mayQuery()).toBe(false);
  });

  it('are listed until the expiry, and only those of roles that exist', () => {
    const { clock, store, directory } = setUpAt(EXPIRY - 1);
    store.seed(until('a', '2026-12-01T00:00:00Z'), roleAssignment('b', { role: 'absent', subjects: [ada] }));
    expect([...directory.rolesOf(ADA)].toSorted()).toEqual(['absent', 'analysts']);
    expect(directory.existingRolesOf(ADA)).toEqual(['analysts']);
    expect(directory.assignmentsOf(ADA)).toEqual([{ role: 'analysts', subject: ada, expiry: EXPIRY }]);
    clock.time = EXPIRY;
    expect(directory.existingRolesOf(ADA)).toEqual([]);
    expect(directory.assignmentsOf(ADA)).toEqual([]);
  });

  it('end the use of a service token with its last role', () => {
    const { clock, store, directory } = setUpAt(EXPIRY - 1);
    const token = { type: 'service-token', name: 'loader', expiresAt: '2026-12-01T00:00:00Z' } as const;
    store.seed(serviceToken('loader'), roleAssignment('a', { subjects: [token] }));
    expect(directory.hasRole('loader')).toBe(true);
    clock.time = EXPIRY;
    expect(directory.hasRole('loader')).toBe(false);
    expect(directory.rolesOfToken('loader')).toEqual([]);
  });
});
