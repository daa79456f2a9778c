import type { Directory } from '../directory.ts';
import type { CompiledStatement } from '../policy/compiled-policy.ts';
import type { MissingGrant } from '../policy/gain.ts';
import { findMissingGrant } from '../policy/grants/missing-grant.ts';
import type { GrantSet } from '../policy/grants/grant-set.ts';
import type { Principal } from '../principal.ts';

/** Denies that begin to apply by a change. */
export interface AddedDenies {
  readonly added: readonly CompiledStatement[];
  /** Denies that apply to all of the same subjects already. */
  readonly already: readonly CompiledStatement[];
  /** Whether the caller is one of these subjects. */
  readonly toCaller: boolean;
}

export interface DenyProblem {
  readonly missing: MissingGrant;
  /** `not-held`: the caller neither holds what is denied nor is denied it, too. `to-caller`: the caller would lose what it needs to take the deny back. */
  readonly why: 'not-held' | 'to-caller';
}

/**
 * Why a caller may not make these denies apply; undefined if it may. What is denied to the caller, it may pass on: otherwise it could not grant
 * the rest, and a role that is restricted as its own is of no use to it. What it holds, it may deny and can allow again, because the removal
 * of a deny requires to hold what it denies.
 * @param until end of the change, milliseconds since the epoch: the caller must hold it until then
 * @throws {TooManyComparisons}
 */
export function problemOfDenies(
  directory: Directory,
  caller: Principal,
  { added, already, toCaller }: AddedDenies,
  until: number,
): DenyProblem | undefined {
  if (added.length === 0) return undefined;
  const uncovered = (by: readonly CompiledStatement[]): MissingGrant | undefined =>
    findMissingGrant({ allows: by, denies: [] }, { gained: added, denied: already });
  const own = statementsOf(directory.grantsOf(caller));
  const lasting = directory.grantsLasting(caller, until);
  const missing = uncovered(own) ?? (lasting && uncovered(statementsOf(lasting)));
  if (missing) return { missing, why: 'not-held' };
  const lost = toCaller ? uncovered(own.filter(({ effect }) => effect === 'deny')) : undefined;
  return lost && { missing: lost, why: 'to-caller' };
}

function statementsOf(grants: GrantSet): CompiledStatement[] {
  return grants.policies.flatMap(({ policy }) => policy.statements);
}
