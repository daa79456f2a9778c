import { SEVERITIES, type CheckOrigin } from '../resources/health-finding.ts';
import { CHECKS } from './check-files.ts';
import type { CheckDefinition } from './check.ts';

/** Extensions have no position in the specification. */
const LAST = Number.MAX_SAFE_INTEGER;

/** All checks: first those of the specification, in its order, then the extensions, by severity and name. */
export const CATALOGUE: readonly CheckDefinition[] = CHECKS.toSorted(
  (a, b) =>
    (a.specified ?? LAST) - (b.specified ?? LAST) ||
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    (a.name < b.name ? -1 : 1),
);

const BY_NAME: ReadonlyMap<string, CheckDefinition> = new Map(CATALOGUE.map((check) => [check.name, check]));

/** Whether a check is one of the specification's; a check that this version does not know is an extension. */
export function originOf(name: string): CheckOrigin {
  return BY_NAME.get(name)?.specified === undefined ? 'extension' : 'specification';
}

export function findCheck(name: string): CheckDefinition | undefined {
  return BY_NAME.get(name);
}
