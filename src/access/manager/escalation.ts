import type { Directory } from '../directory.ts';
import type { Principal } from '../principal.ts';
import { SYSTEM_ADMIN } from '../policy/predefined.ts';
import { compilePolicy } from '../policy/compiled-policy.ts';
import { ManagerError } from '../errors.ts';

/**
 * Prevents privilege escalation: creating, attaching or assigning a policy that allows everything requires that the caller is allowed everything
 * by a single statement. Otherwise the permission to edit roles would include all permissions.
 */
export class EscalationGuard {
  readonly #directory: Directory;

  constructor(directory: Directory) {
    this.#directory = directory;
  }

  /** @throws {ManagerError} forbidden */
  requireMayWritePolicy(caller: Principal, name: string, spec: unknown): void {
    if (compilePolicy(name, spec).amountsToEverything) this.#require(caller, `writing policy \`${name}\``);
  }

  /** @throws {ManagerError} forbidden */
  requireMayAttach(caller: Principal, policy: string): void {
    if (this.#isAll(policy)) this.#require(caller, `attaching policy \`${policy}\``);
  }

  /** @throws {ManagerError} forbidden */
  requireMayAssign(caller: Principal, role: string, policies: readonly string[]): void {
    const all = policies.find((policy) => this.#isAll(policy));
    if (all !== undefined) this.#require(caller, `assigning role \`${role}\`, which holds policy \`${all}\`,`);
  }

  /** The predefined policy counts by name even while it is missing, because it will be restored. */
  #isAll(policy: string): boolean {
    return policy === SYSTEM_ADMIN || this.#directory.engine.policyAllowsEverything(policy);
  }

  #require(caller: Principal, what: string): void {
    if (this.#directory.grantsOf(caller).allowsEverything) return;
    throw new ManagerError(
      'forbidden',
      `${what} gives everything on everything, which only who holds it may hand on: \`${caller.srn}\` does not`,
    );
  }
}
