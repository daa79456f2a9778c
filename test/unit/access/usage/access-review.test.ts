import { describe, expect, it } from 'vitest';
import {
  accessReview,
  liveUsageKeys,
  reviewKey,
  type ReviewPorts,
  type Unused,
} from '../../../../src/access/usage/access-review.ts';
import {
  assignmentUsageKey,
  roleUsageKey,
  statementUsageKey,
  tokenUsageKey,
} from '../../../../src/access/usage/usage-keys.ts';
import { dayOf, formatUsage, parseUsage, setLatest } from '../../../../src/access/usage/usage-record.ts';
import { atOnce } from '../../../../src/platform/long-work.ts';
import { policy, role, roleAssignment, serviceToken, statement, stored } from '../../../builders/resources.ts';
import { MemoryStore } from '../memory-store.ts';

const day = (text: string): number => dayOf(Date.parse(text));
const TODAY = day('2026-03-01');
const CREATED = '2026-01-10T10:00:00Z';

function setUp() {
  const store = new MemoryStore();
  const used = new Map<string, number>();
  const first = statement({ description: 'first' });
  const second = statement({ resources: ['*'] });
  store.seed(
    role('analysts', { description: 'all of them' }, stored({ creationTimestamp: CREATED })),
    role('system-admin', {}, stored({ creationTimestamp: CREATED })),
    policy('read', { statements: [first, second] }, stored({ creationTimestamp: CREATED })),
    policy('system-admin', {}, stored({ creationTimestamp: CREATED })),
    roleAssignment(
      'a',
      {
        subjects: [
          { type: 'user-email', name: 'ada@example.com' },
          { type: 'service-token', name: 'key1' },
          { type: 'group', name: 'key1' },
        ],
      },
      stored({ creationTimestamp: CREATED }),
    ),
    // The same subjects once more, by another of their names.
    roleAssignment(
      'b',
      {
        subjects: [
          { type: 'service-token', name: 'loader' },
          { type: 'user-email', name: 'Ada@example.com' },
        ],
      },
      stored({ creationTimestamp: '2026-01-20T10:00:00Z' }),
    ),
    serviceToken('loader', { description: 'loads' }, stored({ creationTimestamp: CREATED })),
    serviceToken('other', {}, stored({ creationTimestamp: CREATED })),
  );
  const ports: ReviewPorts = {
    store,
    usage: { day: TODAY, since: day('2026-01-01'), lastUsed: (key) => used.get(key) },
    tokenNameOf: (name) => (name === 'key1' ? 'loader' : name),
    accessKeyOf: (name) => (name === 'loader' ? 'key1' : undefined),
    mayRead: () => true,
    mayReadAny: () => true,
  };
  return { ports, used, first, second };
}

const unused = { lastUsedAt: null, unusedSince: '2026-01-10' };

function review(ports: ReviewPorts, unusedDays: number) {
  return atOnce(accessReview(ports, unusedDays)).items;
}

describe('the review of access', () => {
  it('lists each role, statement, assignment and token once, without the predefined ones', () => {
    expect(review(setUp().ports, 30)).toEqual([
      { kind: 'assignment', role: 'analysts', subject: 'key1', subjectType: 'group', ...unused },
      { kind: 'assignment', role: 'analysts', subject: 'key1', subjectType: 'service-token', ...unused },
      { kind: 'assignment', role: 'analysts', subject: 'ada@example.com', subjectType: 'user-email', ...unused },
      { kind: 'role', role: 'analysts', description: 'all of them', ...unused },
      {
        kind: 'service-token',
        serviceToken: 'loader',
        subject: 'key1',
        subjectType: 'service-token',
        description: 'loads',
        ...unused,
      },
      { kind: 'service-token', serviceToken: 'other', subject: 'other', subjectType: 'service-token', ...unused },
      { kind: 'statement', policy: 'read', statementIndex: 0, description: 'first', ...unused },
      { kind: 'statement', policy: 'read', statementIndex: 1, ...unused },
    ]);
  });

  it('lists a part of them, and counts all', () => {
    const { ports } = setUp();
    const all = review(ports, 30);
    for (let from = 0; from < all.length; from += 3) {
      const after = from === 0 ? undefined : reviewKey(all[from - 1] as Unused);
      expect(atOnce(accessReview(ports, 30, { after, limit: 3 }))).toEqual({
        items: all.slice(from, from + 3),
        hasMore: from + 3 < all.length,
        total: all.length,
      });
    }
  });

  it('counts from the day after the last use, and lists what was not used for that many days exactly', () => {
    const { ports, used } = setUp();
    used.set(roleUsageKey('analysts'), day('2026-02-08'));
    const roles = (days: number) => review(ports, days).filter(({ kind }) => kind === 'role');
    expect(roles(20)).toEqual([
      {
        kind: 'role',
        role: 'analysts',
        description: 'all of them',
        lastUsedAt: '2026-02-08',
        unusedSince: '2026-02-09',
      },
    ]);
    expect(roles(21)).toEqual([]);
  });

  it('counts from the first day of the record at the earliest', () => {
    const { ports } = setUp();
    const usage = { ...ports.usage, since: day('2026-02-01') };
    const [first] = review({ ...ports, usage }, 28);
    expect(first).toMatchObject({ lastUsedAt: null, unusedSince: '2026-02-01' });
    expect(review({ ...ports, usage }, 29)).toEqual([]);
  });

  it.each([
    ['role', 'analysts'],
    ['policy', 'read'],
    ['assignment', 'analysts'],
    ['service-token', 'loader'],
  ])('lists only what the caller may read: %s', (kind, name) => {
    const { ports } = setUp();
    const mayRead: ReviewPorts['mayRead'] = (asked, of) => asked === kind && of === name;
    const found = review({ ...ports, mayRead }, 30);
    expect(new Set(found.map((one) => one.kind))).toEqual(new Set([kind === 'policy' ? 'statement' : kind]));
    expect(found).toHaveLength({ role: 1, policy: 2, assignment: 3, 'service-token': 1 }[kind] ?? 0);
  });

  it('knows the keys of everything that exists, also of what is predefined', () => {
    const { ports, first, second } = setUp();
    expect(atOnce(liveUsageKeys(ports))).toEqual(
      new Set([
        roleUsageKey('analysts'),
        roleUsageKey('system-admin'),
        statementUsageKey('read', first),
        statementUsageKey('read', second),
        statementUsageKey('system-admin', statement()),
        assignmentUsageKey('analysts', { type: 'user-email', name: 'ada@example.com' }),
        assignmentUsageKey('analysts', { type: 'service-token', name: 'loader' }),
        assignmentUsageKey('analysts', { type: 'group', name: 'key1' }),
        tokenUsageKey('loader'),
        tokenUsageKey('other'),
      ]),
    );
  });
});

describe('the key of a statement', () => {
  const { effect, actions, ...resources } = statement();
  it('differs by effect, actions, resources and policy', () => {
    const keys = [
      statementUsageKey('p', { effect, actions: actions!, ...resources }),
      statementUsageKey('p', { effect: 'deny', actions: actions!, ...resources }),
      statementUsageKey('p', { effect, actions: ['GetTable'], ...resources }),
      statementUsageKey('p', { effect, ...resources }),
      statementUsageKey('p', { effect, actions: actions!, resources: ['*'] }),
      statementUsageKey('q', { effect, actions: actions!, ...resources }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe('a record', () => {
  it('has the days from the last to the first, whatever was used first', () => {
    const used = new Map([
      ['b', 20_400],
      ['a', 20_500],
      ['c', 20_450],
      ['d', 20_400],
    ]);
    expect(formatUsage({ since: 20_300, used })).toBe(
      '{"since":"2025-07-31","days":{"2026-02-16":"a","2025-12-28":"c","2025-11-08":"b d"}}',
    );
  });

  it('has the later of two days', () => {
    const used = new Map([['a', 5]]);
    for (const [key, at] of [
      ['a', 4],
      ['b', 1],
      ['a', 6],
      ['b', 0],
    ] as const)
      setLatest(used, key, at);
    expect([...used]).toEqual([
      ['a', 6],
      ['b', 1],
    ]);
  });

  it.each([
    '5',
    '{"days":{}}',
    '{"since":20000,"days":{}}',
    '{"since":"2026-01-01"}',
    '{"since":"2026-01-01","days":null}',
    '{"since":"2026-01-01","days":"a"}',
    '{"since":"2026-01-01","days":{"2026-01-01":["a"]}}',
    '{"since":"2026-13-01","days":{}}',
    '{"since":"2026-1-01","days":{}}',
  ])('is not read from %s', (text) => expect(parseUsage(text)).toBeUndefined());

  it('of a day without keys has none', () => {
    expect(parseUsage('{"since":"2026-01-01","days":{"2026-01-02":"","2026-01-03":"a  b"}}')?.used).toEqual(
      new Map([
        ['a', 20_456],
        ['b', 20_456],
      ]),
    );
  });
});
