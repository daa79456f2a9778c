import { atOnce } from '../../platform/long-work.ts';
import type { Directory } from '../directory.ts';
import type { DecidingStatement } from '../authorizer.ts';
import { ManagerError } from '../errors.ts';
import { meaningsOf, parseAskedResource } from '../policy/asked-resource.ts';
import type { PartialDecision } from '../policy/conditions/partly-allowed.ts';
import { claimValue } from '../policy/conditions/caller-values.ts';
import { simulate } from '../policy/simulate.ts';
import type { AccessCase, Expectation } from './access-test.ts';

/** The answer of the code that enforces. */
export interface Answer {
  readonly answer: Expectation;
  readonly decision: PartialDecision;
  /** The statements that decide; empty where none matches. */
  readonly by: readonly DecidingStatement[];
}

type Question = Pick<AccessCase, 'subjects' | 'claims' | 'action' | 'resource'>;

/** Asks one question about a caller with these subjects. @returns the answer, or why the question has none */
export function answerTo(directory: Directory, { subjects, claims, action, resource }: Question): Answer | string {
  const asked = parseAskedResource(resource, action, directory.deployment);
  if (!asked.ok) return asked.message;
  const request = { action, resources: meaningsOf(asked.value, action, undefined) };
  const values = Object.entries(claims).flatMap(([name, text]) => {
    const value = claimValue(text);
    return value === undefined ? [] : [[name, value] as const];
  });
  const work = simulate(directory, { subjects, claims: Object.fromEntries(values) }, undefined, [request]);
  try {
    const decision = atOnce(work).decisions[0]!;
    const answer = decision.allowed ? 'allow' : decision.reason === 'conditional' ? 'filter' : 'deny';
    return { answer, decision, by: decision.matchedStatements };
  } catch (error) {
    if (error instanceof ManagerError) return error.message;
    throw error;
  }
}

/** How the answer differs from the expected one; undefined if it does not. */
export function mismatchOf(expected: AccessCase, { answer, decision, by }: Answer): string | undefined {
  if (answer !== expected.expect) return `expected ${expected.expect}, is ${answer}`;
  if (expected.rows !== undefined) {
    const rows = decision.conditions?.rowFilters?.map((all) => all.join(' and ')) ?? [];
    const missing = expected.rows.filter((row) => !rows.includes(row));
    const further = rows.filter((row) => !expected.rows?.includes(row));
    if (missing.length > 0 || further.length > 0)
      return `expected the rows \`${expected.rows.join('` or `')}\`, are ${rows.length === 0 ? 'all' : `\`${rows.join('` or `')}\``}`;
  }
  const { why } = expected;
  const policies = by.map(({ policy }) => policy);
  if (why === undefined || policies.includes(why) || (why === 'none' && policies.length === 0)) return undefined;
  return `${expected.expect} is right, but not because of ${why === 'none' ? 'no statement' : `policy \`${why}\``}`;
}
