import { updateConditions, type NewCondition } from '../../resources/conditions.ts';
import type { Condition } from '../../resources/meta.ts';
import type { PlannedStatus } from './plan.ts';

/**
 * The result of reconciling an object. Its class alone decides the conditions, the requeue and the type of the Event.
 * `ready`: nothing to do. `waiting`: something that the object needs does not exist yet. `stalled`: the user must act.
 */
export interface Outcome {
  readonly class: 'ready' | 'waiting' | 'stalled';
  /** Machine-readable, in CamelCase. */
  readonly reason: string;
  /** One sentence: what is wrong, where, and what is expected. */
  readonly message: string;
}

export const READY: Outcome = { class: 'ready', reason: 'Ready', message: 'the resource is ready' };

/** An action failed and a retry does not help: the user must act. */
export class StalledError extends Error {
  readonly outcome: Outcome;

  constructor(reason: string, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'StalledError';
    this.outcome = { class: 'stalled', reason, message };
  }
}

/** The conditions of each class, as kstatus defines them: Reconciling and Stalled exist only while they are true. */
const CONDITIONS: Readonly<Record<Outcome['class'], readonly Pick<NewCondition, 'type' | 'status'>[]>> = {
  ready: [{ type: 'Ready', status: 'True' }],
  waiting: [
    { type: 'Ready', status: 'False' },
    { type: 'Reconciling', status: 'True' },
  ],
  stalled: [
    { type: 'Ready', status: 'False' },
    { type: 'Stalled', status: 'True' },
  ],
};
const OWNED: ReadonlySet<string> = new Set(['Ready', 'Reconciling', 'Stalled', 'Warning', 'Assigned']);

type PlannedConditions = Pick<PlannedStatus<unknown>, 'outcome' | 'warnings' | 'warningReason' | 'conditions'>;

/**
 * The conditions for an outcome. `Warning` exists only while there are warnings; it does not affect `Ready`.
 * @param generation `metadata.generation` of the reconciled object; undefined if the store counts none
 * @param now milliseconds since the epoch
 */
export function conditionsFor(
  { outcome, warnings = [], warningReason, conditions: ofKind = [] }: PlannedConditions,
  previous: readonly Condition[],
  generation: number | undefined,
  now: number,
): Condition[] {
  const { reason, message } = outcome;
  const conditions: NewCondition[] = CONDITIONS[outcome.class].map(({ type, status }) => {
    return { type, status, reason, message };
  });
  if (warnings.length > 0) {
    conditions.push({
      type: 'Warning',
      status: 'True',
      reason: warningReason ?? 'NameNotFound',
      message: warnings.join('; '),
    });
  }
  conditions.push(...ofKind);
  return updateConditions(previous, { conditions, owned: OWNED, generation, now });
}
