import type { Finding } from '../resources/cluster-health-report.ts';
import { MAX_FINDINGS, type CheckOutcome } from './check.ts';
import type { ClusterSnapshot, Read, TableSnapshot } from './snapshot.ts';

/** Collects what a check finds; keeps the first findings and counts all. */
export class Findings {
  readonly #kept: Finding[] = [];
  #faults = 0;
  #unread = 0;
  #examined = 0;
  #unreadKept: Finding[] = [];

  /** Counts one more thing that was looked at. */
  examined(): void {
    this.#examined += 1;
  }

  add(finding: Finding): void {
    this.#faults += 1;
    if (this.#kept.length < MAX_FINDINGS) this.#kept.push(finding);
  }

  /** Something that the check needs could not be read. */
  couldNotRead(entityType: string, entity: string, what: string, error: string): void {
    this.#unread += 1;
    if (this.#unreadKept.length < MAX_FINDINGS) {
      this.#unreadKept.push({ entityType, entity, message: `could not read ${what}: ${error}` });
    }
  }

  /** The value of a read; undefined where it failed, which is then among the findings. */
  value<T>(read: Read<T>, entityType: string, entity: string, what: string): T | undefined {
    if (read.ok) return read.value;
    this.couldNotRead(entityType, entity, what, read.error);
    return undefined;
  }

  /**
   * @param words.pass the message of a PASS
   * @param words.fail the message of a FAIL, given the count of faults
   * @param words.notApplicable the message of a PASS where nothing was examined
   */
  outcome(words: { pass: string; fail: (count: number) => string; notApplicable?: string }): CheckOutcome {
    const findings = [...this.#kept, ...this.#unreadKept].slice(0, MAX_FINDINGS);
    const findingCount = this.#faults + this.#unread;
    if (findingCount === 0) {
      const message = this.#examined === 0 && words.notApplicable !== undefined ? words.notApplicable : words.pass;
      return { status: 'PASS', message, findingCount, findings, couldNotEvaluate: false };
    }
    const unread =
      this.#unread === 0
        ? ''
        : `${this.#unread} ${this.#unread === 1 ? 'part' : 'parts'} of the cluster could not be read`;
    const message =
      this.#faults === 0
        ? `could not evaluate: ${unread}`
        : words.fail(this.#faults) + (unread === '' ? '' : `; ${unread}`);
    return { status: 'FAIL', message, findingCount, findings, couldNotEvaluate: this.#faults === 0 };
  }
}

/** A PASS of a check that has nothing to look at. */
export function notApplicable(message: string): CheckOutcome {
  return { status: 'PASS', message, findingCount: 0, findings: [], couldNotEvaluate: false };
}

/** `1 table`, `2 tables`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `1 table has …`, `2 tables have …`. */
export function have(count: number, noun: string, rest: string): string {
  return `${counted(count, noun)} ${count === 1 ? 'has' : 'have'} ${rest}`;
}

export function tableFinding(table: TableSnapshot, message: string, observed: string, threshold: string): Finding {
  return entityFinding('table', table.name, message, observed, threshold);
}

/** What is wrong with an entity, always with what was seen of it and what would be right. */
export function entityFinding(
  entityType: string,
  entity: string,
  message: string,
  observed: string,
  threshold: string,
): Finding {
  return { entityType, entity, message, observed, threshold };
}

/** The tables; an empty list, and a finding, where they could not be read. */
export function tablesOf(snapshot: ClusterSnapshot, findings: Findings): readonly TableSnapshot[] {
  return findings.value(snapshot.tables, 'cluster', snapshot.clusterName, 'the table configurations') ?? [];
}

/** Tables that serve queries: disabled ones are left out, for they hold nothing on purpose. */
export function enabledTables(snapshot: ClusterSnapshot, findings: Findings): readonly TableSnapshot[] {
  return tablesOf(snapshot, findings).filter((table) => table.enabled);
}

/** Rounds to at most `digits` decimals, for messages. */
export function rounded(value: number, digits = 2): string {
  return String(Number(value.toFixed(digits)));
}
