import type { CheckInput, CheckOutcome } from '../check.ts';
import { counted, enabledTables, entityFinding, Findings } from '../outcome.ts';

export function queryHealth({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  // Both parts of a hybrid table are one table to a query.
  const names = new Set(enabledTables(snapshot, findings).map((table) => table.rawName));
  for (const name of names) {
    findings.examined();
    const read = snapshot.queries.get(name) ?? { ok: false, error: 'the query was not made' };
    const outcome = findings.value(read, 'table', name, 'the answer to a query');
    if (outcome === undefined || outcome.ok) continue;
    const message = `\`SELECT $docId FROM ${name} LIMIT 1\` failed: ${outcome.detail}`.slice(0, 1024);
    findings.add(entityFinding('table', name, message, outcome.detail, 'an answer without exceptions'));
  }
  return findings.outcome({
    pass: 'every table answers a query',
    fail: (count) => `a query fails on ${counted(count, 'table')}`,
    notApplicable: 'not applicable: the cluster has no enabled table',
  });
}
