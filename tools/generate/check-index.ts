import { CATALOGUE } from '../../src/health/catalogue.ts';
import { alertName, severity } from './alerts.ts';
import type { GeneratedFiles } from './generator.ts';

const HEAD = `<!-- Generated from src/health/catalogue.ts by \`make generate\`; do not edit. -->
# The health checks

\`ClusterHealthCheckTask\` runs them every 20 minutes, on the operator that leads (in standalone: in the one process there is), and on demand:

\`\`\`sh
curl -H "Authorization: Bearer $TOKEN" "$GATEWAY/periodictask/run?taskName=ClusterHealthCheckTask&wait=true"
curl -H "Authorization: Bearer $TOKEN" "$GATEWAY/clusterHealth?status=FAIL"
kubectl annotate clusterhealthreports.olapwarden.io cluster olapwarden.io/run-at="$(date -u +%FT%TZ)" --overwrite
olap-warden check --controller http://pinot-controller:9000
\`\`\`

Thresholds are changed in \`spec.thresholds\` of the \`ClusterHealthReport\` named \`cluster\` ([its page](../resources/clusterhealthreport.md)). A check
that could not be evaluated is a FAIL that says what could not be read (\`couldNotEvaluate\`); what does not apply to a cluster is a PASS that says so.
`;

const TASK = `
## The report is stale

*Alert \`OlapHealthReportStale\`.* No run has ended for an hour, so the other alerts say nothing about now.

1. \`kubectl get clusterhealthreports.olapwarden.io cluster -o wide\`: when did the last run begin? Is \`spec.suspend\` true, or the interval long?
2. \`kubectl get lease\` in the namespace of olap-warden: does an operator hold it, and was it renewed in the last seconds? If not, see why its pods are not ready.
3. \`kubectl describe clusterhealthreports.olapwarden.io cluster\`: a condition \`Stalled\` names a setting that cannot be used; an Event tells of a run that failed.

## The task fails

*Alert \`OlapHealthTaskFailing\`.* Runs end without a report on the whole cluster; \`olap_warden_health_runs_total\` tells how.

| result | meaning | what to do |
|---|---|---|
| \`unreachable\` | no controller of the engine answered | from the operator's pod, ask \`/health\` of each controller in the setting \`controllers\`; look at network policies and at the credential (\`engine-credential-file\`) |
| \`deadline\` | the run was cut off | the engine answers slowly: \`olap_warden_health_engine_calls_total\` by endpoint and outcome names the calls that time out |
| \`error\` | the run itself broke | the operator's log has the error; the report before it stays in force |
`;

/** docs/checks/README.md: every check with its condition, thresholds and alert, and the two runbooks of the task itself. */
export function generateCheckIndex(): GeneratedFiles {
  const rows = CATALOGUE.map(({ name, title, category, description, defaultThresholds }) => {
    const thresholds = Object.entries(defaultThresholds).map(([key, value]) => `\`${key}\` ${value}`);
    return `| [${title}](${name}.md) | ${category} | ${description} | ${thresholds.join(', ')} | \`${alertName(name)}\`, ${severity(name)} |`;
  });
  const table = ['| check | family | fails where | thresholds | alert |', '|---|---|---|---|---|', ...rows].join('\n');
  return new Map([['docs/checks/README.md', `${HEAD}\n${table}\n${TASK}`]]);
}
