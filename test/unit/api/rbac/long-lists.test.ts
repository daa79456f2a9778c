import { beforeAll, describe, expect, it } from 'vitest';
import { UsageTracker } from '../../../../src/access/usage/usage-tracker.ts';
import { role, roleAssignment } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryDocument } from '../../access/usage/memory-document.ts';
import { silent } from '../../operator/fakes.ts';
import { testGateway, type TestGateway } from './gateway.ts';

const ASSIGNMENTS = 600;
const SUBJECTS = 50;
const DAY = 86_400_000;

/** Calls with 30,000 assigned subjects. Work that is not split would hold the event loop above 50 ms with as many as a cluster may have. */
describe('a response about very many assignments', () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    const clock = new FakeClock('2026-01-01T12:00:00Z');
    const document = new MemoryDocument();
    const usage = new UsageTracker({ document, clock, log: silent, liveKeys: async () => new Set() });
    usage.start();
    gateway = await testGateway({ usage, roles: ['system-admin'] });
    const names = Array.from({ length: ASSIGNMENTS }, (_, index) => `r${(index * 7) % ASSIGNMENTS}`);
    const subjects = (at: number) =>
      Array.from({ length: SUBJECTS }, (_, index) => ({
        type: 'user-email' as const,
        name: `u${(at * SUBJECTS + index) * 17}@example.com`,
      }));
    gateway.store.seed(
      ...names.map((name) => role(name, { policies: [] })),
      ...names.map((name, at) => roleAssignment(`a${at}`, { role: name, subjects: subjects(at) })),
    );
    clock.jump(10_000 * DAY);
    await clock.advance(60_000);
    gateway.clock.time = clock.now();
  });

  it.each([
    ['/assignments?limit=3', 25],
    ['/who-can?action=Query&resource=srn2:table%23t', 100],
    ['/access-review?unusedDays=1&limit=3', 150],
  ])('lets other requests run in between: %s', async (path, atLeast) => {
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns++;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const { status } = await gateway.call('GET', path);
    isDone = true;
    expect(status).toBe(200);
    expect(turns).toBeGreaterThan(atLeast);
  });

  it('lists the assignments of all roles by role and subject, also in pages', async () => {
    const { body: all } = await gateway.call('GET', '/assignments');
    const keys = (all as { role: string; subjectType: string; subject: string }[]).map(
      (entry) => `${entry.role} ${entry.subjectType} ${entry.subject}`,
    );
    expect(keys).toHaveLength(ASSIGNMENTS * SUBJECTS + 1);
    expect(keys).toEqual(keys.toSorted());
    const { body: first, headers } = await gateway.call('GET', '/assignments?limit=7000');
    const next = /<([^>]+)>/.exec(String(headers['link']))?.[1] ?? '';
    const { body: second } = await gateway.call('GET', next.slice(next.indexOf('/assignments')));
    expect([...first, ...second]).toEqual(all.slice(0, 14_000));
  });
});
