import { CATALOGUE, originOf } from '../../src/health/catalogue.ts';
import type { Need } from '../../src/health/check.ts';
import { KEPT_PARTS, type KeptPart } from '../../src/health/gather/cluster/cluster-stamps.ts';
import { alertName } from '../../src/health/alerts/alert-names.ts';
import type { GeneratedFiles } from './generator.ts';

const HEAD = `<!-- Generated from src/health/checks/ by \`make generate\`; do not edit. -->
# The health checks

\`ClusterHealthCheckTask\` runs them every 20 minutes, on the leading operator (in standalone: in its single process), and on demand:

\`\`\`sh
curl -H "Authorization: Bearer $TOKEN" "$GATEWAY/periodictask/run?taskName=ClusterHealthCheckTask&wait=true"
curl -H "Authorization: Bearer $TOKEN" "$GATEWAY/clusterHealth?status=FAIL"
kubectl annotate clusterhealthreports.olapwarden.io cluster olapwarden.io/run-at="$(date -u +%FT%TZ)" --overwrite
olap-warden check --controller http://pinot-controller:9000
olap-warden check --controller http://pinot-controller:9000 --config report.yaml --fail-on critical
\`\`\`

Thresholds are set in \`spec.thresholds\` of the \`ClusterHealthReport\` named \`cluster\` ([its page](../resources/clusterhealthreport.md)). Further reports can have other
schedules, thresholds and checks; the label \`report\` of metrics and alerts names them. A check
whose data could not be read is a FAIL with the reason (\`couldNotEvaluate\`); \`lastEvaluated\` has its last result that was evaluated, which the alert of the check follows. A check that does not apply to the cluster is a PASS with the reason.

What is behind findings, such as a server that is down, is a [cause](CAUSES.md): it has one alert instead of one for each check.

Known faults can be [muted](../resources/clusterhealthreport.md#mutes) until a time: they stay in the report, are counted apart and have no alert.

\`olap-warden check --config\` takes a file with the fields of \`spec\` of a \`ClusterHealthReport\`, or a whole manifest of one: \`thresholds\`, \`mutes\`, \`disabledChecks\`,
\`extensionChecks\`, \`maxFindings\` and \`prebuiltSnapshotProperty\` (when the checks run is ignored). Options override it. \`--list\` prints the checks and their default thresholds. Muted faults do not count for the exit code.
`;

const TASK = `
## When the alerts fire

The alerts follow the runs of each report, whatever its \`spec.interval\` or \`spec.schedule\` is:

- The alert of a check fires one minute after the run that found the fault if the alert is critical, and otherwise after 25 minutes, and it stays until a run finds the fault gone. With intervals of up to 20 minutes a second run confirms the fault in this time; with longer ones the alert follows a single run.
- A check whose findings can have two severities has an alert for each, of which one fires: that of the worst finding that is not muted. When the worst finding changes, the other alert fires after its own time, so that a warning that remains of a critical fault fires 25 minutes after its end.
- Where [causes](CAUSES.md) are behind all faults of a check that are not muted, their alerts fire instead, in the same times: one for each cause.
- While a critical check fails, it is repeated alone, each minute or less often on a large cluster, so that the alert ends soon after the fault, also where the next run is due in a week.
- \`OlapHealthReportStale\` compares with the time when the next run is due, so a weekly report is stale after a week and 40 minutes. The 40 minutes are the same for every schedule: they are for a change of the leader and for runs that wait for each other.
- \`OlapHealthTaskFailing\` and the alerts about checks that could not be evaluated count runs. After a run that could not read the cluster the next ones follow after 30 seconds, 1, 2 and 5 minutes, and then by the schedule.

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
| \`deadline\` | the run reached \`spec.deadline\`; its report has what was read until then, and the next run reads the rest | Pinot responds slowly: \`olap_warden_health_engine_calls_total\` by endpoint and outcome names the calls that time out |
| \`error\` | the run failed with an internal error, or its report could not be written | the operator's log contains the error; the previous report stays |

## Checks could not be evaluated

*Alert \`OlapHealthCriticalChecksNotEvaluated\`* for critical checks, *Alert \`OlapHealthChecksNotEvaluated\`* for the others. Three runs in a row could not read the data that these checks need
(\`olap_warden_health_check_unevaluated_runs\`). The alerts of the checks stay as they were after the last run that could evaluate them (\`olap_warden_health_check_failing\`).

1. \`GET /clusterHealth?status=FAIL\`: the findings with \`couldNotRead\` name the part of the cluster and the error.
2. All checks: no controller responds, or it refuses the credential; see [The task fails](#the-task-fails).
3. Some checks: request the named endpoint from the operator's pod. A hanging server or table affects only the checks that need it.
4. A check that this version of Pinot cannot answer: add it to \`spec.disabledChecks\` of the report.
`;

const NO_CHANGE = 'none known';

interface KeptPartText {
  readonly data: string;
  readonly stamps: string;
  readonly untraced: string;
}

/** What proves that data is unchanged, and what does not. */
const KEPT_PART_TEXTS: Readonly<Record<KeptPart, KeptPartText>> = {
  assignment: { data: 'ideal state', stamps: 'ideal state, table configuration', untraced: NO_CHANGE },
  externalView: {
    data: 'comparison with the external view',
    stamps: 'ideal state, external view',
    untraced: NO_CHANGE,
  },
  segmentMetadata: {
    data: 'metadata of segments',
    stamps: 'ideal state, list of segments; REFRESH tables are read in each run',
    untraced:
      'segments of other tables that are replaced under the same names, as by a second push or by compaction of an upsert table',
  },
  files: {
    data: 'files of segments, if none is missing',
    stamps: 'as for metadata',
    untraced: 'a file that is deleted from the deep store',
  },
  size: {
    data: 'sizes of segments',
    stamps:
      'as for metadata; external view, table configuration, schema, sessions of the servers, and no reload was needed',
    untraced: 'as for metadata; a reload where the need for it cannot be evaluated',
  },
  reload: {
    data: 'reload status, if no reload is needed',
    stamps: 'ideal state, external view, configurations of table and cluster, schema, sessions of the servers',
    untraced: NO_CHANGE,
  },
  rebalance: {
    data: 'rebalance dry run, if no rebalance is needed',
    stamps:
      'ideal state, configurations of table and cluster, configurations of all servers (tags, pools), instance partitions; tables with storage tiers are read in each run',
    untraced: NO_CHANGE,
  },
};

const AGE = `
## How old the data of a check can be

A periodic run reads what may have changed. ZooKeeper shows it for most of the data: the run compares creation, last write and version of the nodes with those of the earlier run. Differences from the external view, needed reloads and needed rebalances are read in each run until they are gone. What was
written less than a minute before a run is read again by the next one. A run on demand and the first run of a process read everything, and so does a run that finds another cluster, another version of Pinot, or a ZooKeeper that was restored from a backup.

Some changes leave no trace in the nodes that are compared. They are seen after \`spec.fullReadInterval\` at the latest, 6 hours by default, because older data is not used:

| data | unchanged if these are | changes without a trace |
|---|---|---|
${Object.values(KEPT_PART_TEXTS)
  .map(({ data, stamps, untraced }) => `| ${data} | ${stamps} | ${untraced} |`)
  .join('\n')}

The other data is read in each run: instances and their health, configurations of tables and of the cluster, schemas, instance partitions, broker resource, lead controllers, sizes of nodes, tasks of minions, queries, primary keys, and rows in consuming segments. So a run makes at least one query for each table, and
a call to the servers for each table that has primary keys or consuming segments.

| check | data that can be from an earlier run | a fault is seen |
|---|---|---|
${CATALOGUE.map(({ name, needs }) => ageRow(name, needs)).join('\n')}
`;

function ageRow(name: string, needs: readonly Need[]): string {
  const kept = KEPT_PARTS.filter((part) => needs.includes(part));
  const late = kept.some((part) => KEPT_PART_TEXTS[part].untraced !== NO_CHANGE);
  const seen = late
    ? 'by the next run; after a change without a trace, after `spec.fullReadInterval`'
    : 'by the next run';
  return `| [${name}](${name}.md) | ${kept.map((part) => KEPT_PART_TEXTS[part].data).join(', ')} | ${seen} |`;
}

const ORIGINS = `
The first ${CATALOGUE.filter(({ name }) => originOf(name) === 'specification').length} checks are those of the specification (\`origin: specification\`); \`healthCheckResult\` of \`GET /clusterHealth\` has only these. The others (\`origin: extension\`) look for faults that make data
unavailable, late or stale, and are on by default: they fail only on faults, not on designs. One switch turns them off: \`spec.extensionChecks: false\` of a report, or the property \`controller.cluster.health.extensionChecks=false\` for all reports.

Each finding has a severity and \`since\`, the start of the first run in a row that found it; the severity of a failed check is that of its worst finding, and the label \`severity\` of an alert, for Prometheus and of the webhook, is that of the worst finding that is not muted. A report lists the first findings of each check (\`spec.maxFindings\`).
\`GET /clusterHealth?table=\` and \`?instance=\` search all of them, from an index of at most 128 KiB in the status (\`findingIndex\`): up to 20,000 findings, and of each check up to 10,000; where more than two checks fail, 20,000 divided by their number, but at least 200. A name that the latest complete reading of the cluster does not have is 404.
`;

const FAULTS = `
## What the checks found

Each check was run on a cluster with its fault, and without. *live*: a running Pinot 0.11 with three or five servers (\`test/integration/health\`); *lowered threshold*: there, with a threshold that a small cluster can exceed; *recorded or built responses*: without a running Pinot (\`test/unit/health\`), because only Pinot 1.x reports the data, and its server is not on Maven Central.

${faultTable()}
`;

function faultTable(): string {
  const places = { live: 'live', lowered: 'live, lowered threshold', recorded: 'recorded or built responses' } as const;
  const rows = CATALOGUE.map(
    ({ name, madeFault: { fault, found, where } }) =>
      `| [${name}](${name}.md) | ${fault} | ${found} | ${places[where]} |`,
  );
  return ['| check | fault | found | on |', '|---|---|---|---|', ...rows].join('\n');
}

/** Generates docs/checks/README.md: all checks with condition, thresholds and alert, and the runbooks of the task. */
export function generateCheckIndex(): GeneratedFiles {
  const rows = CATALOGUE.map(({ name, title, category, severity, otherSeverity, description, defaultThresholds }) => {
    const alert = `\`${alertName(name)}\`, ${severity}${otherSeverity === undefined ? '' : `, or ${otherSeverity} by its findings`}`;
    const thresholds = Object.entries(defaultThresholds).map(([key, value]) => `\`${key}\` ${value}`);
    return `| [${title}](${name}.md) | ${category} | ${description} | ${thresholds.join(', ')} | ${alert} |`;
  });
  const table = ['| check | family | fails where | thresholds | alert |', '|---|---|---|---|---|', ...rows].join('\n');
  return new Map([['docs/checks/README.md', `${HEAD}${ORIGINS}\n${table}\n${AGE}${TASK}${FAULTS}`]]);
}
