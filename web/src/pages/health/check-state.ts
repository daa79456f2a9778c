import type { CheckEntry } from '../../lib/types.ts';

/** What a user sees as the state of a check: data that was not read is no fault, and a muted fault is accepted for a time. */
export type CheckState = 'FAIL' | 'UNREAD' | 'MUTED' | 'PASS';

export function stateOfCheck({ status, couldNotEvaluate, muted }: CheckEntry): CheckState {
  if (status === 'PASS') return 'PASS';
  if (couldNotEvaluate === true) return 'UNREAD';
  return muted === true ? 'MUTED' : 'FAIL';
}

/** What to do about a check that did not pass. Where nothing was evaluated, there is no fault to remedy. */
export function adviceOf(check: CheckEntry): string {
  if (stateOfCheck(check) !== 'UNREAD') return check.remediation;
  return 'Find out why the data could not be read: the findings name it with its error.';
}

export const STATE_LABELS: Readonly<Record<CheckState, string>> = {
  FAIL: 'FAIL',
  UNREAD: 'NOT READ',
  MUTED: 'MUTED',
  PASS: 'PASS',
};

export function countStates(checks: readonly CheckEntry[]): Readonly<Record<CheckState, number>> {
  const counts = { FAIL: 0, UNREAD: 0, MUTED: 0, PASS: 0 };
  for (const check of checks) counts[stateOfCheck(check)]++;
  return counts;
}

const checksWord = (count: number): string => (count === 1 ? 'check' : 'checks');

/** Such as `3 of 48 checks fail, 2 could not be read`. */
export function headlineOf(checks: readonly CheckEntry[]): string {
  const { FAIL, UNREAD, MUTED } = countStates(checks);
  const rest = [
    UNREAD > 0 && `${UNREAD} could not be read`,
    MUTED > 0 && `${MUTED} ${MUTED === 1 ? 'is' : 'are'} muted`,
  ].filter((text) => text !== false);
  if (FAIL > 0) return [`${FAIL} of ${checks.length} checks ${FAIL === 1 ? 'fails' : 'fail'}`, ...rest].join(', ');
  if (rest.length === 0) return 'All checks pass';
  return `No check fails; ${rest.join(', ').replace(/^(\d+)/, `$1 ${checksWord(UNREAD || MUTED)}`)}`;
}

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly checks: readonly CheckEntry[];
}

const SEVERITIES = [
  ['critical', 'Critical'],
  ['warning', 'Warnings'],
  ['advice', 'Advice'],
] as const;

/** The checks in the order in which they need attention: faults by severity, unread data, muted faults, then what passes by category. */
export function sectionsOf(checks: readonly CheckEntry[]): Section[] {
  const of = (state: CheckState): CheckEntry[] => checks.filter((check) => stateOfCheck(check) === state);
  const failing = of('FAIL');
  const passing = of('PASS');
  const categories = [...new Set(passing.map(({ category }) => category))];
  const sections: Section[] = [
    ...SEVERITIES.map(([severity, title]) => ({
      id: severity,
      title,
      checks: failing.filter((check) => check.severity === severity),
    })),
    { id: 'unread', title: 'Not read', checks: of('UNREAD') },
    { id: 'muted', title: 'Muted', checks: of('MUTED') },
    ...categories.map((category) => ({
      id: category,
      title: `Passing: ${category}`,
      checks: passing.filter((check) => check.category === category),
    })),
  ];
  return sections.filter((section) => section.checks.length > 0);
}
