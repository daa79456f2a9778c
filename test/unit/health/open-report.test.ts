import { expect, it } from 'vitest';
import { openReport } from '../../../src/health/open-report.ts';
import { buildStatus } from '../../../src/health/report.ts';
import { MAX_CHECKS, type CheckStatus } from '../../../src/resources/health-finding.ts';
import { checkResult, runResult } from '../../builders/health-run.ts';
import { clusterHealthReport } from '../../builders/resources.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const CRITICAL = 'QUERY_HEALTH_CHECK';
const MUTED = 'REPLICATION_CHECK';
const UNREAD = 'SEGMENT_SIZE_CHECK';

function reportOf(checks: CheckStatus[]) {
  return openReport({ ...clusterHealthReport(), status: { checks, lastRunTime: '2026-11-21T10:00:00Z' } });
}

it('is absent before the first run', () => {
  expect(openReport(clusterHealthReport())).toBeUndefined();
});

it('has a result for each check by its state, and their numbers', () => {
  const until = new Date(NOW + 86_400_000).toISOString();
  const mutes = [{ id: 'known', check: MUTED, entity: '*', reason: 'known', until }];
  const results = [
    checkResult('BROKER_RESOURCE_CHECK'),
    checkResult(CRITICAL, 5),
    checkResult(MUTED, 2),
    checkResult(UNREAD, 1, { unread: true }),
  ];
  const result = runResult({}, { results, startedAt: new Date(NOW) });
  const status = buildStatus({
    result,
    previous: undefined,
    generation: 1,
    runAt: undefined,
    maxFindings: 20,
    mutes,
    now: NOW,
  });
  const report = openReport({ ...clusterHealthReport(), status })!;
  expect(report.results.map(({ policy, result, severity }) => [policy, result, severity])).toEqual([
    ['BROKER_RESOURCE_CHECK', 'pass', undefined],
    [CRITICAL, 'fail', 'critical'],
    [MUTED, 'skip', 'medium'],
    [UNREAD, 'error', expect.any(String)],
  ]);
  expect(report.summary).toEqual({ pass: 1, fail: 1, warn: 0, error: 1, skip: 1 });
  expect(report.results[1]).toEqual({
    source: 'olap-warden',
    policy: CRITICAL,
    category: 'queries',
    result: 'fail',
    severity: 'critical',
    scored: true,
    timestamp: { seconds: NOW / 1000, nanos: 0 },
    message: [
      '5 are not well',
      'table t0_OFFLINE: it is not well',
      'table t1_OFFLINE: it is not well',
      'table t2_OFFLINE: it is not well',
    ].join('\n'),
    properties: {
      runbook: `https://github.com/olap-warden/olap-warden/blob/main/docs/checks/${CRITICAL}.md`,
      origin: 'specification',
      findings: '5',
    },
  });
  expect(report.results[2]).toMatchObject({ message: '2 are not well', properties: { findings: '2', muted: '2' } });
});

it('warns of advice, which is not scored', () => {
  const report = reportOf([
    { name: 'X_CHECK', status: 'FAIL', severity: 'advice', message: 'a design', findingCount: 1 },
  ]);
  expect(report?.results).toMatchObject([{ result: 'warn', severity: 'low', scored: false }]);
  expect(report?.summary).toMatchObject({ warn: 1, fail: 0 });
});

it('does not change by a run in which the results stay', () => {
  const check: CheckStatus = {
    name: CRITICAL,
    status: 'FAIL',
    message: 'm',
    findingCount: 1,
    since: '2026-11-21T09:00:00Z',
  };
  const later = { checks: [{ ...check, durationMs: 7 }], lastRunTime: '2026-11-21T10:20:00Z', history: [] };
  expect(openReport({ ...clusterHealthReport(), status: later })).toEqual(reportOf([{ ...check, durationMs: 3 }]));
});

it('is far below the limit of an object with the largest status', () => {
  const long = '文'.repeat(1024);
  const findings = Array.from({ length: 20 }, () => ({
    entityType: 'table',
    entity: long.slice(0, 512),
    message: long,
  }));
  const checks = Array.from({ length: MAX_CHECKS }, (_, i): CheckStatus => {
    return { name: `C${i}`.padEnd(128, 'X'), status: 'FAIL', message: long, findingCount: 20, findings };
  });
  expect(Buffer.byteLength(JSON.stringify(reportOf(checks)))).toBeLessThan(350 * 1024);
});
