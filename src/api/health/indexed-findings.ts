import { decodeIndex, type FindingIndex } from '../../health/report/finding-index.ts';
import { activeMutes, muteFindings } from '../../health/report/mutes.ts';
import type { Finding } from '../../resources/health-finding.ts';
import type { Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReportStatus } from '../../resources/health-status.ts';
import { HttpError } from '../server/errors.ts';
import type { HealthCheckEntry, HealthQuery } from './schemas.ts';

/** Whether the query asks for the findings of one table or instance. */
export function asksForEntity({ table, instance }: HealthQuery): boolean {
  return table !== undefined || instance !== undefined;
}

/** The index that was decoded last: a report is read more often than it changes. At most 20,000 findings, about 15 MB. */
let latest: { readonly text: string; readonly index: FindingIndex | undefined } | undefined;

/** The index of a report; undefined if it has none, as one that an earlier version wrote. */
export function indexOf(status: ClusterHealthReportStatus | undefined): FindingIndex | undefined {
  const text = status?.findingIndex;
  if (text === undefined) return undefined;
  if (latest?.text !== text) latest = { text, index: decodeIndex(text) };
  return latest.index;
}

/**
 * Rejects the name of a table or an instance that the last complete reading of the cluster does not have.
 * @throws {HttpError} 404
 */
export function requireKnown(status: ClusterHealthReportStatus | undefined, { table, instance }: HealthQuery): void {
  if (status?.lastRunTime === undefined) {
    throw new HttpError(404, 'no tables and instances are known yet: the health checks have not run');
  }
  const { tables, instances } = indexOf(status) ?? {};
  if (table !== undefined && tables !== undefined && !tables.some((name) => isSameTable(name, table))) {
    throw new HttpError(404, `unknown table \`${table}\`: the latest report does not have it`);
  }
  if (instance !== undefined && instances !== undefined && !instances.includes(instance)) {
    throw new HttpError(404, `unknown instance \`${instance}\`: the latest report does not have it`);
  }
}

/** `events` matches both parts of a hybrid table, `events_OFFLINE` only that part. */
export function isSameTable(name: string, table: string): boolean {
  return name === table || name.replace(/_(?:OFFLINE|REALTIME)$/u, '') === table;
}

/** An index that was too large has no texts. */
function withText(finding: Finding, { message }: HealthCheckEntry): Finding {
  return { ...finding, message };
}

/** The check with all of its findings instead of the first ones. */
export function withAllFindings(
  check: HealthCheckEntry,
  index: FindingIndex | undefined,
  { mutes, now }: { readonly mutes: readonly Mute[] | undefined; readonly now: number },
): HealthCheckEntry {
  const indexed = index?.findings.get(check.name);
  if (indexed === undefined || indexed.length <= check.findings.length) return check;
  const first = check.findings.length;
  // The first ones have their whole texts.
  const rest = indexed.slice(first).map((finding) => (finding.message === '' ? withText(finding, check) : finding));
  const outcome = { findings: rest, findingCount: rest.length, couldNotEvaluate: check.couldNotEvaluate === true };
  const { findings } = muteFindings(activeMutes(mutes, now), check.name, outcome);
  return { ...check, findings: [...check.findings, ...findings] };
}
