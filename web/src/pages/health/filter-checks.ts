import type { CheckEntry, Finding } from '../../lib/types.ts';

/** Filters of the report; an empty text matches everything. */
export interface Filters {
  readonly status: string;
  readonly table: string;
  readonly instance: string;
  readonly text: string;
}

const TABLE_KINDS = new Set(['table', 'segment']);
const INSTANCE_KINDS = new Set(['server', 'broker', 'controller', 'instance', 'minion']);

function concerns(finding: Finding, kinds: ReadonlySet<string>, wanted: string): boolean {
  return kinds.has(finding.entityType.toLowerCase()) && finding.entity.toLowerCase().includes(wanted.toLowerCase());
}

/** The matching checks with their matching findings; failed checks first. */
export function filterChecks(checks: readonly CheckEntry[], filters: Filters): CheckEntry[] {
  const text = filters.text.toLowerCase();
  const shown: CheckEntry[] = [];
  for (const check of checks) {
    if (filters.status !== '' && check.status !== filters.status) continue;
    let findings = check.findings;
    if (filters.table !== '') findings = findings.filter((finding) => concerns(finding, TABLE_KINDS, filters.table));
    if (filters.instance !== '')
      findings = findings.filter((finding) => concerns(finding, INSTANCE_KINDS, filters.instance));
    if ((filters.table !== '' || filters.instance !== '') && findings.length === 0) continue;
    const about = `${check.name} ${check.title} ${check.category} ${check.message}`.toLowerCase();
    if (
      text !== '' &&
      !about.includes(text) &&
      !findings.some((finding) => `${finding.entity} ${finding.message}`.toLowerCase().includes(text))
    )
      continue;
    shown.push({ ...check, findings });
  }
  return shown.toSorted((a, b) => Number(a.status === 'PASS') - Number(b.status === 'PASS'));
}
