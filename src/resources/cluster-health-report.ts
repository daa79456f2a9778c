import { Type, type Static } from 'typebox';
import { commonStatus } from './meta.ts';
import { emptyByDefault, StringEnum, type KindDefinition } from './schema.ts';

/** The one report that operator, gateway and standalone use; made on first start where it does not exist. */
export const REPORT_NAME = 'cluster';

export const ClusterHealthReportSpec = Type.Object(
  {
    interval: Type.Optional(
      Type.String({
        maxLength: 32,
        pattern: '^([0-9]+(ms|s|m|h|d))+$',
        description: 'Time between two runs, such as 20m (the default) or 1h30m. Not together with schedule.',
      }),
    ),
    schedule: Type.Optional(
      Type.String({
        minLength: 9,
        maxLength: 128,
        description: 'Cron expression of five or six fields, in UTC, instead of interval.',
      }),
    ),
    suspend: Type.Optional(Type.Boolean({ description: 'Stops the periodic runs; a run on demand still works.' })),
    thresholds: Type.Optional(
      Type.Record(
        Type.String({ maxLength: 128 }),
        Type.Record(Type.String({ maxLength: 64 }), Type.Number(), { maxProperties: 8 }),
        {
          maxProperties: 33,
          description: 'By check name: its thresholds by name, where they differ from the defaults.',
        },
      ),
    ),
    disabledChecks: Type.Optional(
      Type.Array(Type.String({ maxLength: 128, pattern: '^[A-Z0-9_]+$' }), {
        maxItems: 33,
        uniqueItems: true,
        'x-kubernetes-list-type': 'set',
        description: 'Names of checks that are not run.',
      }),
    ),
    prebuiltSnapshotProperty: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description:
          'The cluster property by which PREBUILT_SNAPSHOT_CHECK knows that prebuilt snapshots are made for preloading; pinot.upsert.prebuilt.snapshot.enabled by default.',
      }),
    ),
    maxFindings: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 200,
        description: 'How many findings of a check are kept in the status, 20 by default. The count is always exact.',
      }),
    ),
  },
  { ...emptyByDefault, description: 'When the checks run, and by which thresholds.' },
);
export type ClusterHealthReportSpec = Static<typeof ClusterHealthReportSpec>;

export const Finding = Type.Object(
  {
    entityType: Type.String({
      maxLength: 32,
      description: 'table, segment, server, broker, controller, instance, tenant or cluster.',
    }),
    entity: Type.String({ maxLength: 512, description: 'Name of what is not well.' }),
    message: Type.String({ maxLength: 1024, description: 'What is wrong with it.' }),
    observed: Type.Optional(Type.String({ maxLength: 256, description: 'What was measured.' })),
    threshold: Type.Optional(Type.String({ maxLength: 256, description: 'What is allowed.' })),
  },
  { description: 'One thing that a check found.' },
);
export type Finding = Static<typeof Finding>;

export const CheckStatus = Type.Object(
  {
    name: Type.String({ maxLength: 128, description: 'Name of the check.' }),
    status: StringEnum(['PASS', 'FAIL'], { description: 'PASS or FAIL.' }),
    couldNotEvaluate: Type.Optional(
      Type.Boolean({ description: 'True where the check is a FAIL because what it needs could not be read.' }),
    ),
    since: Type.Optional(Type.String({ format: 'date-time', description: 'Since when the check has this status.' })),
    message: Type.String({ maxLength: 1024, description: 'The outcome in one sentence.' }),
    findingCount: Type.Integer({ description: 'How many findings there were, exact.' }),
    findings: Type.Optional(
      Type.Array(Finding, {
        maxItems: 200,
        description: 'The first findings, at most spec.maxFindings.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    durationMs: Type.Optional(Type.Integer({ description: 'Time that the check took, milliseconds.' })),
  },
  { description: 'The latest outcome of one check.' },
);
export type CheckStatus = Static<typeof CheckStatus>;

export const RunningRun = Type.Object(
  {
    id: Type.String({ maxLength: 128, description: 'Id of the run.' }),
    done: Type.Optional(Type.Integer({ description: 'Reads of the cluster that are done; absent before the first.' })),
    total: Type.Optional(
      Type.Integer({ description: 'Reads that are known to be needed; grows as tables are found.' }),
    ),
    checks: Type.Array(
      Type.Object({
        name: Type.String({ maxLength: 128, description: 'Name of the check.' }),
        status: StringEnum(['PASS', 'FAIL'], { description: 'PASS or FAIL.' }),
      }),
      {
        maxItems: 64,
        description: 'Checks that the run has decided so far, in that order.',
        'x-kubernetes-list-type': 'atomic',
      },
    ),
    checksTotal: Type.Integer({ description: 'How many checks the run decides in all.' }),
  },
  { description: 'The run that is under way; absent where none is.' },
);
export type RunningRun = Static<typeof RunningRun>;

export const ClusterHealthReportStatus = Type.Object(
  {
    ...commonStatus,
    lastRunTime: Type.Optional(Type.String({ format: 'date-time', description: 'When the last run began.' })),
    durationMs: Type.Optional(Type.Integer({ description: 'How long the last run took, milliseconds.' })),
    pass: Type.Optional(Type.Integer({ description: 'How many checks passed.' })),
    fail: Type.Optional(Type.Integer({ description: 'How many checks failed.' })),
    observedRunAt: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'The value of the annotation olapwarden.io/run-at that was last acted upon.',
      }),
    ),
    running: Type.Optional(RunningRun),
    checks: Type.Optional(
      Type.Array(CheckStatus, {
        maxItems: 64,
        description: 'Every check, in the order of the catalogue.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      }),
    ),
  },
  { description: 'The latest report; overwritten whole by every run.' },
);
export type ClusterHealthReportStatus = Static<typeof ClusterHealthReportStatus>;

export const clusterHealthReportKind = {
  kind: 'ClusterHealthReport',
  plural: 'clusterhealthreports',
  singular: 'clusterhealthreport',
  shortNames: ['chr'],
  description:
    'The ClusterHealthReport named `cluster` says when the health checks run and holds their latest outcome.',
  spec: ClusterHealthReportSpec,
  status: ClusterHealthReportStatus,
  rules: [
    {
      cel: '!(has(self.interval) && has(self.schedule))',
      message: 'give spec.interval or spec.schedule, not both',
      holds: (spec) => !(spec.interval !== undefined && spec.schedule !== undefined),
    },
  ],
  printerColumns: [
    { name: 'Pass', type: 'integer', jsonPath: '.status.pass', description: 'How many checks passed.' },
    { name: 'Fail', type: 'integer', jsonPath: '.status.fail', description: 'How many checks failed.' },
    { name: 'Last Run', type: 'date', jsonPath: '.status.lastRunTime', description: 'When the last run began.' },
    {
      name: 'Healthy',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Healthy")].status',
      description: 'Whether every check passed.',
      priority: 1,
    },
    {
      name: 'Age',
      type: 'date',
      jsonPath: '.metadata.creationTimestamp',
      description: 'Time since the report was made.',
    },
  ],
} as const satisfies KindDefinition<
  'ClusterHealthReport',
  typeof ClusterHealthReportSpec,
  typeof ClusterHealthReportStatus
>;
