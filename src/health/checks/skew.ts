import type { CheckInput, CheckOutcome, Thresholds } from '../check.ts';
import { loadByServer, serversInQuestion } from '../loads.ts';
import { counted, enabledTables, entityFinding, Findings, have, rounded } from '../outcome.ts';
import type { ClusterSnapshot, Instance, ServerLoad, TableSnapshot } from '../snapshot.ts';
import { exceedsAverage, skewness } from '../statistics.ts';

interface TableMeasure {
  readonly noun: string;
  readonly of: (load: ServerLoad) => number;
  readonly total: (table: { segments: number; consumingSegments: number }) => number;
  readonly minimum: number;
  readonly percent: number;
}

const SEGMENTS = { noun: 'segment', of: (load: ServerLoad) => load.segments };
const CONSUMING = { noun: 'consuming segment', of: (load: ServerLoad) => load.consuming };

export function segmentSkew(input: CheckInput): CheckOutcome {
  return tableSkews(input, {
    ...SEGMENTS,
    total: (assignment) => assignment.segments,
    minimum: input.thresholds.minSegments ?? 0,
    percent: input.thresholds.maxExcessPercent ?? 0,
  });
}

export function consumingSkew(input: CheckInput): CheckOutcome {
  return tableSkews(input, {
    ...CONSUMING,
    total: (assignment) => assignment.consumingSegments,
    minimum: input.thresholds.minConsumingSegments ?? 0,
    percent: input.thresholds.maxExcessPercent ?? 0,
  });
}

function tableSkews({ snapshot }: CheckInput, measure: TableMeasure): CheckOutcome {
  const findings = new Findings();
  const instances = findings.value(snapshot.instances, 'cluster', snapshot.clusterName, 'the instances');
  for (const table of instances === undefined ? [] : enabledTables(snapshot, findings)) {
    // A dimension table is on every server of its tenant.
    if (!table.config.isDimension) tableSkew(table, instances ?? [], { snapshot, measure, findings });
  }
  return findings.outcome({
    pass: `no server has over ${measure.percent} % more ${measure.noun}s of a table than the average`,
    fail: (count) => `${counted(count, 'table')} ${count === 1 ? 'is' : 'are'} spread unevenly over servers`,
    notApplicable: `not applicable: no enabled table has more than ${measure.minimum} ${measure.noun}s`,
  });
}

function tableSkew(
  table: TableSnapshot,
  instances: readonly Instance[],
  context: { snapshot: ClusterSnapshot; measure: TableMeasure; findings: Findings },
): void {
  const { snapshot, measure, findings } = context;
  const assignment = findings.value(table.assignment, 'table', table.name, 'its ideal state');
  if (assignment === undefined || measure.total(assignment) <= measure.minimum) return;
  findings.examined();
  const counts = new Map<string, number>();
  for (const server of serversInQuestion(table, instances, snapshot)) {
    const load = assignment.servers.get(server);
    counts.set(server, load === undefined ? 0 : measure.of(load));
  }
  const { mean, limit, exceeding } = exceedsAverage(counts, measure.percent);
  const first = exceeding[0];
  if (first === undefined) return;
  const more = exceeding.length > 1 ? ` and ${counted(exceeding.length - 1, 'more server')}` : '';
  findings.add(
    entityFinding(
      'table',
      table.name,
      `\`${first.name}\`${more} ${exceeding.length > 1 ? 'have' : 'has'} too many of its ${measure.noun}s: ${first.count} where the average over ${counted(counts.size, 'server')} is ${rounded(mean)}`,
      counted(first.count, measure.noun),
      `at most ${rounded(limit)}`,
    ),
  );
}

export function tableCountSkew(input: CheckInput): CheckOutcome {
  return clusterSkew(input, 'tables', 'table');
}

export function clusterSegmentSkew(input: CheckInput): CheckOutcome {
  return clusterSkew(input, 'segments', 'segment');
}

export function clusterConsumingSkew(input: CheckInput): CheckOutcome {
  return clusterSkew(input, 'consuming', 'consuming segment');
}

function clusterSkew(
  { snapshot, thresholds }: CheckInput,
  of: 'tables' | 'segments' | 'consuming',
  noun: string,
): CheckOutcome {
  const findings = new Findings();
  const percent = thresholds.maxExcessPercent ?? 0;
  const servers = clusterServers(snapshot, findings, of === 'consuming');
  const loads = loadByServer(snapshot, findings)[of];
  const counts = new Map([...servers].map((server) => [server, loads.get(server) ?? 0]));
  for (const [server, count] of loads) if (count > 0) counts.set(server, count);
  const { mean, limit, exceeding } = exceedsAverage(counts, percent);
  if (counts.size > 1) findings.examined();
  for (const { name, count } of exceeding) {
    const message = `the server hosts ${counted(count, noun)} where the average over ${counts.size} servers is ${rounded(mean)}`;
    findings.add(entityFinding('server', name, message, counted(count, noun), `at most ${rounded(limit)}`));
  }
  return findings.outcome({
    pass: `no server has over ${percent} % more ${noun}s than the average of ${rounded(mean)}`,
    fail: (count) => have(count, 'server', `over ${percent} % more ${noun}s than the average`),
    notApplicable: 'not applicable: fewer than two servers could hold a part of a table',
  });
}

/** Every server that could hold a part of some enabled table (a realtime one for consuming segments). */
function clusterServers(snapshot: ClusterSnapshot, findings: Findings, realtime: boolean): Set<string> {
  const instances = findings.value(snapshot.instances, 'cluster', snapshot.clusterName, 'the instances') ?? [];
  const tags = new Set<string>();
  for (const table of snapshot.tables.ok ? snapshot.tables.value : []) {
    if (!table.enabled || (realtime && table.type !== 'REALTIME')) continue;
    for (const tag of table.config.serverTags) tags.add(tag);
  }
  return new Set(
    instances
      .filter(
        (instance) => instance.type === 'server' && instance.enabled && instance.tags.some((tag) => tags.has(tag)),
      )
      .map((instance) => instance.id),
  );
}

export function dataSizeSkew({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const bytes = new Map<string, number>();
  for (const server of clusterServers(snapshot, findings, false)) bytes.set(server, 0);
  for (const table of enabledTables(snapshot, findings)) {
    const size = findings.value(table.size, 'table', table.name, 'the sizes of its segments');
    for (const [server, count] of size?.bytes ?? []) bytes.set(server, (bytes.get(server) ?? 0) + count);
    if (size?.incomplete !== undefined) {
      findings.couldNotRead('table', table.name, 'its size on every server', size.incomplete);
    }
  }
  return skewOutcome(bytes, thresholds, findings, { what: 'data size', noun: 'server', entityType: 'server' });
}

export function controllerTablesSkew({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const instances = findings.value(snapshot.instances, 'cluster', snapshot.clusterName, 'the instances') ?? [];
  const leaders = findings.value(snapshot.leaders, 'cluster', snapshot.clusterName, 'the lead controllers');
  const counts = new Map<string, number>();
  for (const instance of instances) if (instance.type === 'controller' && instance.live) counts.set(instance.id, 0);
  for (const [controller, count] of leaders ?? []) counts.set(controller, count);
  return skewOutcome(counts, thresholds, findings, {
    what: 'table count',
    noun: 'lead controller',
    entityType: 'controller',
  });
}

interface SkewWords {
  readonly what: string;
  readonly noun: string;
  readonly entityType: string;
}

/** The outcome of a check on the skewness of `counts`; the finding names the entity that is farthest from the mean. */
export function skewOutcome(
  counts: ReadonlyMap<string, number>,
  thresholds: Thresholds,
  findings: Findings,
  words: SkewWords,
): CheckOutcome {
  const { minSkew = 0, maxSkew = 0 } = thresholds;
  const skew = skewness([...counts.values()]);
  const range = `[${minSkew}, ${maxSkew}]`;
  if (skew !== undefined) findings.examined();
  if (skew !== undefined && (skew < minSkew || skew > maxSkew)) {
    const [name, count, mean] = farthest(counts);
    const message = `the skew of ${words.what} over ${counts.size} ${words.noun}s is ${rounded(skew)}: here it is ${rounded(count)} where the average is ${rounded(mean)}`;
    findings.add(entityFinding(words.entityType, name, message, rounded(skew), range));
  }
  const shown = skew === undefined ? '' : `, ${rounded(skew)},`;
  return findings.outcome({
    pass: `the skew of ${words.what} over ${counts.size} ${words.noun}s${shown} is within ${range}`,
    fail: () =>
      `the skew of ${words.what} over ${counts.size} ${words.noun}s is ${rounded(skew ?? 0)}, outside ${range}`,
    notApplicable:
      counts.size < 3
        ? `not applicable: skew needs three ${words.noun}s or more, there ${counts.size === 1 ? 'is' : 'are'} ${counts.size}`
        : `not applicable: ${words.what} is the same on all ${counts.size} ${words.noun}s`,
  });
}

function farthest(counts: ReadonlyMap<string, number>): [name: string, count: number, mean: number] {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  const mean = sum / counts.size;
  let best: [string, number] = ['', mean];
  for (const [name, count] of counts) if (Math.abs(count - mean) > Math.abs(best[1] - mean)) best = [name, count];
  return [best[0], best[1], mean];
}
