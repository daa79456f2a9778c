import type { RoleAssignment } from '../../resources/kinds.ts';
import { ManagerError } from '../errors.ts';
import { SYSTEM_ADMIN } from '../policy/predefined.ts';
import type { Principal } from '../principal.ts';
import {
  isDenying,
  readState,
  viewedState,
  type AccessState,
  type AdministratorReach,
  type ReachingDeny,
} from './administrator-reach.ts';
import type { Administrators } from './administrators.ts';
import { keepsChanging, type ResourceEditor } from './editor.ts';
import { refused, type Attempt, type EscalationGuard } from './escalation.ts';

/** A change that may make a deny apply to somebody. */
export interface DenyingChange {
  readonly attempt: Attempt;
  /** The state with the change, of one without it. */
  readonly apply: (state: AccessState) => AccessState;
  /** The state without the change, of one with it and with changes of others. */
  readonly revert: (state: AccessState) => AccessState;
  /** Takes the change back in the store, and leaves what others have changed since. */
  readonly undo: () => Promise<unknown>;
}

/**
 * Keeps denies away from those who hold `system-admin`: a change that makes one apply to them needs the right to hand on more, or a holding of
 * everything. With it, too, one of them must be left who can make another administrator.
 *
 * A deny applies because of three objects: the policy, the role with the policy, and the assignment of the role. Different callers may write them
 * at the same time. Each of them reads all three kinds from the store after its own write, so the last one sees the other two; a change that is
 * not allowed is then undone. It is refused before the write where the view shows it already.
 */
export class DenyGuard {
  readonly #editor: ResourceEditor;
  readonly #escalation: EscalationGuard;
  readonly #administrators: Administrators;

  constructor(editor: ResourceEditor, escalation: EscalationGuard, administrators: Administrators) {
    this.#editor = editor;
    this.#escalation = escalation;
    this.#administrators = administrators;
  }

  /** Whether one of the policies denies something, as the store has them. @throws {StoreError} unavailable */
  async areDenying(policies: readonly string[]): Promise<boolean> {
    return [...(await this.#escalation.read(policies)).values()].some(isDenying);
  }

  /** Before the write. @throws {ManagerError} forbidden; conflict if nobody would be left */
  async check(caller: Principal, { attempt, apply, revert }: DenyingChange): Promise<void> {
    const view = viewedState(this.#editor.store);
    const [before, after] = [this.#administrators.reach(revert(view)), this.#administrators.reach(apply(view))];
    this.#requireRight(caller, attempt, after.newDeny(before));
    if (this.#endangers(before, after) && (await this.#successor(after)) === undefined) throw nobodyLeft(attempt);
  }

  /** After the write. Undoes the change if it is refused. @throws {ManagerError} as check() */
  async confirm(caller: Principal, change: DenyingChange): Promise<void> {
    try {
      await this.#editor.retryConflicts(keepsChanging('Role', SYSTEM_ADMIN), () => this.#confirmOnce(caller, change));
    } catch (error) {
      await change.undo();
      throw error;
    }
  }

  async #confirmOnce(caller: Principal, { attempt, revert }: DenyingChange): Promise<void> {
    const state = await readState(this.#editor.store);
    const [before, after] = [this.#administrators.reach(revert(state)), this.#administrators.reach(state)];
    this.#requireRight(caller, attempt, after.newDeny(before));
    if (!this.#endangers(before, after)) return;
    const successor = await this.#successor(after);
    if (successor === undefined) throw nobodyLeft(attempt);
    // Nobody takes the role from the one that is left, because this deny was not there yet: see Administrators.
    await this.#administrators.mark(successor);
  }

  /** Whether somebody can no longer make an administrator. */
  #endangers(before: AdministratorReach, after: AdministratorReach): boolean {
    return before.holders.some(({ subject }) => before.isEffective(subject) && !after.isEffective(subject));
  }

  /** The assignment of a subject that is left. */
  async #successor(after: AdministratorReach): Promise<RoleAssignment | undefined> {
    for (const { subject, assignment } of after.holders) {
      if (after.isEffective(subject) && (await this.#administrators.isLasting(subject))) return assignment;
    }
    return undefined;
  }

  #requireRight(caller: Principal, attempt: Attempt, deny: ReachingDeny | undefined): void {
    if (deny === undefined || this.#escalation.mayDenyAnyone(caller, attempt)) return;
    const place = deny.index === undefined ? ', which denies everything because it is invalid,' : '';
    const statement = deny.index === undefined ? '' : `statements[${deny.index}] of `;
    throw refused(
      attempt,
      `${statement}policy \`${deny.policy}\`${place} would apply to subjects with the role \`${SYSTEM_ADMIN}\`, or may apply to them by a group or domain`,
    );
  }
}

function nobodyLeft({ what }: Attempt): ManagerError {
  return new ManagerError(
    'conflict',
    `to ${what} would leave no subject with the role \`${SYSTEM_ADMIN}\` that may assign it: a deny would apply to all of them`,
  );
}
