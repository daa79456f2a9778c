import { withoutMark } from '../../access/manager/references.ts';
import type { Policy, Role } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';

/** A gateway deletes a target, or removes its mark, within this time. */
const DELETION_MS = 60_000;

interface MarkPlan<T> {
  /** The object without a mark that a gateway has left, when it was ended during a deletion. */
  readonly unmarked?: T;
  /** Milliseconds until the mark counts as left. */
  readonly recheckMs?: number;
}

/** The mark of a deletion (see removeUnreferenced()). */
export function markOf(object: Role | Policy | undefined): string | undefined {
  return object?.metadata.annotations?.[ANNOTATIONS.deleting];
}

/** What to do about the mark of a deletion. @param ageMs milliseconds since this process saw the mark first */
export function planMark<T extends Role | Policy>(object: T, ageMs: number): MarkPlan<T> {
  if (markOf(object) === undefined) return {};
  return ageMs < DELETION_MS ? { recheckMs: DELETION_MS - ageMs } : { unmarked: withoutMark(object) };
}
