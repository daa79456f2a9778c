import type { Cause, CauseKind } from '../../resources/health-cause.ts';
import {
  SEVERITIES,
  type CheckStatus,
  type Finding,
  type LastEvaluated,
  type Severity,
} from '../../resources/health-finding.ts';
import { counted } from '../checks/shared/findings.ts';
import { findCheck } from '../catalogue.ts';
import { isMuted } from './mutes.ts';

/** What a run knows about a cause before its findings are counted. */
export type CauseFacts = Pick<Cause, 'id' | 'kind' | 'entityType' | 'entity' | 'tables' | 'segments' | 'unserved'>;

/** The findings of a check that a report groups by cause. */
export interface CausedFindings {
  readonly name: string;
  readonly findings: readonly Finding[];
}

export interface GroupOptions {
  readonly previous?: readonly Cause[] | undefined;
  /** Start of the run. */
  readonly at: Date;
}

/** Identifies a cause over runs: an entity has one, whatever happened to it. */
export function causeId({ entityType, entity }: Pick<Cause, 'entityType' | 'entity'>): string {
  return `${entityType.slice(0, 32)}/${entity.slice(0, 512)}`;
}

interface Group {
  readonly checks: Set<string>;
  /** The severities of faults that are not muted, and of muted ones. */
  readonly open: Set<Severity>;
  readonly muted: Set<Severity>;
  findingCount: number;
  mutedCount: number;
}

/** The causes with their findings, the worst ones first. A cause without faults is left out. */
export function groupCauses(
  facts: readonly CauseFacts[],
  checks: readonly CausedFindings[],
  { previous = [], at }: GroupOptions,
): Cause[] {
  const groups = new Map<string, Group>();
  for (const { name, findings } of checks) for (const finding of findings) addTo(groups, name, finding);
  const since = new Map(previous.map((cause) => [cause.id, cause.since]));
  return facts
    .flatMap((fact): Cause[] => {
      const group = groups.get(fact.id);
      if (group === undefined || group.findingCount === 0) return [];
      return [causeOf(fact, group, since.get(fact.id) ?? at.toISOString())];
    })
    .toSorted((a, b) => rank(a) - rank(b) || b.unserved - a.unserved || b.findingCount - a.findingCount);
}

function rank({ severity }: Cause): number {
  return SEVERITIES.indexOf(severity);
}

function addTo(groups: Map<string, Group>, check: string, { cause, severity, mutedBy, couldNotRead }: Finding): void {
  if (cause === undefined) return;
  let group = groups.get(cause);
  if (group === undefined) {
    group = { checks: new Set(), open: new Set(), muted: new Set(), findingCount: 0, mutedCount: 0 };
    groups.set(cause, group);
  }
  group.checks.add(check);
  if (couldNotRead === true) return;
  const own = severity ?? findCheck(check)?.severity ?? 'warning';
  group.findingCount += 1;
  if (mutedBy !== undefined) group.mutedCount += 1;
  (mutedBy === undefined ? group.open : group.muted).add(own);
}

function causeOf(fact: CauseFacts, { checks, open, muted, findingCount, mutedCount }: Group, since: string): Cause {
  const { id, kind, entityType, entity, tables, segments, unserved } = fact;
  const found = open.size === 0 ? muted : open;
  return {
    id,
    kind,
    entityType: entityType.slice(0, 32),
    entity: entity.slice(0, 512),
    severity: SEVERITIES.find((severity) => found.has(severity)) ?? 'warning',
    since,
    message: `${subjectOf(fact)}: ${effectOf(fact, checks.size)}`,
    checks: [...checks],
    findingCount,
    ...(mutedCount === 0 ? {} : { mutedCount }),
    tables,
    segments,
    unserved,
  };
}

/** What happened to the entity of a cause. */
const SUBJECTS: Readonly<Record<CauseKind, (type: string, name: string) => string>> = {
  'instance-down': (type, name) => `${type} ${name} is down`,
  'instance-disabled': (type, name) => `${type} ${name} is disabled`,
  'instance-starting': (type, name) => `${type} ${name} joined minutes ago and is starting`,
  'instance-unresponsive': (type, name) => `${type} ${name} is in ZooKeeper, but does not report that it is healthy`,
  'disk-full': (type, name) => `the disk of ${type} ${name} is full`,
  'tenant-without-servers': (_, name) => `tenant ${name} has no live, enabled server`,
  'tenant-without-brokers': (_, name) => `tenant ${name} has no live, enabled broker`,
  'table-incomplete': (_, name) => `the sources of the cluster contradict each other about table ${name}`,
  'table-rebalancing': (_, name) => `table ${name} is being rebalanced`,
  'table-unserved': (_, name) => `segments of table ${name} are on no server, although its servers are live`,
  'ingestion-paused': (_, name) => `Pinot paused the consumption of table ${name}`,
};

function subjectOf({ kind, entityType, entity }: CauseFacts): string {
  return SUBJECTS[kind](entityType, `\`${entity.slice(0, 512)}\``);
}

/** `4 checks, 12 segments of 3 tables have lost one replica, none is without`. */
function effectOf({ tables, segments, unserved }: CauseFacts, checks: number): string {
  const effects = [counted(checks, 'check')];
  if (segments > 0) {
    const lost = `${counted(segments, 'segment')} of ${counted(tables, 'table')} ${segments === 1 ? 'has' : 'have'} lost one replica`;
    const without =
      unserved === 0
        ? 'none is without'
        : `${counted(unserved, 'segment')} ${unserved === 1 ? 'is' : 'are'} without any`;
    effects.push(lost, without);
  }
  return effects.join(', ');
}

/** Number of faults that are not muted and have a cause. */
export function causedCount(findings: readonly Finding[]): Pick<CheckStatus, 'causedCount'> {
  const count = findings.filter(
    ({ cause, mutedBy, couldNotRead }) => cause !== undefined && mutedBy === undefined && couldNotRead !== true,
  ).length;
  return count === 0 ? {} : { causedCount: count };
}

/** Whether causes are behind all faults of a check that are not muted: their alerts replace that of the check. */
export function isExplained(check: CheckStatus | LastEvaluated): boolean {
  const { status, findingCount, unreadCount = 0, mutedCount = 0, causedCount: caused = 0 } = check;
  return status === 'FAIL' && caused > 0 && !isMuted(check) && caused + mutedCount >= findingCount - unreadCount;
}

/** Whether all faults of a cause are muted. */
export function isMutedCause({ findingCount, mutedCount = 0 }: Cause): boolean {
  return mutedCount >= findingCount;
}
