import { MAX_CAUSES, type CauseKind } from '../../resources/health-cause.ts';
import { SEVERITIES } from '../../resources/health-finding.ts';
import { findCheck } from '../catalogue.ts';
import { MAX_FINDINGS, type CheckFinding } from '../check.ts';
import type { CheckResult } from '../run/evaluation.ts';
import { CONSISTENCY_CHECK, type ClusterSnapshot, type TableSnapshot } from '../snapshot.ts';
import { causeId, type CauseFacts } from './causes.ts';
import { emptyTenants, faultyInstances, lostReplicas, type Faulty, type LostReplicas } from './faulty.ts';

/** Checks whose findings on an instance follow from its state. */
const OF_INSTANCE = new Set(['INSTANCE_HEALTH_API_CHECK', 'INSTANCE_AVAILABILITY_CHECK']);
const OF_DISK = 'SERVER_DISK_USAGE_CHECK';
/** Checks whose findings on a table follow from lost replicas. */
const OF_REPLICAS = new Set(['IDEAL_STATE_EV_MISMATCH_CHECK', 'SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK']);
/** Checks whose findings on a table can follow from the state of one of its servers. */
const OF_SERVERS = new Set([
  ...OF_REPLICAS,
  'QUERY_HEALTH_CHECK',
  'INGESTION_STOPPED_CHECK',
  'CONSUMER_LAG_CHECK',
  'TABLE_SEGMENT_ASSIGNMENT_CHECK',
  'TABLE_SEGMENTS_RELOAD_CHECK',
]);
const OF_BROKERS = new Set(['QUERY_HEALTH_CHECK', 'BROKER_RESOURCE_CHECK']);
const OF_REBALANCE = new Set([
  ...OF_REPLICAS,
  'TABLE_SEGMENT_ASSIGNMENT_CHECK',
  'UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK',
]);
const OF_UNSERVED = new Set([...OF_REPLICAS, 'QUERY_HEALTH_CHECK', 'INGESTION_STOPPED_CHECK']);
const OF_PAUSE = new Set(['INGESTION_STOPPED_CHECK', 'CONSUMER_LAG_CHECK', 'DATA_FRESHNESS_CHECK']);
const OF_PARTS = new Set([...OF_SERVERS, ...OF_PAUSE, CONSISTENCY_CHECK]);
const TENANT_CHECK = 'TENANT_SERVERS_CHECK';

/**
 * Finds what is behind the findings of a run: marks each finding with its cause, and softens those of servers that start and of tables that are
 * being rebalanced. Linear in the size of the snapshot and of the findings.
 * @param now start of the run, milliseconds since the epoch
 * @returns the results, and at most `MAX_CAUSES` causes: the worst ones
 */
export function explain(
  snapshot: ClusterSnapshot,
  results: readonly CheckResult[],
  now: number,
): { results: CheckResult[]; causes: CauseFacts[] } {
  const explainer = new Explainer(snapshot, results, now);
  const found = new Map<string, Found>();
  const faultyOf = (name: string, finding: CheckFinding): Faulty | undefined => {
    const faulty = explainer.behind(name, finding);
    // What could not be read is no fault: it makes no cause, and belongs to one that others make.
    if (faulty !== undefined && finding.couldNotRead !== true) note(found, faulty, name, finding);
    return faulty;
  };
  const marked = results.map((result) => ({
    result,
    faulty: allFindings(result).map((f) => faultyOf(result.name, f)),
  }));
  const kept = new Map(
    [...found.values()]
      .toSorted(byEffect)
      .slice(0, MAX_CAUSES)
      .map(({ faulty }) => [causeId(faulty), faulty] as const),
  );
  return {
    results: marked.map(({ result, faulty }) => withCauses(result, faulty, kept)),
    causes: [...kept.values()].map((faulty) => explainer.factsOf(faulty)),
  };
}

/** A cause and the findings that it explains. */
interface Found {
  readonly faulty: Faulty;
  critical: number;
  findings: number;
}

function note(found: Map<string, Found>, faulty: Faulty, name: string, finding: CheckFinding): void {
  const id = causeId(faulty);
  const entry = found.get(id) ?? { faulty, critical: 0, findings: 0 };
  entry.findings += 1;
  if ((finding.severity ?? findCheck(name)?.severity) === 'critical') entry.critical += 1;
  found.set(id, entry);
}

function byEffect(a: Found, b: Found): number {
  return b.critical - a.critical || b.findings - a.findings || (causeId(a.faulty) < causeId(b.faulty) ? -1 : 1);
}

function allFindings({ outcome: { findings, moreFindings = [] } }: CheckResult): readonly CheckFinding[] {
  return moreFindings.length === 0 ? findings : [...findings, ...moreFindings];
}

function withCauses(
  result: CheckResult,
  faulty: readonly (Faulty | undefined)[],
  kept: ReadonlyMap<string, Faulty>,
): CheckResult {
  if (faulty.every((cause) => cause === undefined)) return result;
  const own = findCheck(result.name)?.severity ?? 'warning';
  const findings = allFindings(result).map((finding, i) => {
    const cause = faulty[i];
    if (cause === undefined) return finding;
    const id = causeId(cause);
    const softened = soften(finding, cause.kind, own === 'critical');
    return kept.has(id) ? withCause(softened, id) : softened;
  });
  // Faults before data that could not be read, the worst ones first, as a check returns them.
  const rank = ({ severity = own, couldNotRead }: CheckFinding): number =>
    couldNotRead === true ? SEVERITIES.length : SEVERITIES.indexOf(severity);
  const sorted = findings.toSorted((a, b) => rank(a) - rank(b));
  const more = sorted.slice(MAX_FINDINGS);
  const { moreFindings: _, ...outcome } = result.outcome;
  return {
    ...result,
    outcome: {
      ...outcome,
      findings: sorted.slice(0, MAX_FINDINGS),
      ...(more.length === 0 ? {} : { moreFindings: more }),
    },
  };
}

function withCause(finding: CheckFinding, cause: string): CheckFinding {
  return { ...finding, cause };
}

/** What a server that loads its segments, or a rebalance, makes unavailable comes back by itself. */
function soften(finding: CheckFinding, kind: CauseKind, isCritical: boolean): CheckFinding {
  const critical = finding.severity === undefined ? isCritical : finding.severity === 'critical';
  if (!critical || finding.couldNotRead === true) return finding;
  if (kind === 'instance-starting') return { ...finding, severity: 'warning', grace: 'start' };
  if (kind === 'table-rebalancing') return { ...finding, severity: 'warning', grace: 'replicas' };
  return finding;
}

/** The causes that a snapshot has, and which of them is behind a finding. */
class Explainer {
  readonly #lost: LostReplicas;
  readonly #faulty: Map<string, Faulty>;
  readonly #tenants: ReadonlyMap<string, Faulty>;
  readonly #rebalancing: ReadonlySet<string>;
  readonly #incomplete: ReadonlySet<string>;
  readonly #tables = new Map<string, TableSnapshot>();
  /** The parts of a table, by its name without type. */
  readonly #parts = new Map<string, TableSnapshot[]>();
  /** The faulty server that is behind what a table lacks, by name of the table. */
  readonly #servers = new Map<string, { readonly hasLost: boolean; readonly faulty: Faulty } | undefined>();

  constructor(snapshot: ClusterSnapshot, results: readonly CheckResult[], now: number) {
    const tables = snapshot.tables.ok ? snapshot.tables.value : [];
    this.#lost = lostReplicas(tables);
    this.#faulty = faultyInstances(snapshot, { results, lost: this.#lost, now });
    this.#tenants = emptyTenants(snapshot, tables, this.#faulty);
    this.#rebalancing = snapshot.rebalancing ?? new Set();
    this.#incomplete = incompleteTables(results);
    for (const table of tables) {
      this.#tables.set(table.name, table);
      const parts = this.#parts.get(table.rawName) ?? [];
      parts.push(table);
      this.#parts.set(table.rawName, parts);
    }
  }

  behind(check: string, finding: CheckFinding): Faulty | undefined {
    const { entityType, entity, instance, couldNotRead } = finding;
    if (entityType === 'tenant') return check === TENANT_CHECK ? this.#tenants.get(entity) : undefined;
    if (entityType === 'table') {
      const behind = instance === undefined ? undefined : this.#faulty.get(instance);
      return behind ?? this.#behindTable(check, finding);
    }
    const faulty = this.#faulty.get(entity);
    if (OF_INSTANCE.has(check) || couldNotRead === true) return faulty;
    return check === OF_DISK && faulty?.kind === 'disk-full' ? faulty : undefined;
  }

  #behindTable(check: string, finding: CheckFinding): Faulty | undefined {
    const { entity, couldNotRead } = finding;
    if (this.#incomplete.has(entity) && (OF_PARTS.has(check) || couldNotRead === true)) {
      return { kind: 'table-incomplete', entityType: 'table', entity };
    }
    const table = this.#tables.get(entity);
    for (const part of table === undefined ? (this.#parts.get(entity) ?? []) : [table]) {
      const faulty = this.#behindPart(check, part, finding);
      if (faulty !== undefined) return faulty;
    }
    return undefined;
  }

  #behindPart(check: string, table: TableSnapshot, finding: CheckFinding): Faulty | undefined {
    const brokers = OF_BROKERS.has(check) ? this.#tenants.get(`${table.config.brokerTenant}_BROKER`) : undefined;
    if (brokers !== undefined) return brokers;
    const server = this.#serverBehind(table);
    // A finding about an instance that is well has no other server behind it.
    const canBeOfServer = finding.instance === undefined && (OF_SERVERS.has(check) || finding.couldNotRead === true);
    if (isPaused(table) && OF_PAUSE.has(check)) return { kind: 'ingestion-paused', ...entityOf(table) };
    if (server !== undefined && canBeOfServer && (server.hasLost || !OF_REPLICAS.has(check))) return server.faulty;
    const kind = this.#stateOf(check, table, server?.hasLost === true);
    return kind === undefined ? undefined : { kind, ...entityOf(table) };
  }

  /** What happens to a table itself, if its findings of a check follow from that. */
  #stateOf(check: string, { name, difference }: TableSnapshot, serverHasLost: boolean): CauseKind | undefined {
    if (this.#rebalancing.has(name) && OF_REBALANCE.has(check)) return 'table-rebalancing';
    const isUnserved = difference.ok && difference.value.unserved.count > 0 && !serverHasLost;
    return isUnserved && OF_UNSERVED.has(check) ? 'table-unserved' : undefined;
  }

  /** Of several faulty servers of a table, one that does not come back by itself, then the one with the most lost replicas. */
  #serverBehind(table: TableSnapshot): { readonly hasLost: boolean; readonly faulty: Faulty } | undefined {
    if (this.#servers.has(table.name)) return this.#servers.get(table.name);
    const ids = table.assignment.ok ? [...table.assignment.value.servers.keys()] : [];
    const candidates = ids.flatMap((id) => {
      const faulty = this.#faulty.get(id);
      return faulty === undefined ? [] : [{ id, faulty, lost: this.#lost.get(id)?.get(table.name) ?? 0 }];
    });
    const isPassing = ({ kind }: Faulty): number => Number(kind === 'instance-starting');
    const [first] = candidates.toSorted(
      (a, b) =>
        Number(b.lost > 0) - Number(a.lost > 0) ||
        isPassing(a.faulty) - isPassing(b.faulty) ||
        b.lost - a.lost ||
        (a.id < b.id ? -1 : 1),
    );
    const behind = first === undefined ? undefined : { hasLost: first.lost > 0, faulty: first.faulty };
    this.#servers.set(table.name, behind);
    return behind;
  }

  /** What a cause affects. */
  factsOf(faulty: Faulty): CauseFacts {
    const { kind, entityType, entity } = faulty;
    const lost = entityType === 'table' ? this.#lostOfTable(entity) : this.#lostBy(causeId(faulty));
    let [segments, unserved] = [0, 0];
    for (const [name, count] of lost) {
      segments += count;
      const difference = this.#tables.get(name)?.difference;
      if (difference?.ok === true) unserved += difference.value.unserved.count;
    }
    const tables = entityType === 'table' ? 1 : lost.size;
    return { id: causeId(faulty), kind, entityType, entity, tables, segments, unserved };
  }

  #lostBy(id: string): Map<string, number> {
    const sum = new Map<string, number>();
    for (const [server, tables] of this.#lost) {
      const faulty = this.#faulty.get(server);
      if (faulty === undefined || causeId(faulty) !== id) continue;
      for (const [table, count] of tables) sum.set(table, (sum.get(table) ?? 0) + count);
    }
    return sum;
  }

  #lostOfTable(name: string): Map<string, number> {
    let count = 0;
    for (const tables of this.#lost.values()) count += tables.get(name) ?? 0;
    return count === 0 ? new Map() : new Map([[name, count]]);
  }
}

function entityOf({ name }: TableSnapshot): Pick<Faulty, 'entityType' | 'entity'> {
  return { entityType: 'table', entity: name };
}

/** Whether Pinot itself paused the consumption of the table. */
function isPaused({ consumption }: TableSnapshot): boolean {
  return consumption.ok && consumption.value.pausedBecause !== undefined;
}

/** Tables whose sources contradict each other, by their names in findings. */
function incompleteTables(results: readonly CheckResult[]): ReadonlySet<string> {
  const found = results.find(({ name }) => name === CONSISTENCY_CHECK);
  const faults = (found === undefined ? [] : allFindings(found)).filter(
    ({ entityType, couldNotRead, severity }) =>
      entityType === 'table' && couldNotRead !== true && (severity ?? 'critical') === 'critical',
  );
  return new Set(faults.map(({ entity }) => entity));
}
