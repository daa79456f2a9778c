import { Type, type Static } from 'typebox';
import { DURATION_PATTERN, parseDuration } from '../platform/duration.ts';
import { MAX_CHECKS } from './health-finding.ts';
import { MAX_MUTES, Mute, MUTES_RULE } from './health-mute.ts';
import { ClusterHealthReportStatus } from './health-status.ts';
import { emptyByDefault, type KindDefinition } from './schema.ts';

/** Name of the report that the REST interface shows and changes. The first start creates it. That of a further cluster has the cluster's name. */
export const REPORT_NAME = 'cluster';

/** Name of the report of a cluster. @param further whether it is not the first cluster of its environment */
export function reportOf(cluster: string, further: boolean): string {
  return further ? cluster : REPORT_NAME;
}

/** Limit of reports whose checks run. Each has its own time series, and runs follow one another. */
export const MAX_REPORTS = 16;

/**
 * Five fields, or six with a number of seconds first, so that two runs are at least a minute apart. Whether the fields are right is shown
 * on the status.
 */
export const SCHEDULE_PATTERN = '^\\s*([0-9]+\\s+)?[0-9A-Za-z*,/?#-]+(\\s+[0-9A-Za-z*,/?#-]+){4}\\s*$';

export const ClusterHealthReportSpec = Type.Object(
  {
    cluster: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description:
          'Name of the cluster that the checks read, in an environment with several. Default: the cluster with the name of the report, if it is a further one, else the first.',
      }),
    ),
    interval: Type.Optional(
      Type.String({
        maxLength: 32,
        pattern: DURATION_PATTERN,
        description: 'Interval between runs, at least 1m, such as 20m (the default) or 1h30m. Excludes schedule.',
      }),
    ),
    schedule: Type.Optional(
      Type.String({
        minLength: 9,
        maxLength: 128,
        pattern: SCHEDULE_PATTERN,
        description:
          'Cron expression in UTC with five fields, or six with a number of seconds first. Excludes interval.',
      }),
    ),
    deadline: Type.Optional(
      Type.String({
        maxLength: 32,
        pattern: DURATION_PATTERN,
        description:
          'Time after which a run ends and reports what it has read, at least 10s, such as 5m (the default). Checks whose data was not read by then could not be evaluated.',
      }),
    ),
    fullReadInterval: Type.Optional(
      Type.String({
        maxLength: 32,
        pattern: DURATION_PATTERN,
        description:
          'Longest age of what a periodic run takes from earlier runs because ZooKeeper shows no change of it, at least 1m, such as 6h (the default). One shorter than the interval makes each run read everything. Runs on demand always do.',
      }),
    ),
    criticalAfter: Type.Optional(
      Type.String({
        maxLength: 32,
        pattern: DURATION_PATTERN,
        description:
          'Time after which lost replicas, which are a warning while another replica is online, become critical, at least 1m, such as 1h (the default).',
      }),
    ),
    suspend: Type.Optional(Type.Boolean({ description: 'Suspends the periodic runs. Runs on demand still work.' })),
    thresholds: Type.Optional(
      Type.Record(
        Type.String({ maxLength: 128 }),
        Type.Record(Type.String({ maxLength: 64 }), Type.Number(), { maxProperties: 8 }),
        {
          maxProperties: MAX_CHECKS,
          description: 'Thresholds that differ from the defaults, by check and by threshold name.',
        },
      ),
    ),
    disabledChecks: Type.Optional(
      Type.Array(Type.String({ maxLength: 128, pattern: '^[A-Z0-9_]+$' }), {
        maxItems: MAX_CHECKS,
        uniqueItems: true,
        'x-kubernetes-list-type': 'set',
        description: 'Names of checks to skip.',
      }),
    ),
    extensionChecks: Type.Optional(
      Type.Boolean({
        description:
          'Whether the checks beyond the specification run, too. Default: controller.cluster.health.extensionChecks, which is true.',
      }),
    ),
    mutes: Type.Optional(
      Type.Array(Mute, {
        maxItems: MAX_MUTES,
        description: 'Findings that are accepted until a time, by check and entity.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['id'],
      }),
    ),
    prebuiltSnapshotProperty: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description:
          'Cluster property that PREBUILT_SNAPSHOT_CHECK reads: true when prebuilt snapshots are created for preloading. Default: pinot.upsert.prebuilt.snapshot.enabled.',
      }),
    ),
    maxFindings: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 200,
        description: 'Limit of findings per check in the status, 20 by default. findingCount is always exact.',
      }),
    ),
  },
  { ...emptyByDefault, description: 'When the checks run, and their thresholds.' },
);
export type ClusterHealthReportSpec = Static<typeof ClusterHealthReportSpec>;

export const clusterHealthReportKind = {
  kind: 'ClusterHealthReport',
  plural: 'clusterhealthreports',
  singular: 'clusterhealthreport',
  shortNames: ['chr'],
  description:
    'A ClusterHealthReport configures when the health checks run and with which thresholds, and contains their latest results. The REST interface uses the one named `cluster`, that of a further cluster of the environment the one with its name.',
  spec: ClusterHealthReportSpec,
  status: ClusterHealthReportStatus,
  rules: [
    {
      cel: '!(has(self.interval) && has(self.schedule))',
      message: 'spec.interval and spec.schedule are mutually exclusive: set only one',
      holds: (spec) => !(spec.interval !== undefined && spec.schedule !== undefined),
    },
    {
      // duration() of CEL has no days and weeks; any number of them except 0 is enough. What is no duration has broken its pattern.
      cel: `!has(self.interval) || !self.interval.matches('${DURATION_PATTERN}') || self.interval.matches('[1-9][0-9]*[dw]') || (!self.interval.matches('[dw]') && duration(self.interval) >= duration('1m'))`,
      message: 'spec.interval must be at least 1m',
      holds: ({ interval }) =>
        interval === undefined ||
        /[1-9][0-9]*[dw]/.test(interval) ||
        (!/[dw]/.test(interval) && (parseDuration(interval) ?? Infinity) >= 60_000),
    },
    MUTES_RULE,
  ],
  printerColumns: [
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the settings are valid and in use.',
    },
    {
      name: 'Suspended',
      type: 'boolean',
      jsonPath: '.spec.suspend',
      description: 'Whether the periodic runs are suspended.',
    },
    { name: 'Pass', type: 'integer', jsonPath: '.status.pass', description: 'Number of passed checks.' },
    { name: 'Fail', type: 'integer', jsonPath: '.status.fail', description: 'Number of failed checks.' },
    {
      name: 'Critical',
      type: 'integer',
      jsonPath: '.status.failBySeverity.critical',
      description: 'Number of failed checks that are critical.',
    },
    {
      name: 'Muted',
      type: 'integer',
      jsonPath: '.status.failMuted',
      description: 'Number of failed checks whose faults are all muted.',
      priority: 1,
    },
    { name: 'Last Run', type: 'date', jsonPath: '.status.lastRunTime', description: 'Start of the last run.' },
    {
      name: 'Healthy',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Healthy")].status',
      description: 'Whether every check passed, except for muted faults.',
      priority: 1,
    },
    {
      name: 'Age',
      type: 'date',
      jsonPath: '.metadata.creationTimestamp',
      description: 'Time since creation.',
    },
  ],
} as const satisfies KindDefinition<
  'ClusterHealthReport',
  typeof ClusterHealthReportSpec,
  typeof ClusterHealthReportStatus
>;
