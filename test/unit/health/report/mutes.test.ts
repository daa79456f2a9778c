import { describe, expect, it } from 'vitest';
import {
  activeMutes,
  isMuted,
  isMutedOutcome,
  muteRun,
  muteProblems,
  nextMuteChange,
} from '../../../../src/health/report/mutes.ts';
import { buildStatus, MAX_STATUS_BYTES } from '../../../../src/health/report/report.ts';
import { withMutes } from '../../../../src/health/report/summary.ts';
import type { CheckResult } from '../../../../src/health/run/evaluation.ts';
import { MAX_MUTES, type Mute } from '../../../../src/resources/health-mute.ts';
import type { ClusterHealthReportStatus } from '../../../../src/resources/health-status.ts';
import { validateResource } from '../../../../src/resources/validate.ts';
import { MAX_INDEXED_FINDINGS } from '../../../../src/health/check.ts';
import { CATALOGUE } from '../../../../src/health/catalogue.ts';
import { checkResult, runResult } from '../../../builders/health-run.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const NAME = 'REPLICATION_CHECK';
const DAY = 86_400_000;
const until = (ms: number) => new Date(NOW + ms).toISOString();
const mute = (more: Partial<Mute> = {}): Mute => ({
  id: 'm',
  check: NAME,
  entity: '*',
  reason: 'planned',
  until: until(DAY),
  ...more,
});

function after(results: CheckResult[], mutes: Mute[], previous?: ClusterHealthReportStatus, maxFindings = 20) {
  const input = { generation: 1, runAt: undefined, maxFindings, now: NOW };
  return buildStatus({ ...input, result: runResult({}, { results }), previous, mutes });
}
const first = (status: ClusterHealthReportStatus) => status.checks![0]!;
const healthy = ({ conditions }: ClusterHealthReportStatus) => conditions?.find(({ type }) => type === 'Healthy');
const remuted = (status: ClusterHealthReportStatus, mutes: Mute[], now = NOW) =>
  withMutes(status, mutes, { generation: 1, now });

describe('mutes', () => {
  it('count apart and keep the findings and the FAIL', () => {
    const status = after([checkResult(NAME, 3)], [mute({ entity: 't1_*' })]);
    expect(first(status)).toMatchObject({ status: 'FAIL', findingCount: 3, mutedCount: 1 });
    expect(first(status).findings?.map(({ entity, mutedBy }) => [entity, mutedBy])).toEqual([
      ['t0_OFFLINE', undefined],
      ['t2_OFFLINE', undefined],
      ['t1_OFFLINE', 'm'],
    ]);
    expect(isMuted(first(status))).toBe(false);
    expect(status).toMatchObject({ fail: 1, failBySeverity: { warning: 1 }, mutes: [{ id: 'm', findingCount: 1 }] });
    expect(status).not.toHaveProperty('failMuted');
    expect(healthy(status)?.status).toBe('False');
  });

  it('make the report healthy when all faults are muted, and say so', () => {
    const status = after([checkResult(NAME, 3), checkResult('SEGMENT_COUNT_CHECK')], [mute()]);
    expect(isMuted(first(status))).toBe(true);
    expect(status).toMatchObject({ fail: 1, failMuted: 1, failBySeverity: { critical: 0, warning: 0, advice: 0 } });
    expect(healthy(status)).toMatchObject({
      status: 'True',
      reason: 'FaultsMuted',
      message: '1 of 2 checks failed: all their faults are muted',
    });
  });

  it('do not apply to data that could not be read', () => {
    const status = after([checkResult(NAME, 300, { unread: true })], [mute()]);
    expect(first(status)).toMatchObject({ unreadCount: 300 });
    expect(first(status)).not.toHaveProperty('mutedCount');
    expect(status).toMatchObject({ failBySeverity: { warning: 1 } });
    const { outcome } = checkResult(NAME, 2);
    const findings = [...outcome.findings, { ...outcome.findings[0]!, couldNotRead: true }];
    const partly = after([{ name: NAME, durationMs: 1, outcome: { ...outcome, findings, findingCount: 3 } }], [mute()]);
    expect(first(partly)).toMatchObject({ findingCount: 3, mutedCount: 2, unreadCount: 1 });
    expect(isMuted(first(partly))).toBe(true);
  });

  it('apply to findings that are not listed, but beyond those that are known only to all entities', () => {
    expect(first(after([checkResult(NAME, 150)], [mute({ entity: 't*' })]))).toMatchObject({ mutedCount: 150 });
    const run = runResult({}, { results: [checkResult(NAME, 250)] });
    const [{ outcome }] = muteRun(run, [mute({ entity: 't*' })], NOW).results as [CheckResult];
    expect(outcome).toMatchObject({ mutedCount: 250, findings: { length: 200 }, moreFindings: { length: 50 } });
    expect(isMutedOutcome(outcome)).toBe(true);
    const many = MAX_INDEXED_FINDINGS + 50;
    expect(first(after([checkResult(NAME, 250)], [mute({ entity: 't*' })]))).toMatchObject({ mutedCount: 250 });
    const ofMany = first(after([checkResult(NAME, many)], [mute({ entity: 't*' })]));
    expect(ofMany).toMatchObject({ mutedCount: MAX_INDEXED_FINDINGS });
    expect(first(after([checkResult(NAME, many)], [mute()]))).toMatchObject({ mutedCount: many });
    // The one that is not muted is listed, although it was found last.
    const status = after(
      [checkResult(NAME, 111)],
      [mute({ entity: 't*0_OFFLINE' }), mute({ id: 'n', entity: 't*_OFFLIN*' })],
    );
    expect(first(status)).toMatchObject({ mutedCount: 111 });
    const one = after(
      [checkResult(NAME, 30)],
      [mute({ entity: 't1*' }), mute({ id: 'n', entity: 't2*' })],
      undefined,
      5,
    );
    expect(first(one).findings?.filter(({ mutedBy }) => mutedBy === undefined)).toHaveLength(5);
  });

  it('end without a run, also for findings that are not listed', () => {
    const mutes = [mute({ entity: 't1*', until: until(1000) }), mute({ id: 'n', entity: 't2*', until: until(2000) })];
    const status = after([checkResult(NAME, 30)], mutes, undefined, 5);
    expect(first(status)).toMatchObject({
      mutedCount: 22,
      mutes: [
        { id: 'm', findingCount: 11 },
        { id: 'n', findingCount: 11 },
      ],
    });
    expect(remuted(status, mutes, NOW + 999)).toBe(status);
    const later = remuted(status, mutes, NOW + 1000);
    expect(first(later)).toMatchObject({ mutedCount: 11, mutes: [{ id: 'n', findingCount: 11 }] });
    expect(later.mutes).toEqual([{ id: 'n', findingCount: 11 }]);
    expect(first(remuted(later, mutes, NOW + 2000))).not.toHaveProperty('mutedCount');
    expect(remuted(later, mutes, NOW + 2000)).not.toHaveProperty('mutes');
  });

  it('begin and are removed without a run', () => {
    const status = after([checkResult(NAME, 30)], []);
    expect(first(remuted(status, [mute({ entity: 't1*' })]))).toMatchObject({ mutedCount: 11 });
    const all = remuted(status, [mute()]);
    expect(all).toMatchObject({ failMuted: 1, checks: [{ mutedCount: 30 }] });
    expect(healthy(all)?.reason).toBe('FaultsMuted');
    expect(remuted(all, [])).toEqual(status);
  });

  it('stay in the result that is carried over while the check cannot be evaluated', () => {
    const failed = after([checkResult(NAME, 3)], [mute()]);
    const unread = after([checkResult(NAME, 1, { unread: true })], [mute()], failed);
    expect(isMuted(first(unread).lastEvaluated!)).toBe(true);
    expect(unread.mutes).toEqual([{ id: 'm', findingCount: 3 }]);
    expect(isMuted(first(remuted(unread, [])).lastEvaluated!)).toBe(false);
    const again = remuted(remuted(unread, []), [mute()]);
    expect(isMuted(first(again).lastEvaluated!)).toBe(true);
  });

  it('keep the message of a cluster that cannot be read', () => {
    const result = runResult({}, { results: [checkResult(NAME, 1, { unread: true })], unreachable: 'refused' });
    const input = { generation: 1, runAt: undefined, maxFindings: 20, now: NOW, previous: undefined };
    const changed = remuted(buildStatus({ ...input, result }), [mute()]);
    expect(changed.mutes).toHaveLength(1);
    expect(healthy(changed)).toMatchObject({
      reason: 'EngineUnreachable',
      message: 'the cluster could not be read: refused',
    });
  });

  it('have an end, at most 90 days ahead', () => {
    const far = mute({ until: until(91 * DAY) });
    expect(
      activeMutes([mute(), far, mute({ until: until(0) }), mute({ until: '2026-12-31T23:59:60Z' })], NOW),
    ).toHaveLength(1);
    expect(nextMuteChange([mute(), far], NOW)).toBe(NOW + DAY);
    expect(nextMuteChange([far], NOW)).toBe(NOW + DAY);
    expect(nextMuteChange([], NOW)).toBe(Number.POSITIVE_INFINITY);
    expect(
      muteProblems([mute(), far, mute({ check: 'SEGMENT_*' }), mute({ check: 'SEGMENT_CONT_CHECK' })], NOW),
    ).toEqual([
      `spec.mutes[m].until: \`${far.until}\` is more than 90 days ahead`,
      'spec.mutes[m].check: `SEGMENT_CONT_CHECK` matches no check; did you mean `SEGMENT_COUNT_CHECK`?',
    ]);
  });

  it.each([
    ['*', '*'],
    ['*_CHECK', '*'],
    ['*_CH*K', '*'],
    ['*_*', '**_*'],
  ])('of every check (%s) and every entity (%s) have no effect', (check, entity) => {
    const everything = mute({ check, entity });
    expect(muteProblems([everything], NOW)).toEqual([
      expect.stringContaining('a mute of everything would also mute faults of the future'),
    ]);
    expect(activeMutes([everything], NOW)).toEqual([]);
    const few = [mute({ check, entity: 't1_*' }), mute({ check: 'SEGMENT_*', entity })];
    expect(muteProblems(few, NOW)).toEqual([]);
    expect(activeMutes(few, NOW)).toHaveLength(2);
  });

  it('leave the status below its limit and valid', () => {
    const mutes = Array.from({ length: MAX_MUTES }, (_, i) =>
      mute({ id: `m-${'x'.repeat(58)}${i}`, check: '*', entity: `t${i}_*` }),
    );
    const finding = { message: 'x'.repeat(1024), observed: 'y'.repeat(256) };
    const results = CATALOGUE.map(({ name }) => checkResult(name, 200, { finding }));
    const status = after(results, mutes, undefined, 200);
    expect(Buffer.byteLength(JSON.stringify(status))).toBeLessThan(MAX_STATUS_BYTES);
    const object = {
      apiVersion: 'olapwarden.io/v1beta1',
      kind: 'ClusterHealthReport',
      metadata: { name: 'x' },
      spec: { mutes },
      status,
    };
    expect(validateResource('ClusterHealthReport', object)).toMatchObject({ ok: true });
  });
});
