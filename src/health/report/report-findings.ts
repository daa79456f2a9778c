import { SEVERITIES, type CheckStatus, type Finding } from '../../resources/health-finding.ts';
import { findCheck } from '../catalogue.ts';
import type { CheckFinding, CheckOutcome, Grace } from '../check.ts';
import { START_MS } from './faulty.ts';
import type { FindingIndex } from './finding-index.ts';

/** The report before, and the start of the run of this one. */
export interface FindingTimes {
  readonly before: CheckStatus | undefined;
  /** The index of the report before. */
  readonly indexBefore: FindingIndex | undefined;
  /** Start of the run of the report before. */
  readonly timeBefore: string | undefined;
  readonly at: Date;
  /** Milliseconds after which lost replicas are critical. */
  readonly criticalAfterMs: number;
}

/**
 * The findings of a check as the report has them: with severity, with the time of the first run that found them, and with bounded texts. A
 * fault whose time as a warning has passed is critical.
 */
export function reportedFindings(name: string, findings: readonly CheckFinding[], times: FindingTimes): Finding[] {
  const own = findCheck(name)?.severity ?? 'warning';
  const known = knownSince(name, times);
  const graces: Readonly<Record<Grace, number>> = { replicas: times.criticalAfterMs, start: START_MS };
  const reported = findings.map((finding) => {
    const since = known.get(findingKey(finding)) ?? times.at.toISOString();
    const { grace, severity = own } = finding;
    const isOver = grace !== undefined && times.at.getTime() - Date.parse(since) >= graces[grace];
    return cutFinding({ ...finding, severity: isOver ? 'critical' : severity, since });
  });
  // First those that are not muted, of these the faults, of these the worst ones.
  const rank = ({ severity = own, couldNotRead, mutedBy }: Finding): number =>
    (mutedBy === undefined ? 0 : 10) + (couldNotRead === true ? 5 : SEVERITIES.indexOf(severity));
  return reported.toSorted((a, b) => rank(a) - rank(b));
}

/** The faults of earlier runs whose times a check keeps while it cannot be evaluated. */
export function carriedFindings(name: string, outcome: CheckOutcome, index: FindingIndex | undefined): Finding[] {
  if (!outcome.couldNotEvaluate || index === undefined) return [];
  const before = [...(index.findings.get(name) ?? []), ...(index.carried.get(name) ?? [])];
  return before.filter(({ couldNotRead }) => couldNotRead !== true);
}

/**
 * Identifies a finding over runs. A fault and data that could not be read are different problems of an entity, and so are faults with different
 * causes: servers that restart one after the other are not one long fault of a table.
 */
function findingKey({ entityType, entity, couldNotRead, cause = '' }: Finding): string {
  return JSON.stringify([cut(entityType, 32), cut(entity, 512), couldNotRead === true, cause]);
}

function knownSince(name: string, { before, indexBefore, timeBefore }: FindingTimes): ReadonlyMap<string, string> {
  const times = new Map<string, string>();
  const indexed = [...(indexBefore?.findings.get(name) ?? []), ...(indexBefore?.carried.get(name) ?? [])];
  for (const finding of [...(before?.findings ?? []), ...indexed]) {
    const since = finding.since ?? timeBefore;
    const known = times.get(findingKey(finding));
    // The index has the same times, in seconds.
    if (since !== undefined && (known === undefined || Date.parse(since) < Date.parse(known) - 999)) {
      times.set(findingKey(finding), since);
    }
  }
  return times;
}

/** Cuts the texts to the lengths that the resource's schema allows. */
function cutFinding(finding: Finding): Finding {
  return {
    entityType: cut(finding.entityType, 32),
    entity: cut(finding.entity, 512),
    message: cut(finding.message, 1024),
    ...(finding.observed === undefined ? {} : { observed: cut(finding.observed, 256) }),
    ...(finding.threshold === undefined ? {} : { threshold: cut(finding.threshold, 256) }),
    ...(finding.severity === undefined ? {} : { severity: finding.severity }),
    ...(finding.since === undefined ? {} : { since: finding.since }),
    ...(finding.couldNotRead === true ? { couldNotRead: true } : {}),
    ...(finding.mutedBy === undefined ? {} : { mutedBy: finding.mutedBy }),
    ...(finding.cause === undefined ? {} : { cause: finding.cause }),
  };
}

/** The text, or its first characters and an ellipsis. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
