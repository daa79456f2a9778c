import type { CheckDefinition, CheckEntry, HealthReport } from '../../lib/types.ts';

export type Running = NonNullable<HealthReport['running']>;

/** A check of a run that is under way; without a status while it waits. */
export interface CheckProgress {
  readonly name: string;
  readonly title: string;
  readonly status: 'PASS' | 'FAIL' | undefined;
}

/**
 * Every check of the run in an order that stays, so that nothing moves while they are decided.
 * @param report the checks of the latest report: where as many are decided now, the run is about the same ones
 * @param definitions every check that there is; empty while they are not known
 */
export function checksOfRun(
  running: Running,
  report: readonly CheckEntry[],
  definitions: readonly CheckDefinition[],
): CheckProgress[] {
  const decided = new Map(running.checks.map(({ name, status }) => [name, status]));
  const known: readonly { name: string; title: string }[] =
    report.length === running.checksTotal ? report : definitions;
  const listed = known.map(({ name, title }) => ({ name, title, status: decided.get(name) }));
  const others = running.checks.filter(({ name }) => !known.some((check) => check.name === name));
  return [...listed, ...others.map(({ name, status }) => ({ name, title: name, status }))];
}

/** What is said of the run: `12 of 33 checks decided, 2 fail`. */
export function sayProgress(running: Running): string {
  const { checks, checksTotal } = running;
  const failing = checks.filter(({ status }) => status === 'FAIL').length;
  const fails = failing === 0 ? 'none fails' : `${failing} ${failing === 1 ? 'fails' : 'fail'}`;
  return checks.length === 0 ? 'no check decided yet' : `${checks.length} of ${checksTotal} checks decided, ${fails}`;
}
