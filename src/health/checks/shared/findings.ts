import { SEVERITIES, type Finding, type Severity } from '../../../resources/health-finding.ts';
import { MAX_FINDINGS, MAX_INDEXED_FINDINGS, type CheckFinding, type CheckOutcome } from '../../check.ts';
import { rounded } from '../../numbers.ts';
import {
  CONSISTENCY_CHECK,
  isMissingIn,
  type ClusterSnapshot,
  type Instance,
  type Read,
  type Sample,
  type TableSnapshot,
} from '../../snapshot.ts';

/** The messages of an outcome, one sentence each. */
export interface OutcomeTexts {
  readonly pass: string;
  /** @param count number of faults found */
  readonly fail: (count: number) => string;
  /** The message of a PASS when no entity was examined; `pass` by default. */
  readonly notApplicable?: string;
}

/** Entities that are not judged which a message names. */
const MAX_LEFT_OUT = 3;

/** Collects the findings of one check: counts all of them and keeps the first MAX_INDEXED_FINDINGS, the worst ones first. */
export class Findings {
  /** The key is the severity. A fault without one has that of the check, and is among the worst. */
  readonly #faults: Readonly<Record<Severity, CheckFinding[]>> = { critical: [], warning: [], advice: [] };
  readonly #readFailures: Finding[] = [];
  /** Entities that are not judged because another check reports why, by that check. */
  readonly #leftOut = new Map<string, Set<string>>();
  #faultCount = 0;
  #readFailureCount = 0;
  #hasExamined = false;

  /** Number of faults so far. */
  get faultCount(): number {
    return this.#faultCount;
  }

  /** Notes that an entity was examined: the check applies. */
  examined(): void {
    this.#hasExamined = true;
  }

  add(finding: CheckFinding): void {
    this.#faultCount += 1;
    const faults = this.#faults[finding.severity ?? 'critical'];
    if (faults.length < MAX_INDEXED_FINDINGS) faults.push(finding);
  }

  /** Records that data which the check needs could not be read. */
  couldNotRead(entityType: string, entity: string, what: string, error: string): void {
    this.#readFailureCount += 1;
    if (this.#readFailures.length < MAX_INDEXED_FINDINGS) {
      this.#readFailures.push({ entityType, entity, message: `could not read ${what}: ${error}`, couldNotRead: true });
    }
  }

  /** Records that an entity is not judged, because `check` reports what is wrong with it. */
  leftOut(entity: string, check: string): void {
    const entities = this.#leftOut.get(check) ?? new Set<string>();
    this.#leftOut.set(check, entities.add(entity));
  }

  /** The value of a read, or undefined after recording its failure. */
  value<T>(read: Read<T>, entityType: string, entity: string, what: string): T | undefined {
    if (read.ok) return read.value;
    if (read.reportedBy !== undefined) {
      this.leftOut(entity, read.reportedBy);
      return undefined;
    }
    this.couldNotRead(entityType, entity, what, read.error);
    return undefined;
  }

  /** PASS without findings, else FAIL; a FAIL with read failures only is marked `couldNotEvaluate`. */
  outcome(texts: OutcomeTexts): CheckOutcome {
    const all = [...SEVERITIES.flatMap((severity) => this.#faults[severity]), ...this.#readFailures];
    const findings = all.slice(0, MAX_FINDINGS);
    const moreFindings = all.slice(MAX_FINDINGS, MAX_INDEXED_FINDINGS);
    const findingCount = this.#faultCount + this.#readFailureCount;
    if (findingCount === 0) {
      return { status: 'PASS', message: this.#passMessage(texts), findingCount, findings, couldNotEvaluate: false };
    }
    return {
      status: 'FAIL',
      message: this.#failMessage(texts),
      findingCount,
      findings,
      ...(moreFindings.length === 0 ? {} : { moreFindings }),
      couldNotEvaluate: this.#faultCount === 0,
    };
  }

  #passMessage({ pass, notApplicable = pass }: OutcomeTexts): string {
    if (this.#hasExamined) return pass + this.#leftOutNote();
    return this.#leftOut.size === 0 ? notApplicable : `nothing to judge otherwise${this.#leftOutNote()}`;
  }

  #failMessage({ fail }: OutcomeTexts): string {
    const unread = `${counted(this.#readFailureCount, 'part')} of the cluster could not be read`;
    if (this.#faultCount === 0) return `could not evaluate: ${unread}${this.#leftOutNote()}`;
    return fail(this.#faultCount) + (this.#readFailureCount === 0 ? '' : `; ${unread}`) + this.#leftOutNote();
  }

  /** `; not judged: \`t_OFFLINE\` (see TABLE_CONSISTENCY_CHECK)`; empty if all entities are judged. */
  #leftOutNote(): string {
    const notes = [...this.#leftOut].map(([check, entities]) => {
      const names = [...entities].toSorted().map((name) => `\`${name}\``);
      const more = names.length > MAX_LEFT_OUT ? ` and ${rounded(names.length - MAX_LEFT_OUT)} more` : '';
      return `; not judged: ${names.slice(0, MAX_LEFT_OUT).join(', ')}${more} (see ${check})`;
    });
    return notes.join('');
  }
}

/** The PASS of a check that does not apply to this cluster. */
export function notApplicable(message: string): CheckOutcome {
  return { status: 'PASS', message, findingCount: 0, findings: [], couldNotEvaluate: false };
}

/** A fault of one entity, with the observed value and the expected one. */
export function entityFinding(
  entityType: string,
  entity: string,
  message: string,
  observed: string,
  threshold: string,
): Finding {
  return { entityType, entity, message, observed, threshold };
}

/** The finding with a severity that differs from that of the check. */
export function withSeverity(severity: Severity, finding: CheckFinding): CheckFinding {
  return { ...finding, severity };
}

/** The finding that redundancy is lost and no data: a warning that becomes critical if it lasts. @param instance behind it */
export function lostReplica(finding: Finding, instance?: string): CheckFinding {
  return { ...finding, severity: 'warning', grace: 'replicas', ...(instance === undefined ? {} : { instance }) };
}

export function tableFinding(table: TableSnapshot, message: string, observed: string, threshold: string): Finding {
  return entityFinding('table', table.name, message, observed, threshold);
}

/** All tables; an empty list, with a finding, if they could not be read. */
export function tablesOf(snapshot: ClusterSnapshot, findings: Findings): readonly TableSnapshot[] {
  const tables = findings.value(snapshot.tables, 'cluster', snapshot.clusterName, 'the table configurations');
  if (tables === undefined) return [];
  for (const name of withoutConfiguration(snapshot)) findings.leftOut(name, CONSISTENCY_CHECK);
  return tables;
}

/** Tables of which other sources know, and whose configuration is missing or cannot be read. */
export function withoutConfiguration({ sources, unreadableTables, tables }: ClusterSnapshot): readonly string[] {
  const known = new Set((tables.ok ? tables.value : []).map(({ name }) => name));
  const { configurations, idealStates } = sources;
  const missing = (idealStates.ok ? [...idealStates.value.always] : []).filter(
    (name) => isMissingIn(configurations, name) && !known.has(name),
  );
  return [...new Set([...unreadableTables.keys(), ...missing])];
}

/** All tables but disabled ones, which intentionally serve nothing. */
export function enabledTables(snapshot: ClusterSnapshot, findings: Findings): readonly TableSnapshot[] {
  return tablesOf(snapshot, findings).filter((table) => table.enabled);
}

/** All instances; undefined, with a finding, if they could not be read. */
export function instancesOf(snapshot: ClusterSnapshot, findings: Findings): readonly Instance[] | undefined {
  return findings.value(snapshot.instances, 'cluster', snapshot.clusterName, 'the instances');
}

/** `1 table`, `1,234 tables`. */
export function counted(count: number, noun: string): string {
  return `${rounded(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** `1 table has …`, `2 tables have …`. */
export function have(count: number, noun: string, rest: string): string {
  return `${counted(count, noun)} ${count === 1 ? 'has' : 'have'} ${rest}`;
}

/** ` (such as \`a\`, \`b\`)` with up to three names; empty for an empty sample. */
export function examples({ count, names }: Sample): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, 3).map((name) => `\`${name}\``);
  return ` (${count > shown.length ? 'such as ' : ''}${shown.join(', ')})`;
}
