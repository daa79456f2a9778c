import type { Condition } from './meta.ts';
import { kubernetesTime } from './time.ts';

/** The schema's limit. */
const MAX_MESSAGE_LENGTH = 32_768;

export type NewCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

export interface ConditionUpdate {
  readonly conditions: readonly NewCondition[];
  /** Condition types of the caller: those that are not in `conditions` are removed. Conditions of other types are kept. */
  readonly owned: ReadonlySet<string>;
  /** `metadata.generation` that was observed; undefined if the store counts none. */
  readonly generation: number | undefined;
  readonly now: Date;
}

/** The conditions after an update. `lastTransitionTime` changes only with the status of a condition. */
export function updateConditions(
  previous: readonly Condition[] | undefined,
  { conditions, owned, generation, now }: ConditionUpdate,
): Condition[] {
  const others = (previous ?? []).filter(({ type }) => !owned.has(type));
  const updated = conditions.map(({ type, status, reason, message }): Condition => {
    const before = previous?.find((condition) => condition.type === type);
    return {
      type,
      status,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : kubernetesTime(now),
      reason,
      message: message.slice(0, MAX_MESSAGE_LENGTH),
    };
  });
  return [...updated, ...others];
}
