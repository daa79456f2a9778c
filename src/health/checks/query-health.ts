import { defineCheck } from '../check.ts';
import { readFailed } from '../snapshot.ts';
import { counted, enabledTables, entityFinding, Findings } from './shared/findings.ts';

const MAX_MESSAGE_LENGTH = 1024;

export const queryHealth = defineCheck({
  name: 'QUERY_HEALTH_CHECK',
  title: 'Queries',
  description: 'The query SELECT $docId FROM <table> LIMIT 1 fails on a table.',
  category: 'queries',
  severity: 'critical',
  defaultThresholds: {},
  remediation: 'Run the query and read its exceptions; check that the brokers and servers of the table are live.',
  needs: ['tables', 'enabled', 'assignment', 'externalView', 'queries'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    // The two parts of a hybrid table are queried as one table.
    const names = new Set(enabledTables(snapshot, findings).map((table) => table.rawName));
    for (const name of names) {
      findings.examined();
      const read = snapshot.queries.get(name) ?? readFailed('the query was not run');
      const result = findings.value(read, 'table', name, 'the result of a query');
      if (result === undefined || result.ok) continue;
      const message = `\`SELECT $docId FROM ${name} LIMIT 1\` failed: ${result.detail}`.slice(0, MAX_MESSAGE_LENGTH);
      findings.add(entityFinding('table', name, message, result.detail, 'a result without exceptions'));
    }
    return findings.outcome({
      pass: 'a query succeeds on every table',
      fail: (count) => `a query fails on ${counted(count, 'table')}`,
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});
