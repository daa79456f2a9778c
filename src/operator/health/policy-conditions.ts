import { readFailed, readOk, type PolicyConditions } from '../../health/snapshot.ts';
import type { Policy } from '../../resources/kinds.ts';
import { COLUMNS_NOT_CHECKED } from '../controller/plan.ts';

/** The policies with conditions, and whether these fit the schemas of their tables, by the status that the operator has written. */
export function policyConditionsOf(policies: readonly Policy[]): PolicyConditions[] {
  return policies.filter(hasConditions).map((policy) => ({ name: policy.metadata.name, fault: faultOf(policy) }));
}

/** An invalid policy can have any content. */
function hasConditions({ spec }: Policy): boolean {
  const statements: unknown = spec.statements;
  return (
    Array.isArray(statements) && statements.some((one) => (one as { conditions?: unknown }).conditions !== undefined)
  );
}

function faultOf({ metadata, status }: Policy): PolicyConditions['fault'] {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready === undefined || status?.observedGeneration !== metadata.generation)
    return readFailed('the operator has not compared it yet');
  if (ready.status === 'False') return readOk(ready.reason);
  const isUnchecked = status?.conditions?.some(
    ({ type, reason }) => type === 'Warning' && reason === COLUMNS_NOT_CHECKED,
  );
  return isUnchecked === true ? readFailed('its tables or their schemas could not be read') : readOk(undefined);
}
