import { expect, it } from 'vitest';
import { activeReports } from '../../../../src/operator/health/health-reports.ts';
import { ReportFollower } from '../../../../src/operator/health/report-follower.ts';
import { MAX_REPORTS } from '../../../../src/resources/cluster-health-report.ts';
import { clusterHealthReport } from '../../../builders/resources.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { FakeStore, loggedLines } from '../fakes.ts';

function follow(answer: (clock: FakeClock, signal: AbortSignal) => Promise<number>) {
  const [clock, { log, lines }] = [new FakeClock(), loggedLines()];
  const update = async (): Promise<number> => answer(clock, follower.signal);
  const follower = new ReportFollower({ name: 'the writer', store: new FakeStore(), clock, log, update });
  follower.start();
  return { clock, lines, follower };
}

it.each([
  [-5_000, 0],
  [7_000, 7_000],
  [3_600_000, 3_600_000],
  [3_600_001, 3_600_000],
])('looks again at the time of an update, at the latest after an hour: in %i ms after %i ms', async (at, ms) => {
  const { clock, follower } = follow(async (time) => time.now() + at);
  await settle();
  expect(clock.delays).toEqual([ms]);
  await follower.stop();
  expect(clock.timers).toBe(0);
});

it('logs an update that rejects, and looks again after five minutes', async () => {
  const { clock, lines, follower } = follow(() => Promise.reject(new Error('a bug')));
  await clock.advance(0);
  expect(lines).toMatchObject([{ level: 50, msg: 'the writer failed', err: { message: 'a bug' } }]);
  expect(clock.delays).toEqual([300_000]);
  await clock.advance(300_000);
  expect(lines).toHaveLength(2);
  await follower.stop();
});

it('as many reports as are allowed are all active, in their order', () => {
  const reports = Array.from({ length: MAX_REPORTS }, (_, index) => clusterHealthReport(`r${MAX_REPORTS - index}`));
  expect(activeReports(reports)).toEqual(reports);
  const names = activeReports([...reports, clusterHealthReport('cluster')]).map(({ metadata }) => metadata.name);
  expect([names.length, names[0], names.includes('r9')]).toEqual([MAX_REPORTS, 'cluster', false]);
});
