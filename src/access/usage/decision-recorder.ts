import type { Policy } from '../../resources/kinds.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { CompiledStatement } from '../policy/compiled-policy.ts';
import type { DecisionObserver } from '../policy/decision-ports.ts';
import type { GrantSet } from '../policy/grants/grant-set.ts';
import type { Principal } from '../principal.ts';
import { assignmentUsageKey, roleUsageKey, statementUsageKey, tokenUsageKey } from './usage-keys.ts';
import type { UsageTracker } from './usage-tracker.ts';

export interface DecisionRecorderPorts {
  readonly tracker: Pick<UsageTracker, 'day' | 'mark'>;
  readonly policy: (name: string) => Policy | undefined;
  readonly subjectsOf: (principal: Principal) => readonly Subject[];
  /** Whether the subject has the role now. */
  readonly holds: (subject: Subject, role: string) => boolean;
}

/**
 * Marks what determined a decision: the service token of the caller, one deciding statement, the caller's roles with the policy of this statement,
 * and the assignments of these roles to the caller. If several statements give the same decision, only one is marked. Unmarked statements can
 * therefore be removed without an effect on decisions.
 */
export class DecisionRecorder implements DecisionObserver {
  readonly #ports: DecisionRecorderPorts;

  constructor(ports: DecisionRecorderPorts) {
    this.#ports = ports;
  }

  get day(): number {
    return this.#ports.tracker.day;
  }

  principalDecided(principal: Principal): void {
    if (principal.kind === 'service-token') this.#ports.tracker.mark(tokenUsageKey(principal.id));
  }

  statementDecided({ policy: name, index }: CompiledStatement): void {
    const { tracker, policy } = this.#ports;
    if (name === undefined) return;
    const statement = policy(name)?.spec.statements[index];
    if (statement) tracker.mark(statementUsageKey(name, statement));
  }

  policyDecided(principal: Principal, grants: GrantSet, policy: string): void {
    for (const role of grants.rolesWith(policy)) {
      this.#ports.tracker.mark(roleUsageKey(role));
      this.#markAssignments(principal, role);
    }
  }

  #markAssignments(principal: Principal, role: string): void {
    const { tracker, subjectsOf, holds } = this.#ports;
    for (const subject of subjectsOf(principal)) {
      if (!holds(subject, role)) continue;
      // A token is assigned by the name of its object or by its access key; the record has its name.
      const name = principal.kind === 'service-token' ? principal.id : subject.name;
      tracker.mark(assignmentUsageKey(role, { type: subject.type, name }));
    }
  }
}
