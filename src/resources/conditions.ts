import type { Condition } from './meta.ts';
import { kubernetesTime } from './time.ts';

/** The limit of the schema. */
const MAX_MESSAGE_LENGTH = 32_768;

export type NewCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

export interface ConditionUpdate {
  readonly conditions: readonly NewCondition[];
  /** Condition types of the caller: those that are not in `conditions` are removed. Conditions of other types are kept. */
  readonly owned: ReadonlySet<string>;
  /** `metadata.generation` that was observed; undefined if the store counts none. */
  readonly generation: number | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The conditions after an update. `lastTransitionTime` changes only with the status of a condition. */
export function updateConditions(
  previous: readonly Condition[] | undefined,
  { conditions, owned, generation, now }: ConditionUpdate,
): Condition[] {
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
  return [...updated, ...withoutConditions(previous, owned)];
}

/** The conditions of all other types. */
function withoutConditions(conditions: readonly Condition[] | undefined, types: ReadonlySet<string>): Condition[] {
  return (conditions ?? []).filter(({ type }) => !types.has(type));
}
