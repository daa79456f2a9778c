import type { Subject } from '../resources/role-assignment.ts';
import type { MatchedStatement } from './authorizer.ts';
import type { Directory } from './directory.ts';
import { simulate } from './simulate.ts';
import type { Srn } from './srn.ts';

export interface Granted {
  readonly subject: Subject;
  /** The statements that allow it, each with its role and policy. */
  readonly by: readonly MatchedStatement[];
}

export interface WhoCan {
  /** In the order of type and name, cut at the limit. */
  readonly granted: readonly Granted[];
  /** How many there are, exact. */
  readonly total: number;
}

/**
 * Which of the subjects that a role is assigned to may do `action` on `resource`, each taken by itself and decided by the code that
 * enforces. A person may have more by several of its subjects (user, groups, domain) together, or less by a deny among them.
 */
export function whoCan(directory: Directory, action: string, resource: Srn, limit: number): WhoCan {
  const granted: Granted[] = [];
  let total = 0;
  for (const subject of directory.assignedSubjects()) {
    const [decision] = simulate(directory, [subject], undefined, [{ action, resource }]).decisions;
    if (decision?.allowed !== true) continue;
    total += 1;
    if (granted.length < limit) granted.push({ subject, by: decision.matchedStatements });
  }
  return { granted, total };
}
