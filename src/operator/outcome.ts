import type { Condition } from '../resources/meta.ts';

/**
 * How it stands with an object. The class alone decides the conditions, the requeue and the Event:
 * `ready`: all is well; `waiting`: something that will come is not there yet; `stalled`: the user has to act.
 */
export interface Outcome {
  readonly class: 'ready' | 'waiting' | 'stalled';
  /** CamelCase, for programs. */
  readonly reason: string;
  /** One sentence, for people: what is wrong with which input, and what would be right. */
  readonly message: string;
}

export const READY: Outcome = { class: 'ready', reason: 'Ready', message: 'everything is in place' };

/** A step of a plan could not be done, and trying again soon will not help: the user has to act. */
export class StalledError extends Error {
  readonly outcome: Outcome;

  constructor(reason: string, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'StalledError';
    this.outcome = { class: 'stalled', reason, message };
  }
}

const MAX_MESSAGE_LENGTH = 32768;

interface ConditionWish {
  readonly type: string;
  readonly status: 'True' | 'False';
}

/** Which conditions an outcome means, by kstatus: the abnormal ones (Reconciling, Stalled) are there only while they are true. */
const WISHES: Readonly<Record<Outcome['class'], readonly ConditionWish[]>> = {
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
const OURS = new Set(['Ready', 'Reconciling', 'Stalled']);

/**
 * The conditions for an outcome. `lastTransitionTime` moves only where the status of a condition changes;
 * conditions of other types are kept.
 *
 * @param generation `metadata.generation` that the outcome was found for; undefined where the store counts none
 */
export function conditionsFor(
  outcome: Outcome,
  previous: readonly Condition[],
  generation: number | undefined,
  now: Date,
): Condition[] {
  const others = previous.filter(({ type }) => !OURS.has(type));
  const conditions = WISHES[outcome.class].map(({ type, status }): Condition => {
    const before = previous.find((condition) => condition.type === type);
    const unchanged = before !== undefined && before.status === status;
    const condition: Condition = {
      type,
      status,
      lastTransitionTime: unchanged ? before.lastTransitionTime : toKubernetesTime(now),
      reason: outcome.reason,
      message: outcome.message.slice(0, MAX_MESSAGE_LENGTH),
    };
    if (generation !== undefined) condition.observedGeneration = generation;
    return condition;
  });
  return [...conditions, ...others];
}

/** RFC 3339 in whole seconds, as metav1.Time is written. */
export function toKubernetesTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
