import { expect, it } from 'vitest';
import { Directory } from '../../../../src/access/directory.ts';
import { whoCan } from '../../../../src/access/policy/who-can.ts';
import { atOnce } from '../../../../src/platform/long-work.ts';
import {
  policy,
  role,
  roleAssignment,
  serviceToken,
  statement,
  stored,
  withHashes,
} from '../../../builders/resources.ts';
import { MemoryStore } from '../memory-store.ts';

const END = '2026-12-01T00:00:00Z';
const EXPIRY = Date.parse(END);

function setUp(now = EXPIRY - 1) {
  const store = new MemoryStore();
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' }, { clock: { now: () => now } });
  const other = statement({ actions: ['GetTable'] });
  store.seed(
    policy('read', { statements: [other, statement(), statement({ resources: ['*'] })] }),
    policy('deny', { statements: [statement({ effect: 'deny' })] }),
    role('analysts', { policies: ['read'] }),
    role('readers', { policies: ['read'] }),
    role('denied', { policies: ['deny', 'read'] }),
    role('none'),
    serviceToken('ends', { expiresAt: END }, stored(), withHashes({ accessKey: 'key1' })),
    roleAssignment('a', {
      role: 'analysts',
      subjects: [
        { type: 'group', name: 'g' },
        { type: 'service-token', name: 'ends' },
        { type: 'user-email', name: 'late@example.com', expiresAt: '2026-12-02T00:00:00Z' },
      ],
    }),
    roleAssignment('b', { role: 'readers', subjects: [{ type: 'group', name: 'g', expiresAt: END }] }),
    roleAssignment('c', { role: 'denied', subjects: [{ type: 'group', name: 'h' }] }),
    roleAssignment('d', { role: 'none', subjects: [{ type: 'group', name: 'i' }] }),
  );
  const ask = (limit: number) =>
    atOnce(
      whoCan(directory, {
        action: 'Query',
        resources: [{ levels: [{ kind: 'table', id: 'events' }] }],
        limit,
        roleNames: ['analysts', 'denied', 'none', 'readers'],
      }),
    );
  return { ask };
}

const by = (name: string) => ({ role: name, policy: 'read', statementIndex: expect.any(Number), effect: 'allow' });

it('lists the roles that allow, and the subjects with their roles and the end of each', () => {
  expect(setUp().ask(10)).toEqual({
    granted: [
      {
        subject: { type: 'group', name: 'g' },
        roles: [
          { role: 'analysts', by: by('analysts'), expiry: Infinity },
          { role: 'readers', by: by('readers'), expiry: EXPIRY },
        ],
      },
      {
        subject: { type: 'service-token', name: 'ends' },
        roles: [{ role: 'analysts', by: by('analysts'), expiry: EXPIRY }],
      },
      {
        subject: { type: 'user-email', name: 'late@example.com' },
        roles: [{ role: 'analysts', by: by('analysts'), expiry: Date.parse('2026-12-02') }],
      },
    ],
    total: 3,
    roles: [
      { role: 'analysts', by: by('analysts') },
      { role: 'readers', by: by('readers') },
    ],
    totalRoles: 2,
  });
});

it('counts all beyond the limit', () => {
  const found = setUp().ask(1);
  expect([found.granted.length, found.total, found.roles.length, found.totalRoles]).toEqual([1, 3, 1, 2]);
});

it('leaves out what has expired', () => {
  const { granted, total } = setUp(EXPIRY).ask(10);
  expect(total).toBe(2);
  expect(granted.map(({ subject, roles }) => [subject.name, roles.map((one) => one.role)])).toEqual([
    ['g', ['analysts']],
    ['late@example.com', ['analysts']],
  ]);
});
