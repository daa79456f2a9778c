import type { AskedAction } from './action-set.ts';
import { askAction } from './action-set.ts';
import { completeSrn, MAX_SRN_ID_LENGTH, type Deployment, type Srn, type SrnLevel } from './srn.ts';

/** An action on a resource. */
export interface Question {
  readonly action: AskedAction;
  /** The completed resource, outermost level first. */
  readonly levels: readonly SrnLevel[];
  /** The level that the last level of a pattern must match. */
  readonly last: SrnLevel;
  /** Whether a name exceeds the maximum length: nothing is allowed then. */
  readonly tooLong: boolean;
}

export function questionOf(deployment: Deployment, action: string, resource: Srn): Question {
  const levels = completeSrn(resource, deployment);
  // INVARIANT: a completed resource has at least the level of the environment.
  const last = levels.at(-1)!;
  return { action: askAction(action), levels, last, tooLong: levels.some(({ id }) => id.length > MAX_SRN_ID_LENGTH) };
}
