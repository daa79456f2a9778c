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

/** The id of an instance, also within a message. */
const INSTANCE = /\b(?:Server|Broker|Controller|Minion)_[\w.-]*\w/g;

/** The ids of the instances that a text names. */
export const instancesIn = (text: string): string[] => text.match(INSTANCE) ?? [];

const TABLE_KINDS = new Set(['table', 'segment']);
const INSTANCE_KINDS = new Set(['server', 'broker', 'controller', 'instance', 'minion']);

function concerns(finding: Finding, kinds: ReadonlySet<string>, wanted: string): boolean {
  return kinds.has(finding.entityType.toLowerCase()) && finding.entity.toLowerCase().includes(wanted.toLowerCase());
}

/** Whether a finding is about an instance or names it, as one about a segment names its server. */
function concernsInstance(finding: Finding, wanted: string): boolean {
  return (
    concerns(finding, INSTANCE_KINDS, wanted) ||
    instancesIn(finding.message).some((name) => name.toLowerCase().includes(wanted.toLowerCase()))
  );
}

/** The filters that show all findings of the same table or instance; undefined for other entities. */
export function filterFor({ entityType, entity }: Finding): Partial<Filters> | undefined {
  const kind = entityType.toLowerCase();
  if (kind === 'table') return { table: tableOf(entity), instance: '', status: '', text: '' };
  if (INSTANCE_KINDS.has(kind)) return instanceFilter(entity);
  return undefined;
}

/** The filters that show all findings that concern an instance. */
export const instanceFilter = (instance: string): Partial<Filters> => ({ instance, table: '', status: '', text: '' });

/** The name without the type, so that both tables of a hybrid table match. */
const tableOf = (entity: string): string => entity.replace(/_(?:OFFLINE|REALTIME)$/, '');

/** The tables and instances that findings name, by name. */
export function entitiesOf(checks: readonly CheckEntry[]): {
  readonly tables: readonly string[];
  readonly instances: readonly string[];
} {
  const [tables, instances] = [new Set<string>(), new Set<string>()];
  for (const { findings } of checks) {
    for (const { entityType, entity, message } of findings) {
      const kind = entityType.toLowerCase();
      if (kind === 'table') tables.add(tableOf(entity));
      else if (INSTANCE_KINDS.has(kind)) instances.add(entity);
      for (const name of instancesIn(message)) instances.add(name);
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
    if (filters.table !== '') findings = findings.filter((finding) => concerns(finding, TABLE_KINDS, filters.table));
    if (filters.instance !== '') findings = findings.filter((finding) => concernsInstance(finding, filters.instance));
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
