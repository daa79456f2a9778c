import { randomUUID } from 'node:crypto';
import type { Policy, ResourceByKind, RoleAssignment } from '../../resources/kinds.ts';
import { ManagerError } from '../errors.ts';
import { compilePolicy, isDenying } from '../policy/compiled-policy.ts';
import { SYSTEM_ADMIN } from '../policy/predefined.ts';
import type { Principal } from '../principal.ts';
import {
  readState,
  viewedState,
  type AccessState,
  type AdministratorReach,
  type ReachingDeny,
} from './administrator-reach.ts';
import type { Administrators } from './administrators.ts';
import { isMarked, removeMarks, unmark, withMark } from './deny-marks.ts';
import { keepsChanging, notFound, type ResourceEditor } from './editor.ts';
import { refused, type Attempt, type EscalationGuard } from './escalation.ts';

/** A change by which a deny may apply to somebody. */
export interface DenyingChange {
  readonly attempt: Attempt;
  /** The state with the change, of one without it. */
  readonly apply: (state: AccessState) => AccessState;
  /** The state without the change, of one with it and with changes of others. */
  readonly revert: (state: AccessState) => AccessState;
}

/** A write of a policy or a role that may be a part of a deny. */
export interface GuardedWrite<K extends 'Policy' | 'Role'> {
  readonly kind: K;
  readonly name: string;
  /** The policy that gets a deny, or that the role gets. */
  readonly policy: string;
  /** The new spec; the same object if nothing changes. Throws to reject the stored object. */
  readonly change: (current: ResourceByKind[K]) => ResourceByKind[K]['spec'];
  readonly denying: DenyingChange;
}

/**
 * Keeps denies away from subjects with `system-admin`: a change by which one applies to them requires a delegation right, or a holding of
 * everything. In any case a subject must be left that can assign the role.
 *
 * A deny applies by three objects: policy, role and assignment. Different callers may write them at the same time.
 * - A policy or a role is marked first, then everything is read from the store and checked, then exactly the marked version is changed.
 * - An assignment is written first, then everything is read and checked, and the assignment is removed if the check fails. A policy or role
 *   must not be reverted in this way: others may have relied on its denies in between, and would gain what they denied.
 * - A write that finds the mark of another write that may be part of the same deny removes it, so that the other write fails and starts again.
 *
 * Suppose two writes both succeed, and neither has read the other. Each has its mark (or its assignment) in the store before it reads. The one that
 * reads later has read the mark of the first, and removed it, so the first fails; or it has read what the first has written.
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

  /** By the local view, before a write. @throws {ManagerError} forbidden; conflict if no subject would be left */
  async check(caller: Principal, change: DenyingChange): Promise<void> {
    const view = viewedState(this.#editor.store);
    await this.#judge(caller, change, change.revert(view), change.apply(view));
  }

  /** Writes a policy or a role. @throws {StoreError} not-found, conflict; as check(), and what `change` throws */
  write<K extends 'Policy' | 'Role'>(caller: Principal, options: GuardedWrite<K>): Promise<ResourceByKind[K]> {
    const { kind, name, policy } = options;
    const { store } = this.#editor;
    return this.#editor.inTurn(kind, name, () =>
      this.#editor.retryConflicts(keepsChanging(kind, name), async () => {
        const current = await store.read(kind, name);
        if (current === undefined) throw notFound(kind, name);
        const spec = options.change(current);
        if (spec === current.spec) return current;
        const marked = await store.update(kind, withMark(current, `${policy} ${randomUUID()}`));
        try {
          if (kind === 'Policy' || (await this.#mayDeny([policy]))) await this.#judgeCurrent(caller, options);
        } catch (error) {
          await unmark(this.#editor, marked);
          throw error;
        }
        return store.update(kind, this.#editor.stamped({ ...withMark(marked, undefined), spec }, caller));
      }),
    );
  }

  /** By the state in the store, in which the mark is already. */
  async #judgeCurrent<K extends 'Policy' | 'Role'>(caller: Principal, options: GuardedWrite<K>): Promise<void> {
    const { kind, name, policy, denying } = options;
    const state = await readState(this.#editor.store);
    const [before, after] = [denying.revert(state), denying.apply(state)];
    const endangers = this.#endangers(this.#administrators.reach(before), this.#administrators.reach(after));
    // Where a subject must be left, every other write matters.
    await removeMarks(this.#editor, state, { except: `${kind} ${name}`, policy: endangers ? undefined : policy });
    if (await this.#judge(caller, denying, before, after)) await this.#markSuccessor(after);
  }

  /** After an assignment was written. @throws {ManagerError} as check(): the caller must remove the assignment */
  confirm(caller: Principal, change: DenyingChange): Promise<void> {
    return this.#editor.retryConflicts(keepsChanging('Role', SYSTEM_ADMIN), async () => {
      const state = await readState(this.#editor.store);
      await removeMarks(this.#editor, state, {});
      if (await this.#judge(caller, change, change.revert(state), state)) await this.#markSuccessor(state);
    });
  }

  /** Whether a role denies something, or is about to, as the store has it. @throws {StoreError} unavailable */
  async mayDeny(role: string): Promise<boolean> {
    const stored = await this.#editor.store.read('Role', role);
    if (stored === undefined) return false;
    return isMarked(stored) || this.#mayDeny(stored.spec.policies ?? []);
  }

  async #mayDeny(names: readonly string[]): Promise<boolean> {
    const policies = await Promise.all(names.map((name) => this.#editor.store.read('Policy', name)));
    return policies.some((policy) => policy !== undefined && (isMarked(policy) || hasDeny(policy)));
  }

  /** @returns whether a subject can no longer assign the role */
  async #judge(
    caller: Principal,
    { attempt }: DenyingChange,
    withoutChange: AccessState,
    withChange: AccessState,
  ): Promise<boolean> {
    const [before, after] = [this.#administrators.reach(withoutChange), this.#administrators.reach(withChange)];
    this.#requireRight(caller, attempt, after.newDeny(before));
    const endangers = this.#endangers(before, after);
    if (endangers && (await this.#successor(after)) === undefined) throw nobodyLeft(attempt);
    return endangers;
  }

  /** No other caller removes the role from the subject that is left. */
  async #markSuccessor(state: AccessState): Promise<void> {
    const successor = await this.#successor(this.#administrators.reach(state));
    if (successor !== undefined) await this.#administrators.mark(successor);
  }

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
    if (deny === undefined || this.#escalation.mayRestrictAdministrators(caller, attempt)) return;
    const place = deny.index === undefined ? ', which denies everything because it is invalid,' : '';
    const statement = deny.index === undefined ? '' : `statements[${deny.index}] of `;
    throw refused(
      attempt,
      `${statement}policy \`${deny.policy}\`${place} would apply to subjects with the role \`${SYSTEM_ADMIN}\`, or may apply to them by a group or domain`,
    );
  }
}

function hasDeny({ metadata, spec }: Policy): boolean {
  return isDenying(compilePolicy(metadata.name, spec));
}

function nobodyLeft({ what }: Attempt): ManagerError {
  return new ManagerError(
    'conflict',
    `to ${what} would leave no subject with the role \`${SYSTEM_ADMIN}\` that may assign it: a deny would apply to all of them`,
  );
}
