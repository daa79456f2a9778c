import type { CheckOutcome } from '../../check.ts';
import { rounded } from '../../numbers.ts';
import { counted, entityFinding, type Findings } from './findings.ts';

export interface ServerLimit {
  readonly limit: number;
  /** Singular noun of what is counted. */
  readonly noun: string;
}

/** The outcome of a check that limits a count on each server. */
export function serverLimitOutcome(
  counts: ReadonlyMap<string, number>,
  { limit, noun }: ServerLimit,
  findings: Findings,
): CheckOutcome {
  for (const [server, count] of counts) {
    findings.examined();
    if (count <= limit) continue;
    const observed = counted(count, noun);
    findings.add(
      entityFinding('server', server, `the server hosts ${observed}`, observed, `at most ${rounded(limit)}`),
    );
  }
  return findings.outcome({
    pass: `no server hosts more than ${counted(limit, noun)}`,
    fail: (count) => `${counted(count, 'server')} ${count === 1 ? 'hosts' : 'host'} more than ${counted(limit, noun)}`,
    notApplicable: 'not applicable: no server hosts a segment',
  });
}
