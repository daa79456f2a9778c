import { RBAC_ACTION_KINDS } from '../../access/policy/actions.ts';
import type { GrantSet } from '../../access/policy/grants/grant-set.ts';
import type { Principal } from '../../access/principal.ts';

/** What the dashboard shows about its caller. */
export interface CallerDirectory {
  grantsOf(caller: Principal): Pick<GrantSet, 'namePatterns'>;
  /** How the caller is named for humans. */
  nameOf(caller: Principal): string;
}

/** Access management of a caller: the patterns of the names on which each action is allowed. */
export function accessOf(directory: CallerDirectory, caller: Principal): Record<string, string[]> {
  const grants = directory.grantsOf(caller);
  const shown: Record<string, string[]> = {};
  for (const [action, kind] of Object.entries(RBAC_ACTION_KINDS)) {
    const patterns = kind === 'cluster' ? [] : grants.namePatterns(action, kind);
    if (patterns.length > 0) shown[action] = [...patterns];
  }
  return shown;
}
