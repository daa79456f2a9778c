import { describe, expect, it } from 'vitest';
import type { CheckEntry, HealthTransition } from '../../../web/src/lib/types.ts';
import { adviceOf, headlineOf, sectionsOf, stateOfCheck } from '../../../web/src/pages/health/check-state.ts';
import { timelineOf } from '../../../web/src/pages/health/timeline.ts';

function check(name: string, fields: Partial<CheckEntry> = {}): CheckEntry {
  return {
    name,
    title: name,
    origin: 'specification',
    category: 'tables',
    severity: 'warning',
    status: 'PASS',
    message: '',
    findings: [],
    findingCount: 0,
    remediation: '',
    durationMs: 0,
    ...fields,
  };
}

const FAILED = check('failed', { status: 'FAIL' });
const CRITICAL = check('critical', { status: 'FAIL', severity: 'critical' });
const UNREAD = check('unread', { status: 'FAIL', severity: 'critical', couldNotEvaluate: true });
const MUTED = check('muted', { status: 'FAIL', muted: true });
const PASSED = check('passed', { category: 'servers' });

describe('the state of a check', () => {
  it('distinguishes a fault from unread data and from a muted fault', () => {
    expect([FAILED, UNREAD, MUTED, PASSED].map(stateOfCheck)).toEqual(['FAIL', 'UNREAD', 'MUTED', 'PASS']);
  });

  it.each<[CheckEntry[], string]>([
    [[PASSED], 'All checks pass'],
    [[PASSED, FAILED], '1 of 2 checks fails'],
    [[FAILED, CRITICAL, UNREAD, MUTED], '2 of 4 checks fail, 1 could not be read, 1 is muted'],
    [[PASSED, UNREAD, UNREAD], 'No check fails; 2 checks could not be read'],
    [[PASSED, MUTED], 'No check fails; 1 check is muted'],
  ])('is summed up in the headline %#', (checks, headline) => {
    expect(headlineOf(checks)).toBe(headline);
  });

  it('orders the page: severity first, then what was not read', () => {
    const sections = sectionsOf([PASSED, MUTED, FAILED, UNREAD, CRITICAL]);
    expect(sections.map(({ title, checks }) => [title, checks.map(({ name }) => name)])).toEqual([
      ['Critical', ['critical']],
      ['Warnings', ['failed']],
      ['Not read', ['unread']],
      ['Muted', ['muted']],
      ['Passing: servers', ['passed']],
    ]);
  });
});

describe('the timeline', () => {
  const at = (hour: number): string => new Date(hour * 3_600_000).toISOString();
  const change = (name: string, from: HealthTransition['from'], to: HealthTransition['to'], hour: number) => ({
    check: name,
    from,
    to,
    time: at(hour),
    findingCount: 0,
  });
  const shown = (checks: CheckEntry[], transitions: HealthTransition[]): (string | undefined)[] =>
    timelineOf(checks, transitions, { from: 0, to: 10 * 3_600_000, parts: 10 }).map(({ failing, unread }) =>
      failing === undefined ? undefined : `${failing}/${unread}`,
    );

  it('has the worst state of each part, from the present backwards', () => {
    const checks = [check('a', { since: at(6) }), check('b', { status: 'FAIL', since: at(8.5) })];
    const transitions = [
      change('b', 'PASS', 'FAIL', 8.5),
      change('a', 'NOT_EVALUATED', 'PASS', 6),
      change('a', 'PASS', 'NOT_EVALUATED', 4.2),
      change('a', 'FAIL', 'PASS', 2.6),
      change('a', 'PASS', 'FAIL', 2.3),
    ];
    expect(shown(checks, transitions)).toEqual([
      undefined,
      undefined,
      '1/0',
      '0/0',
      '0/1',
      '0/1',
      '0/1',
      '0/0',
      '1/0',
      '1/0',
    ]);
  });

  it('does not claim anything about the time before the first run, or before the oldest change that is kept', () => {
    expect(shown([check('a', { since: at(7) })], [])).toEqual([
      ...Array<undefined>(7).fill(undefined),
      '0/0',
      '0/0',
      '0/0',
    ]);
    const many = Array.from({ length: 100 }, (_, index) =>
      change('a', index % 2 === 0 ? 'FAIL' : 'PASS', index % 2 === 0 ? 'PASS' : 'FAIL', 9.9 - index * 0.01),
    );
    expect(shown([check('a', { since: at(1) })], many).slice(0, 8)).toEqual(Array(8).fill(undefined));
  });
});

describe('the advice for a check', () => {
  const remediation = 'Rebalance the table.';

  it('is its remedy, but not where nothing was evaluated: there is no fault to remedy', () => {
    expect(adviceOf(check('a', { status: 'FAIL', remediation }))).toBe(remediation);
    const unread = adviceOf(check('a', { status: 'FAIL', couldNotEvaluate: true, remediation }));
    expect(unread).toBe('Find out why the data could not be read: the findings name it with its error.');
  });
});
