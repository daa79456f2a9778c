import { defineCheck } from '../check.ts';
import { readFailed, type QueryOutcome, type TableSnapshot } from '../snapshot.ts';
import { counted, enabledTables, entityFinding, Findings } from './shared/findings.ts';

const MAX_MESSAGE_LENGTH = 1024;

const LACKS = { servers: 'no server was queried', result: 'the response has no result table' } as const;

export const queryHealth = defineCheck({
  name: 'QUERY_HEALTH_CHECK',
  specified: 32,
  title: 'Queries',
  description: 'The query SELECT $docId FROM <table> LIMIT 1 fails on a table, or reads none of its servers.',
  category: 'queries',
  severity: 'critical',
  defaultThresholds: {},
  remediation: 'Run the query and read its exceptions; check that the brokers and servers of the table are live.',
  madeFault: {
    where: 'live',
    fault: 'the only server of a table is stopped; all brokers are stopped',
    found: 'the table',
  },
  needs: ['tables', 'enabled', 'assignment', 'queries'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const [name, parts] of byRawName(enabledTables(snapshot, findings))) {
      findings.examined();
      const read = snapshot.queries.get(name) ?? readFailed('the query was not run');
      const result = findings.value(read, 'table', name, 'the result of a query');
      if (result === undefined) continue;
      const fault = result.ok ? unservedFault(result, parts, findings) : `failed: ${result.detail}`;
      if (fault === undefined) continue;
      const message = `\`SELECT $docId FROM ${name} LIMIT 1\` ${fault}`.slice(0, MAX_MESSAGE_LENGTH);
      const observed = result.ok ? LACKS[result.lacks ?? 'result'] : result.detail;
      findings.add(entityFinding('table', name, message, observed, 'a result without exceptions'));
    }
    return findings.outcome({
      pass: 'a query succeeds on every table',
      fail: (count) => `a query fails on ${counted(count, 'table')}`,
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});

/** The two parts of a hybrid table are queried as one table. */
function byRawName(tables: readonly TableSnapshot[]): Map<string, TableSnapshot[]> {
  const parts = new Map<string, TableSnapshot[]>();
  for (const table of tables) parts.set(table.rawName, [...(parts.get(table.rawName) ?? []), table]);
  return parts;
}

/** The fault of a query without exceptions that did not read the segments which the ideal state has; undefined if there is none. */
function unservedFault(
  { lacks }: QueryOutcome,
  parts: readonly TableSnapshot[],
  findings: Findings,
): string | undefined {
  if (lacks === undefined) return undefined;
  let segments = 0;
  for (const part of parts) {
    const assignment = findings.value(part.assignment, 'table', part.name, 'its ideal state');
    // Without a server in the ideal state, all segments are OFFLINE by intention.
    if (assignment === undefined || assignment.servers.size === 0) continue;
    // A consuming segment may have no row yet; its server is queried in any case.
    segments += lacks === 'servers' ? assignment.segments : assignment.segments - assignment.consumingSegments;
  }
  if (segments === 0) return undefined;
  return `did not read the table: ${LACKS[lacks]}, but the ideal state has ${counted(segments, 'segment')} to serve`;
}
