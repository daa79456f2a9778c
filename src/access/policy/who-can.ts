import { WorkSlices } from '../../platform/work-slices.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { Decision, MatchedStatement } from '../authorizer.ts';
import type { Directory } from '../directory.ts';
import { PATTERNS_PER_SLICE, rolesOfSubject } from './simulate.ts';
import type { Srn } from './srn.ts';

export interface Granted {
  readonly subject: Subject;
  /** The allowing statements, each with its role and policy. */
  readonly by: readonly MatchedStatement[];
}

export interface WhoCan {
  /** Ordered by type and name, truncated at the limit. */
  readonly granted: readonly Granted[];
  /** Exact total number. */
  readonly total: number;
}

/**
 * Subjects of role assignments that may perform `action` on `resource`, each evaluated separately and with the code that enforces.
 * A person with several subjects (user, groups, domain) may have more permissions, or fewer because of a deny.
 */
export async function whoCan(directory: Directory, action: string, resource: Srn, limit: number): Promise<WhoCan> {
  const { engine } = directory;
  const slices = new WorkSlices(PATTERNS_PER_SLICE);
  // Many subjects have the same roles, so decisions are cached by set of roles.
  const decisions = new Map<string, Decision>();
  const granted: Granted[] = [];
  let total = 0;
  for (const subject of directory.assignedSubjects()) {
    const roles = rolesOfSubject(directory, subject);
    const key = roles.join(' ');
    let decision = decisions.get(key);
    await slices.spend(1 + roles.length);
    if (!decision) {
      const grants = engine.simulatedGrants(roles, undefined);
      decisions.set(key, (decision = engine.decideWith(grants, action, resource)));
      await slices.spend(grants.patternCount);
    }
    if (!decision.allowed) continue;
    total += 1;
    if (granted.length < limit) granted.push({ subject, by: decision.matchedStatements });
  }
  return { granted, total };
}
