/** The name of a check's alert: `IDEAL_STATE_EV_MISMATCH_CHECK` → `OlapIdealStateEvMismatch`. */
export function alertName(check: string): string {
  const words = check.replace(/(_HEALTH)?_CHECK$/, '').split('_');
  return `Olap${words.map((word) => word.charAt(0) + word.slice(1).toLowerCase()).join('')}`;
}

/** The alerts about checks that three runs in a row could not evaluate. */
export const CRITICAL_NOT_EVALUATED = 'OlapHealthCriticalChecksNotEvaluated';
export const NOT_EVALUATED = 'OlapHealthChecksNotEvaluated';
/** Runs in a row without a result before these alerts fire. */
export const NOT_EVALUATED_RUNS = 3;

/** Pages of the checks. */
export const RUNBOOKS = 'https://github.com/olap-warden/olap-warden/blob/main/docs/checks';
