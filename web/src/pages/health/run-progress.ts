import type { CheckDefinition, CheckEntry, Running } from '../../lib/types.ts';

/** A check of the current run; without a status until it has completed. */
export type CheckProgress = Pick<CheckEntry, 'name' | 'title'> & { readonly status: CheckEntry['status'] | undefined };

/**
 * All checks of the run, in a stable order.
 * @param report the checks of the latest report, used when the run has the same number of checks
 * @param definitions all checks; empty before they are loaded
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

/** The progress as text: `12 of 48 checks completed, 2 failed`. */
export function progressText(running: Running): string {
  const { checks, checksTotal } = running;
  const failing = checks.filter(({ status }) => status === 'FAIL').length;
  return checks.length === 0
    ? 'no checks completed yet'
    : `${checks.length} of ${checksTotal} checks completed, ${failing === 0 ? 'none' : failing} failed`;
}
