import { CATALOGUE } from '../../src/health/catalogue.ts';
import { alertName } from './alerts.ts';
import type { GeneratedFiles } from './generator.ts';

const HEAD = `<!-- Generated from src/health/checks/ by \`make generate\`; do not edit. -->
# The health checks

\`ClusterHealthCheckTask\` runs them every 20 minutes, on the leading operator (in standalone: in its single process), and on demand:

\`\`\`sh
curl -H "Authorization: Bearer $TOKEN" "$GATEWAY/periodictask/run?taskName=ClusterHealthCheckTask&wait=true"
curl -H "Authorization: Bearer $TOKEN" "$GATEWAY/clusterHealth?status=FAIL"
kubectl annotate clusterhealthreports.olapwarden.io cluster olapwarden.io/run-at="$(date -u +%FT%TZ)" --overwrite
olap-warden check --controller http://pinot-controller:9000
\`\`\`

Thresholds are set in \`spec.thresholds\` of the \`ClusterHealthReport\` named \`cluster\` ([its page](../resources/clusterhealthreport.md)). Further reports can have other
schedules, thresholds and checks; the label \`report\` of metrics and alerts names them. A check
whose data could not be read is a FAIL with the reason (\`couldNotEvaluate\`); \`lastEvaluated\` has its last result that was evaluated, which the alert of the check follows. A check that does not apply to the cluster is a PASS with the reason.
`;

const TASK = `
## The report is stale

*Alert \`OlapHealthReportStale\`.* A run has been due for 40 minutes (\`olap_warden_health_next_run_timestamp_seconds\`), so that the other alerts of this report are not current.

1. \`kubectl get clusterhealthreports.olapwarden.io\`: when did the last run start? Is the report suspended?
2. \`kubectl get lease\` in the namespace of olap-warden: does an operator hold it, and was it renewed in the last seconds? If not, check why the pods are not ready.
3. \`kubectl describe clusterhealthreports.olapwarden.io <report>\`: a condition \`Stalled\` names an invalid setting; an Event reports a failed run.

## The task fails

*Alert \`OlapHealthTaskFailing\`.* At least two runs in a row ended without a complete report (\`olap_warden_health_failed_runs\`), and none was complete for five minutes; \`olap_warden_health_runs_total\` counts them by result.

| result | meaning | what to do |
|---|---|---|
| \`unreachable\` | no Pinot controller responded, or the first one accepts connections and does not respond: the next one is tried only if the connection fails | from the operator's pod, request \`/health\` of each controller in the setting \`controllers\`; restart one that hangs; look at network policies and at the credential (\`engine-credential-file\`) |
| \`deadline\` | the run exceeded its time limit | Pinot responds slowly: \`olap_warden_health_engine_calls_total\` by endpoint and outcome names the calls that time out |
| \`error\` | the run failed with an internal error, or its report could not be written | the operator's log contains the error; the previous report stays |

## Checks could not be evaluated

*Alert \`OlapHealthCriticalChecksNotEvaluated\`* for critical checks, *Alert \`OlapHealthChecksNotEvaluated\`* for the others. Three runs in a row could not read the data that these checks need
(\`olap_warden_health_check_unevaluated_runs\`). The alerts of the checks stay as they were after the last run that could evaluate them (\`olap_warden_health_check_failing\`).

1. \`GET /clusterHealth?status=FAIL\`: the findings with \`couldNotRead\` name the part of the cluster and the error.
2. All checks: no controller responds, or it refuses the credential; see [The task fails](#the-task-fails).
3. Some checks: request the named endpoint from the operator's pod. A hanging server or table affects only the checks that need it.
4. A check that this version of Pinot cannot answer: add it to \`spec.disabledChecks\` of the report.
`;

/** Generates docs/checks/README.md: all checks with condition, thresholds and alert, and the runbooks of the task. */
export function generateCheckIndex(): GeneratedFiles {
  const rows = CATALOGUE.map(({ name, title, category, severity, description, defaultThresholds }) => {
    const thresholds = Object.entries(defaultThresholds).map(([key, value]) => `\`${key}\` ${value}`);
    return `| [${title}](${name}.md) | ${category} | ${description} | ${thresholds.join(', ')} | \`${alertName(name)}\`, ${severity} |`;
  });
  const table = ['| check | family | fails where | thresholds | alert |', '|---|---|---|---|---|', ...rows].join('\n');
  return new Map([['docs/checks/README.md', `${HEAD}\n${table}\n${TASK}`]]);
}
