import { entitiesIn, entityOf, tableOf, type Entity } from '../../lib/entities.ts';
import type { CheckEntry, Finding } from '../../lib/types.ts';
import { stateOfCheck } from './check-state.ts';

/** Filters of the report; an empty text matches everything. */
export interface Filters {
  /** A CheckState. */
  readonly status: string;
  readonly table: string;
  readonly instance: string;
  readonly text: string;
}

const TABLE_KINDS = new Set(['table', 'segment']);

export const ANY: Filters = { status: '', table: '', instance: '', text: '' };

/** Whether a finding is about an entity or names it, as one about a segment names its server. */
function concerns(finding: Finding, kind: Entity['kind'], wanted: string): boolean {
  const matches = (name: string): boolean => name.toLowerCase().includes(wanted.toLowerCase());
  const { entityType, entity, message } = finding;
  const isAbout = kind === 'table' ? TABLE_KINDS.has(entityType.toLowerCase()) : entityOf(finding)?.kind === kind;
  return (
    (isAbout && matches(entity)) || entitiesIn(message).some((named) => named.kind === kind && matches(named.name))
  );
}

/** Whether a finding is about exactly this entity or names it. */
function isAbout(finding: Finding, { kind, name }: Entity): boolean {
  const isSame = (other: Entity | undefined): boolean =>
    other?.kind === kind && (kind === 'table' ? tableOf(other.name) : other.name) === name;
  // The names of segments begin with that of their table.
  const isSegment = kind === 'table' && finding.entityType.toLowerCase() === 'segment';
  if (isSegment && finding.entity.startsWith(`${name}_`)) return true;
  return isSame(entityOf(finding)) || entitiesIn(finding.message).some(isSame);
}

/** The checks with findings about an entity, each with these findings only. */
export function checksAbout(checks: readonly CheckEntry[], entity: Entity): CheckEntry[] {
  return filterChecks(checks, ANY).flatMap((check) => {
    const findings = check.findings.filter((finding) => isAbout(finding, entity));
    return findings.length === 0 ? [] : [{ ...check, findings, findingCount: findings.length }];
  });
}

/** The filters that show all findings that concern an entity. */
export const filterOf = ({ kind, name }: Entity): Filters =>
  kind === 'table' ? { ...ANY, table: tableOf(name) } : { ...ANY, instance: name };

/** The filters that show all findings of the same entity; undefined for the cluster, which all are about. */
export function filterFor(finding: Pick<Finding, 'entityType' | 'entity'>): Filters | undefined {
  const entity = entityOf(finding);
  if (entity !== undefined) return filterOf(entity);
  return finding.entityType.toLowerCase() === 'cluster' ? undefined : { ...ANY, text: finding.entity };
}

/** The tables and instances that findings name, by name. */
export function entitiesOf(checks: readonly CheckEntry[]): {
  readonly tables: readonly string[];
  readonly instances: readonly string[];
} {
  const [tables, instances] = [new Set<string>(), new Set<string>()];
  const add = ({ kind, name }: Entity): unknown => (kind === 'table' ? tables.add(tableOf(name)) : instances.add(name));
  for (const { findings } of checks) {
    for (const finding of findings) {
      const entity = entityOf(finding);
      if (entity !== undefined) add(entity);
      for (const named of entitiesIn(finding.message)) add(named);
    }
  }
  return { tables: [...tables].toSorted(), instances: [...instances].toSorted() };
}

/** The matching checks with their matching findings; muted findings last. */
export function filterChecks(checks: readonly CheckEntry[], filters: Filters): CheckEntry[] {
  const text = filters.text.toLowerCase();
  const shown: CheckEntry[] = [];
  for (const check of checks) {
    if (filters.status !== '' && stateOfCheck(check) !== filters.status) continue;
    let findings = check.findings;
    if (filters.table !== '') findings = findings.filter((finding) => concerns(finding, 'table', filters.table));
    if (filters.instance !== '')
      findings = findings.filter((finding) => concerns(finding, 'instance', filters.instance));
    if ((filters.table !== '' || filters.instance !== '') && findings.length === 0) continue;
    const about = `${check.name} ${check.title} ${check.category} ${check.message}`.toLowerCase();
    if (
      text !== '' &&
      !about.includes(text) &&
      !findings.some((finding) => `${finding.entity} ${finding.message}`.toLowerCase().includes(text))
    )
      continue;
    const isMuted = ({ mutedBy }: Finding): number => Number(mutedBy !== undefined);
    shown.push({ ...check, findings: findings.toSorted((a, b) => isMuted(a) - isMuted(b)) });
  }
  return shown;
}
