import { defineCheck } from '../check.ts';
import {
  CONSISTENCY_CHECK,
  contradictingLists,
  isIn,
  isMissingIn,
  schemaOf,
  TABLE_TYPES,
  type ClusterSnapshot,
  type NameList,
  type Read,
  type TableSnapshot,
} from '../snapshot.ts';
import { counted, entityFinding, Findings, instancesOf, tableFinding, withSeverity } from './shared/findings.ts';

const MAX_ERROR_LENGTH = 512;

/** The sources of table names, and how a message calls them. */
const SOURCES = {
  configurations: 'table configuration',
  idealStates: 'ideal state',
  externalViews: 'external view',
  segmentMetadata: 'segment metadata',
} as const;

export const tableConsistency = defineCheck({
  name: CONSISTENCY_CHECK,
  title: 'Sources that contradict each other',
  description:
    'A part of a table (configuration, schema, ideal state, segment metadata) is missing or invalid although other parts exist, or an instance is used that has no configuration.',
  category: 'tables',
  severity: 'critical',
  otherSeverity: 'warning',
  defaultThresholds: {},
  remediation:
    'Create the missing part again: the table configuration or schema from its file, ideal state and segment metadata with another push of the segments. Delete the remains of a table that is not wanted with DELETE /tables/{table}.',
  madeFault: {
    where: 'live',
    fault: 'the node of a schema, then of the table configuration, is deleted in ZooKeeper',
    found: 'the table',
  },
  needs: ['tables', 'sources', 'enabled', 'instances', 'schemas', 'assignment', 'externalView', 'segmentMetadata'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const [source, list] of Object.entries(snapshot.sources) as [string, Read<NameList>][]) {
      const what = source in SOURCES ? `the list of ${SOURCES[source as keyof typeof SOURCES]}s` : 'the list of tables';
      findings.value(list, 'cluster', snapshot.clusterName, what);
    }
    const tables = findings.value(snapshot.tables, 'cluster', snapshot.clusterName, 'the table configurations');
    // Without the configurations it is not known which of the other parts are remains.
    if (tables !== undefined) addRemains(tables, snapshot, findings);
    for (const table of tables ?? []) {
      addMissingParts(table, snapshot, findings);
      for (const list of contradictingLists(table, snapshot.sources)) {
        const error = 'it lacks the table, although the part itself could be read';
        findings.couldNotRead('table', table.name, `the list of ${list}`, error);
      }
    }
    addInstances(tables ?? [], snapshot, findings);
    return findings.outcome({
      pass: 'all sources of the cluster know the same tables and instances',
      fail: (count) => `${counted(count, 'contradiction')} between the sources of the cluster`,
      notApplicable: 'not applicable: the cluster has no table',
    });
  },
});

/** Tables that another source knows, and whose configuration is missing or not valid. */
function addRemains(tables: readonly TableSnapshot[], snapshot: ClusterSnapshot, findings: Findings): void {
  const { unreadableTables, sources } = snapshot;
  for (const [name, error] of unreadableTables) {
    findings.examined();
    const message = `its table configuration cannot be read: ${error.slice(0, MAX_ERROR_LENGTH)}`;
    findings.add(entityFinding('table', name, message, 'not readable', 'a valid table configuration'));
  }
  const known = new Set([...tables.map(({ name }) => name), ...unreadableTables.keys()]);
  const others = ['idealStates', 'externalViews', 'segmentMetadata'] as const;
  const names = new Set(others.flatMap((source) => namesIn(sources[source])));
  const remains = [...names].filter((name) => !known.has(name) && isMissingIn(sources.configurations, name));
  for (const name of remains.toSorted()) {
    const seen = others.filter((source) => isIn(sources[source], name)).map((source) => SOURCES[source]);
    const message = `the cluster has ${seen.join(' and ')} of the table, but no table configuration`;
    const finding = entityFinding('table', name, message, seen.join(', '), 'a table configuration');
    // Without an ideal state no server has the table: what is left of it serves no query.
    findings.add(isIn(sources.idealStates, name) ? finding : withSeverity('warning', finding));
  }
  addListed(new Set([...known, ...remains]), snapshot, findings);
}

/** Tables of `GET /tables` of which no other source knows. */
function addListed(known: ReadonlySet<string>, { sources }: ClusterSnapshot, findings: Findings): void {
  for (const raw of namesIn(sources.listed)) {
    const names = TABLE_TYPES.map((type) => `${raw}_${type}`);
    if (names.some((name) => known.has(name) || !isMissingIn(sources.configurations, name))) continue;
    const message = '`GET /tables` lists the table, but no table configuration is stored';
    findings.add(entityFinding('table', raw, message, 'no table configuration', 'a table configuration'));
  }
}

/** The parts that a configured table lacks. */
function addMissingParts(table: TableSnapshot, { sources, schemas }: ClusterSnapshot, findings: Findings): void {
  findings.examined();
  const add = (message: string, part: string): void =>
    findings.add(tableFinding(table, message, `no ${part}`, `one ${part}`));
  if (isMissingIn(sources.idealStates, table.name) && !table.assignment.ok) {
    add('it has a table configuration, but no ideal state: no server has its segments', 'ideal state');
  }
  const segments = table.assignment.ok ? table.assignment.value.segments : 0;
  if (segments > 0 && isMissingIn(sources.segmentMetadata, table.name) && !table.segments.ok) {
    const message = `its ideal state has ${counted(segments, 'segment')}, but there is no segment metadata: a server that restarts cannot load ${segments === 1 ? 'it' : 'them'}`;
    add(message, 'segment metadata');
  }
  if (!schemas.ok) {
    findings.couldNotRead('table', table.name, 'its schema', schemas.error);
    return;
  }
  const schema = schemaOf(schemas.value, table);
  if (schema === undefined) {
    add('it has no schema: its segments cannot be reloaded and its stream cannot be consumed further', 'schema');
  } else if (!schema.ok) {
    add(`its schema cannot be read: ${schema.error.slice(0, MAX_ERROR_LENGTH)}`, 'valid schema');
  }
}

/** Instances that are used, and have no configuration. */
function addInstances(tables: readonly TableSnapshot[], snapshot: ClusterSnapshot, findings: Findings): void {
  const instances = instancesOf(snapshot, findings);
  if (instances === undefined) return;
  const add = (id: string, message: string): void => {
    const type = /^(?:Server|Broker|Controller|Minion)(?=_)/u.exec(id)?.[0].toLowerCase() ?? 'instance';
    findings.add(withSeverity('warning', entityFinding(type, id, message, 'no configuration', 'a configuration')));
  };
  for (const id of snapshot.unconfiguredInstances) add(id, 'the instance is live, but has no configuration');
  const configured = new Set(instances.map(({ id }) => id));
  const tablesOn = new Map<string, number>();
  for (const { assignment } of tables) {
    for (const server of assignment.ok ? assignment.value.servers.keys() : []) {
      if (!configured.has(server)) tablesOn.set(server, (tablesOn.get(server) ?? 0) + 1);
    }
  }
  for (const [server, count] of tablesOn) {
    add(
      server,
      `the ideal states of ${counted(count, 'table')} have segments on the server, which has no configuration`,
    );
  }
}

function namesIn(list: Read<NameList>): readonly string[] {
  return list.ok ? [...list.value.always] : [];
}
