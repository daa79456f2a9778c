import type { Finding } from '../../src/resources/health-finding.ts';
import { MAX_FINDINGS, MAX_INDEXED_FINDINGS } from '../../src/health/check.ts';
import { CATALOGUE } from '../../src/health/catalogue.ts';
import type { CheckResult } from '../../src/health/run/evaluation.ts';
import type { RunResult } from '../../src/health/run/run.ts';

/** The result of one check with `fails` findings. */
export function checkResult(
  name: string,
  fails = 0,
  more: { unread?: boolean; finding?: Partial<Finding> } = {},
): CheckResult {
  const all = Array.from({ length: Math.min(MAX_INDEXED_FINDINGS, fails) }, (_, i) => ({
    entityType: 'table',
    entity: `t${i}_OFFLINE`,
    message: 'it is not well',
    ...(more.unread === true ? { couldNotRead: true } : {}),
    ...more.finding,
  }));
  return {
    name,
    durationMs: 1,
    outcome: {
      status: fails === 0 ? 'PASS' : 'FAIL',
      message: fails === 0 ? 'all is well' : `${fails} are not well`,
      findingCount: fails,
      findings: all.slice(0, MAX_FINDINGS),
      ...(all.length > MAX_FINDINGS ? { moreFindings: all.slice(MAX_FINDINGS) } : {}),
      couldNotEvaluate: more.unread ?? false,
    },
  };
}

/** A run of all checks. @param failing numbers of findings by check */
export function runResult(failing: Readonly<Record<string, number>> = {}, more: Partial<RunResult> = {}): RunResult {
  return {
    startedAt: new Date('2026-11-21T10:00:00Z'),
    durationMs: 1_234,
    clusterName: 'pinot',
    engineVersion: '1.5.1',
    unreachable: undefined,
    tables: ['t0_OFFLINE', 't1_OFFLINE', 't1_REALTIME'],
    instances: ['Server_a_8098', 'Server_b_8098'],
    results: CATALOGUE.map(({ name }) => checkResult(name, failing[name] ?? 0)),
    ...more,
  };
}
