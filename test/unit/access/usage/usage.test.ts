// @module-tag slow
import { describe, expect, it } from 'vitest';
import { Directory, tokenPrincipal } from '../../../../src/access/directory.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import { tableResource } from '../../../../src/access/policy/srn.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import {
  assignmentUsageKey,
  roleUsageKey,
  statementUsageKey,
  tokenUsageKey,
} from '../../../../src/access/usage/usage-keys.ts';
import { boundUsage, dayOf, formatUsage, MAX_USED, parseUsage } from '../../../../src/access/usage/usage-record.ts';
import { USAGE_INTERVAL_MS, UsageTracker } from '../../../../src/access/usage/usage-tracker.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { policy, role, roleAssignment, serviceToken, statement } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { silent } from '../../operator/fakes.ts';
import { MemoryStore } from '../memory-store.ts';
import { MemoryDocument } from './memory-document.ts';

const DAY = 86_400_000;
const noSignal = new AbortController().signal;
const ADA: Principal = {
  kind: 'user',
  srn: 'srn2:user#ada@example.com',
  id: 'Ada@example.com',
  groups: ['data'],
  domain: undefined,
  authenticator: 'test',
};

function tracked(clock = new FakeClock(), document = new MemoryDocument()) {
  const tracker = new UsageTracker({ document, clock, log: silent, liveKeys: async () => new Set() });
  tracker.start();
  return { tracker, clock, document };
}

function withDirectory() {
  const { tracker, clock, document } = tracked();
  const store = new MemoryStore();
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' }, { clock, usage: tracker });
  return { tracker, clock, document, store, directory };
}

describe('the record of use', () => {
  it('is the same after it was written and read', () => {
    const record = {
      since: 20_000,
      used: new Map([
        ['a', 20_500],
        ['b', 20_500],
        ['c', 20_400],
      ]),
    };
    const text = formatUsage(record);
    expect(text).toBe('{"since":"2024-10-04","days":{"2026-02-16":"a b","2025-11-08":"c"}}');
    expect(parseUsage(text)).toEqual(record);
  });

  it('drops the oldest days beyond the limit, and no longer covers them', () => {
    const used = new Map([
      ['a', 100],
      ['b', 101],
      ['c', 101],
      ['d', 102],
    ]);
    expect(boundUsage({ since: 50, used }, 4)).toEqual({ since: 50, used });
    expect(boundUsage({ since: 50, used }, 3)).toEqual({ since: 101, used: new Map([...used].slice(1)) });
    // One day is dropped completely or not at all.
    expect(boundUsage({ since: 50, used }, 2)).toEqual({ since: 102, used: new Map([['d', 102]]) });
  });

  it('stays below the limit of a ConfigMap', () => {
    const used = new Map(
      Array.from({ length: MAX_USED }, (_, index) => [roleUsageKey(`role-${index}`), 20_000 + (index % 400)]),
    );
    expect(used.size).toBe(MAX_USED);
    expect(formatUsage({ since: 20_000, used }).length).toBeLessThan(600_000);
  });
});

describe('a decision', () => {
  it('marks the statement that decided, the roles with its policy, and the assignments by which the caller has them', () => {
    const { store, directory, tracker } = withDirectory();
    const statements = [
      statement({ actions: ['Query'] }),
      statement({ effect: 'deny', resources: ['srn2:table#secret'] }),
    ];
    store.seed(
      policy('read', { statements }),
      role('analysts', { policies: ['read'] }),
      role('others', { policies: ['read'] }),
      roleAssignment('a', {
        subjects: [
          { type: 'user-email', name: 'ada@example.com' },
          { type: 'group', name: 'data' },
          { type: 'group', name: 'x' },
        ],
      }),
    );
    const today = '2026-01-01';
    expect(directory.isAllowed(ADA, 'Query', tableResource(tableNameOf('orders')))).toBe(false);
    expect(tracker.lastUsedAt(roleUsageKey('analysts'))).toBeNull();
    expect(directory.wouldAllow(ADA, 'Query', tableResource(tableNameOf('events')))).toBe(true);
    expect(tracker.lastUsedAt(roleUsageKey('analysts'))).toBeNull();
    expect(directory.isAllowed(ADA, 'Query', tableResource(tableNameOf('events')))).toBe(true);
    expect(tracker.lastUsedAt(statementUsageKey('read', statements[0]!))).toBe(today);
    expect(tracker.lastUsedAt(statementUsageKey('read', statements[1]!))).toBeNull();
    expect(tracker.lastUsedAt(roleUsageKey('analysts'))).toBe(today);
    expect(tracker.lastUsedAt(roleUsageKey('others'))).toBeNull();
    expect(tracker.lastUsedAt(assignmentUsageKey('analysts', { type: 'user-email', name: 'ada@example.com' }))).toBe(
      today,
    );
    expect(tracker.lastUsedAt(assignmentUsageKey('analysts', { type: 'group', name: 'data' }))).toBe(today);
    expect(tracker.lastUsedAt(assignmentUsageKey('analysts', { type: 'group', name: 'x' }))).toBeNull();
    expect(directory.decide(ADA, 'Query', tableResource(tableNameOf('secret'))).reason).toBe('explicitDeny');
    expect(tracker.lastUsedAt(statementUsageKey('read', statements[1]!))).toBe(today);
  });

  it('marks the statement that decided among many, which are in a trie', () => {
    const { store, directory, tracker } = withDirectory();
    const statements = Array.from({ length: 200 }, (_, index) => statement({ resources: [`srn2:table#t${index}`] }));
    statements.push(
      statement({ resources: ['srn2:table#t7'], actions: ['GetTable'] }),
      statement({ resources: ['srn2:table#*x*'] }),
    );
    store.seed(policy('read', { statements }), role('analysts', { policies: ['read'] }), roleAssignment('a'));
    const marked = () =>
      statements.flatMap((one, index) => (tracker.lastUsedAt(statementUsageKey('read', one)) ? [index] : []));
    for (const table of ['t3', 't3', 'axb']) directory.isAllowed(ADA, 'Query', tableResource(tableNameOf(table)));
    expect(marked()).toEqual([3, 201]);
    directory.decide(ADA, 'GetTable', tableResource(tableNameOf('t7')));
    directory.isAllowed(ADA, 'GetTable', tableResource(tableNameOf('t7')));
    expect(marked()).toEqual([3, 200, 201]);
  });

  it('marks a service token with each decision, and its assignment by access key or name', () => {
    const { store, directory, tracker } = withDirectory();
    store.seed(
      serviceToken('loader'),
      policy('read'),
      role('analysts', { policies: ['read'] }),
      roleAssignment('a', { subjects: [{ type: 'service-token', name: 'loader' }] }),
    );
    const loader = tokenPrincipal('loader');
    directory.isAllowed(loader, 'DeleteTable', tableResource(tableNameOf('events')));
    expect(tracker.lastUsedAt(tokenUsageKey('loader'))).toBe('2026-01-01');
    expect(tracker.lastUsedAt(roleUsageKey('analysts'))).toBeNull();
    directory.isAllowed(loader, 'Query', tableResource(tableNameOf('events')));
    expect(tracker.lastUsedAt(assignmentUsageKey('analysts', { type: 'service-token', name: 'loader' }))).toBe(
      '2026-01-01',
    );
  });

  it('is marked again on the next day', async () => {
    const { store, clock, directory, tracker } = withDirectory();
    store.seed(policy('read'), role('analysts', { policies: ['read'] }), roleAssignment('a'));
    directory.isAllowed(ADA, 'Query', tableResource(tableNameOf('events')));
    await clock.advance(DAY);
    expect(tracker.lastUsedAt(roleUsageKey('analysts'))).toBe('2026-01-01');
    directory.isAllowed(ADA, 'Query', tableResource(tableNameOf('events')));
    expect(tracker.lastUsedAt(roleUsageKey('analysts'))).toBe('2026-01-02');
    expect(tracker.lastUsedAt(statementUsageKey('read', statement()))).toBe('2026-01-02');
  });

  it('does not count what a simulation decides', () => {
    const { store, directory, tracker } = withDirectory();
    store.seed(policy('read'), role('analysts', { policies: ['read'] }), roleAssignment('a'));
    const grants = directory.engine.simulatedGrants(['analysts'], undefined);
    expect(directory.engine.decideWith(grants, 'Query', tableResource(tableNameOf('events'))).allowed).toBe(true);
    expect(tracker.lastUsedAt(roleUsageKey('analysts'))).toBeNull();
  });
});

describe('the tracker', () => {
  it('writes at most once in ten minutes, and only new uses', async () => {
    const { tracker, clock, document } = tracked();
    let writes = 0;
    for (let minute = 0; minute < 120; minute++) {
      tracker.mark(`key${minute}`);
      await clock.advance(60_000);
      writes = Math.max(writes, document.writes);
    }
    expect(writes).toBeGreaterThanOrEqual(11);
    expect(writes).toBeLessThanOrEqual(12);
    await clock.advance(USAGE_INTERVAL_MS);
    const before = document.writes;
    await clock.advance(6 * USAGE_INTERVAL_MS);
    expect(document.writes).toBe(before);
  });

  it('merges the days of several gateways by the latest', async () => {
    const document = new MemoryDocument();
    const clock = new FakeClock();
    const [a, b] = [tracked(clock, document).tracker, tracked(clock, document).tracker];
    a.mark('both');
    a.mark('only-a');
    await clock.advance(DAY);
    b.mark('both');
    await clock.advance(2 * USAGE_INTERVAL_MS);
    expect(a.lastUsedAt('both')).toBe('2026-01-02');
    expect(b.lastUsedAt('only-a')).toBe('2026-01-01');
    expect(parseUsage(document.text)).toEqual({
      since: dayOf(Date.parse('2026-01-01T00:00:00Z')),
      used: new Map([
        ['both', dayOf(clock.now())],
        ['only-a', dayOf(clock.now()) - 1],
      ]),
    });
  });

  it('loses nothing when another gateway writes between its read and its write', async () => {
    const { tracker, clock, document } = tracked();
    await clock.advance(USAGE_INTERVAL_MS);
    tracker.mark('mine');
    document.beforeWrite = () => document.replace('{"since":"2025-01-01","days":{"2025-06-01":"theirs"}}');
    await clock.advance(2 * USAGE_INTERVAL_MS);
    expect([...parseUsage(document.text)!.used.keys()].sort()).toEqual(['mine', 'theirs']);
    expect(tracker.since).toBe(dayOf(Date.parse('2025-01-01')));
  });

  it('continues after a failure, and writes the rest at the end', async () => {
    const { tracker, clock, document } = tracked();
    document.failures.push(...Array.from({ length: 3 }, () => new StoreError('unavailable', 'no API')));
    tracker.mark('first');
    await clock.advance(3 * USAGE_INTERVAL_MS);
    expect(document.text).toBe('');
    await clock.advance(USAGE_INTERVAL_MS);
    expect(document.text).toContain('first');
    tracker.mark('last');
    await tracker.stop(noSignal);
    expect(document.text).toContain('last');
    const { writes } = document;
    await clock.advance(10 * USAGE_INTERVAL_MS);
    expect(document.writes).toBe(writes);
  });

  it('is bounded in memory, and excludes dropped days from the record', async () => {
    const { tracker, clock } = tracked();
    const since = tracker.since;
    tracker.mark('old');
    await clock.advance(DAY);
    for (let index = 0; index < 2 * MAX_USED; index++) tracker.mark(`k${index}`);
    tracker.mark('newest');
    expect(tracker.lastUsed('old')).toBeUndefined();
    expect(tracker.since).toBeGreaterThan(since + 1);
    expect(tracker.lastUsed('newest')).toBe(tracker.day);
  });

  it('removes what no longer exists before it drops days', async () => {
    const clock = new FakeClock();
    const document = new MemoryDocument();
    const log = silent;
    const tracker = new UsageTracker({ document, clock, log, liveKeys: async () => new Set(['live']) });
    tracker.mark('live');
    for (let index = 0; index < MAX_USED; index++) tracker.mark(`k${index}`);
    const { since } = tracker;
    await tracker.synchronize(noSignal);
    expect(parseUsage(document.text)).toEqual({ since, used: new Map([['live', tracker.day]]) });
    // No day was dropped, so that an older record still counts.
    document.replace('{"since":"2025-01-01","days":{}}');
    await tracker.synchronize(noSignal);
    expect(tracker.since).toBe(dayOf(Date.parse('2025-01-01')));
  });
});
