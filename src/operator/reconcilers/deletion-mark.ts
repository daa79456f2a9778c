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

/** What to do about the mark of a deletion (see removeUnreferenced()). @param now milliseconds since the epoch */
export function planMark<T extends Role | Policy>(object: T, now: number): MarkPlan<T> {
  const mark = object.metadata.annotations?.[ANNOTATIONS.deleting];
  if (mark === undefined) return {};
  const left = Date.parse(mark) + DELETION_MS - now;
  // A time that cannot be read was not written by a gateway.
  return left > 0 && left <= DELETION_MS ? { recheckMs: left } : { unmarked: withoutMark(object) };
}
