import { describe, expect, it } from 'vitest';
import { Directory, tokenPrincipal } from '../../../src/access/directory.ts';
import type { Principal } from '../../../src/access/principal.ts';
import { atOnce } from '../../../src/platform/long-work.ts';
import type { Subject } from '../../../src/resources/role-assignment.ts';
import { role, roleAssignment, serviceToken, stored, withHashes } from '../../builders/resources.ts';
import { MemoryStore } from './memory-store.ts';

const END = '2026-12-01T00:00:00Z';
const EXPIRY = Date.parse(END);
const ADA: Principal = {
  kind: 'user',
  srn: 'srn2:user#ada@example.com',
  id: 'ada@example.com',
  groups: ['data'],
  domain: 'example.com',
  authenticator: 'test',
};
const ada: Subject = { type: 'user-email', name: 'ada@example.com' };
const data: Subject = { type: 'group', name: 'data' };

function setUp(now = EXPIRY - 1000) {
  const clock = { time: now, now: () => clock.time };
  const store = new MemoryStore();
  return { clock, store, directory: new Directory(store, { environment: 'olap', cluster: 'pinot' }, { clock }) };
}

describe('the grants that last', () => {
  it('are those of the roles that a caller has until then', () => {
    const { store, directory } = setUp();
    store.seed(
      roleAssignment('a', { role: 'ends', subjects: [{ ...ada, expiresAt: END }] }),
      roleAssignment('b', { role: 'stays', subjects: [ada] }),
    );
    // Undefined stands for all present roles.
    expect(directory.grantsLasting(ADA, EXPIRY - 1)).toBeUndefined();
    expect(directory.grantsLasting(ADA, EXPIRY)).toBeUndefined();
    expect(directory.grantsLasting(ADA, EXPIRY + 1)?.roles).toEqual(['stays']);
    expect(directory.grantsLasting(ADA, Infinity)?.roles).toEqual(['stays']);
  });

  it('are those of several ends', () => {
    const { store, directory } = setUp();
    const at = (name: string, expiresAt: string) =>
      roleAssignment(name, { role: name, subjects: [{ ...data, expiresAt }] });
    store.seed(at('first', '2026-11-30T23:59:59.500Z'), at('second', END));
    expect(directory.grantsLasting(ADA, EXPIRY - 500)).toBeUndefined();
    expect(directory.grantsLasting(ADA, EXPIRY - 499)?.roles).toEqual(['second']);
    expect(directory.grantsLasting(ADA, EXPIRY)?.roles).toEqual(['second']);
    expect(directory.grantsLasting(ADA, EXPIRY + 1)?.roles).toEqual([]);
  });

  it('of a service token end with the token', () => {
    const { store, directory } = setUp();
    store.seed(
      serviceToken('ci', { expiresAt: END }, stored(), withHashes({ accessKey: 'key1' })),
      roleAssignment('a', { role: 'r', subjects: [{ type: 'service-token', name: 'ci' }] }),
    );
    const ci = tokenPrincipal('ci');
    expect(directory.tokenExpiry(ci)).toBe(EXPIRY);
    expect(directory.tokenExpiry({ ...ADA, id: 'ci' })).toBe(Infinity);
    expect(directory.grantsLasting(ci, EXPIRY)).toBeUndefined();
    expect(directory.grantsLasting(ci, EXPIRY + 1)?.roles).toEqual([]);
  });
});

describe('the subjects of a principal', () => {
  it('of a user are the address, the groups and the domain', () => {
    const { directory } = setUp();
    expect(directory.subjectsOf(ADA)).toEqual([ada, data, { type: 'domain', name: 'example.com' }]);
    expect(directory.subjectsOf({ ...ADA, groups: [], domain: undefined })).toEqual([ada]);
  });

  it('of a service token are its name and its access key, unless that is the name of another token', () => {
    const { store, directory } = setUp();
    const names = (token: string) => directory.subjectsOf(tokenPrincipal(token)).map(({ name }) => name);
    store.seed(
      serviceToken('without'),
      serviceToken('own', {}, stored(), withHashes({ accessKey: 'own' })),
      serviceToken('taken', {}, stored(), withHashes({ accessKey: 'without' })),
      serviceToken('usual', {}, stored(), withHashes({ accessKey: 'key1' })),
    );
    expect(['absent', 'without', 'own', 'taken', 'usual'].map(names)).toEqual([
      ['absent'],
      ['without'],
      ['own'],
      ['taken'],
      ['usual', 'key1'],
    ]);
  });
});

it('the assignments of a principal are in the order of the roles, and for each role in that of the subjects', async () => {
  const { store, directory } = setUp();
  store.seed(
    role('a'),
    role('b'),
    role('c'),
    roleAssignment('1', { role: 'c', subjects: [data, ada] }),
    roleAssignment('2', { role: 'a', subjects: [data] }),
    roleAssignment('3', { role: 'b', subjects: [data, ada] }),
    roleAssignment('4', { role: 'a', subjects: [{ ...ada, expiresAt: END }] }),
  );
  expect(directory.assignmentsOf(ADA).map(({ role: name, subject, expiry }) => [name, subject.name, expiry])).toEqual([
    ['a', 'ada@example.com', EXPIRY],
    ['a', 'data', Infinity],
    ['b', 'ada@example.com', Infinity],
    ['b', 'data', Infinity],
    ['c', 'ada@example.com', Infinity],
    ['c', 'data', Infinity],
  ]);
  expect(atOnce(directory.assignedSubjects())).toEqual([data, ada]);
});
