import { describe, expect, it } from 'vitest';
import { renderJunit, renderMarkdown, renderTable } from '../../../src/health/render.ts';
import { checkResult, runResult } from '../../builders/health-run.ts';

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
  it('as a table', () => {
    expect(renderTable(run, { colours: false, width: 200 }).split('\n')).toEqual([
      'FAIL  REPLICATION_CHECK    7 are not well',
      ...Array.from({ length: 5 }, () => '      a|b_OFFLINE: x < y & "z"\u0000'),
      '      … 2 more',
      'PASS  SEGMENT_COUNT_CHECK  all is well',
      'FAIL  QUERY_HEALTH_CHECK   1 are not well',
      '      t0_OFFLINE: it is not well',
      '',
      '1 passed, 2 failed (1 critical, 1 warning) on `pinot` (Apache Pinot 1.5.1) in 1.2 s',
      '',
    ]);
  });

  it('as a table in colours, cut to the width of the terminal', () => {
    const lines = renderTable(run, { colours: true, width: 30 }).split('\n');
    expect(lines[0]).toContain('\u{1B}[31mFAIL\u{1B}[0m');
    expect(lines[7]).toContain('\u{1B}[32mPASS\u{1B}[0m');
    expect(lines[9]).toBe('\u{1B}[2m      t0_OFFLINE: it is not w…\u{1B}[0m');
  });

  it('as JUnit: failures, and errors of what could not be evaluated', () => {
    const xml = renderJunit(run);
    expect(xml).toContain('tests="3" failures="1" errors="1" time="1.234"');
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
  });
});
