import { describe, expect, it } from 'vitest';
import { renderJunit, renderMarkdown, renderTable } from '../../../../src/health/report/render.ts';
import { findCheck } from '../../../../src/health/catalogue.ts';
import { muteRun } from '../../../../src/health/report/mutes.ts';
import { checkResult, runResult } from '../../../builders/health-run.ts';

const run = runResult(
  {},
  {
    results: [
      checkResult('REPLICATION_CHECK', 7, { finding: { entity: 'a|b_OFFLINE', message: 'x < y & "z"\u0000' } }),
      checkResult('SEGMENT_COUNT_CHECK'),
      checkResult('QUERY_HEALTH_CHECK', 1, { unread: true }),
    ],
  },
);

describe('the result of a run', () => {
  it('with muted faults', () => {
    const now = Date.parse('2026-11-21T10:00:00Z');
    const mute = { id: 'm', check: 'REPLICATION_CHECK', reason: 'planned', until: '2026-11-22T10:00:00Z' };
    const results = [checkResult('REPLICATION_CHECK', 2), checkResult('SEGMENT_COUNT_CHECK')];
    const before = runResult({}, { results });
    const partly = muteRun(before, [{ ...mute, entity: 't0_*' }], now);
    expect(renderTable(partly, { colours: false, width: 200 }).split('\n')).toEqual([
      'FAIL  REPLICATION_CHECK    2 are not well (1 muted)',
      `      Remedy: ${findCheck('REPLICATION_CHECK')!.remediation}`,
      '      t1_OFFLINE: it is not well',
      '      [muted by m] t0_OFFLINE: it is not well',
      'PASS  SEGMENT_COUNT_CHECK  all is well',
      '',
      '1 passed, 1 failed (1 warning) on `pinot` (Apache Pinot 1.5.1) in 1.2 s',
      '',
    ]);
    const whole = muteRun(before, [{ ...mute, entity: '*' }], now);
    expect(renderTable(whole, { colours: false, width: 200 })).toContain('1 passed, 1 failed (1 muted) on');
    expect(renderMarkdown(whole)).toContain('| 🔇 | REPLICATION_CHECK | 2 are not well (2 muted) |');
    const xml = renderJunit(whole);
    expect(xml).toContain('failures="0" errors="0" skipped="1"');
    expect(xml).toContain('<skipped message="muted: 2 are not well"/>');
  });

  it('as a table', () => {
    expect(renderTable(run, { colours: false, width: 200 }).split('\n')).toEqual([
      'FAIL  REPLICATION_CHECK    7 are not well',
      `      Remedy: ${findCheck('REPLICATION_CHECK')!.remediation}`,
      // No control character reaches the terminal.
      ...Array.from({ length: 5 }, () => '      a|b_OFFLINE: x < y & "z"\uFFFD'),
      '      … 2 more',
      'PASS  SEGMENT_COUNT_CHECK  all is well',
      'FAIL  QUERY_HEALTH_CHECK   1 are not well',
      // No remedy: nothing was found.
      '      t0_OFFLINE: it is not well',
      '',
      '1 passed, 2 failed (1 critical, 1 warning) on `pinot` (Apache Pinot 1.5.1) in 1.2 s',
      '',
    ]);
  });

  it('as a table with all findings', () => {
    const lines = renderTable(run, { colours: false, width: Number.POSITIVE_INFINITY, all: true }).split('\n');
    expect(lines.filter((line) => line.startsWith('      a|b_OFFLINE'))).toHaveLength(7);
  });

  it('as a table in colours, cut to the width of the terminal', () => {
    const lines = renderTable(run, { colours: true, width: 36 }).split('\n');
    expect(lines.slice(0, 2)).toEqual(['\u{1B}[31mFAIL\u{1B}[0m  REPLICATION_CHECK', '      7 are not well']);
    expect(lines).toContain('\u{1B}[32mPASS\u{1B}[0m  SEGMENT_COUNT_CHECK');
    // oxlint-disable-next-line no-control-regex
    for (const line of lines.slice(0, -3)) expect(line.replaceAll(/\u{1B}\[\d+m/gu, '').length).toBeLessThanOrEqual(36);
    expect(lines).toContain('\u{1B}[2m      t0_OFFLINE: it is not well\u{1B}[0m');
  });

  it('as JUnit: failures, and errors of what could not be evaluated', () => {
    const xml = renderJunit(run);
    expect(xml).toContain('tests="3" failures="1" errors="1" skipped="0" time="1.234"');
    expect(xml).toContain('<testcase name="SEGMENT_COUNT_CHECK" classname="segments" time="0.001"/>');
    expect(xml).toContain('<failure message="7 are not well">a|b_OFFLINE: x &lt; y &amp; &quot;z&quot;\uFFFD');
    expect(xml).toContain('<error message="1 are not well">');
  });

  it('as Markdown', () => {
    const text = renderMarkdown(run);
    expect(text).toContain('| ✅ | SEGMENT_COUNT_CHECK | all is well |');
    expect(text).toContain('| ❔ | QUERY_HEALTH_CHECK |');
    expect(text).toContain('## REPLICATION_CHECK');
    expect(text).toContain('- a\\|b_OFFLINE: x < y');
    expect(text).toContain('- … 2 more');
    expect(text).toContain(findCheck('REPLICATION_CHECK')!.remediation);
    expect(text).not.toContain(findCheck('QUERY_HEALTH_CHECK')!.remediation);
  });

  it('without characters that control a terminal or the direction of text', () => {
    const finding = { entity: 'a\u{1B}[31m\u202Eb\u2066', message: 'x\u0000y\u200B' };
    const results = [checkResult('REPLICATION_CHECK', 1, { finding })];
    const hostile = runResult({}, { results, clusterName: 'c\u{1B}]0;t\u0007' });
    for (const text of [renderMarkdown(hostile), renderTable(hostile, { colours: false, width: 200 })]) {
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  });
});
