import { Type, type Static } from 'typebox';
import { compileGlob, globMatches } from '../platform/glob.ts';
import { DURATION_PATTERN, parseDuration } from '../platform/duration.ts';
import { commonStatus } from './meta.ts';
import { emptyByDefault, StringEnum, type KindDefinition } from './schema.ts';

/** Limit of checks in the spec and the status of a report; the catalogue must not have more. */
export const MAX_CHECKS = 64;

/** Name of the report that the REST interface shows and changes. The first start creates it. */
export const REPORT_NAME = 'cluster';

/** Limit of reports whose checks run. Each has its own time series, and runs follow one another. */
export const MAX_REPORTS = 16;

/**
 * Five fields, or six with a number of seconds first, so that two runs are at least a minute apart. Whether the fields are right is shown
 * on the status.
 */
export const SCHEDULE_PATTERN = '^\\s*([0-9]+\\s+)?[0-9A-Za-z*,/?#-]+(\\s+[0-9A-Za-z*,/?#-]+){4}\\s*$';

/** Limit of mutes in a report. */
export const MAX_MUTES = 100;

/** Ids of mutes: a DNS label. */
export const MUTE_ID_PATTERN = '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';
/** `*`, or a name of a check in which `*` stands for any characters. */
export const CHECK_GLOB_PATTERN = '^([*]|[*]*[A-Z0-9_][A-Z0-9_*]*)$';
/** `*`, or one line with another character than `*`. */
export const ENTITY_GLOB_PATTERN = '^([*]|[*]*[^*\\r\\n][^\\r\\n]*)$';

/** The end of the name of each check: a pattern that matches it matches every check. */
const CHECK_END = '_CHECK';
/** Patterns of every entity: names of instances and of tables with their type have an underscore. */
const EVERY_ENTITY = '^[*]+(_[*]+)?$';

/** Whether a pattern names no entity. */
export function isEveryEntity(entity: string): boolean {
  return new RegExp(EVERY_ENTITY).test(entity);
}

function isEveryCheck(check: string): boolean {
  return globMatches(compileGlob(check), CHECK_END);
}

export const Mute = Type.Object(
  {
    id: Type.String({ maxLength: 63, pattern: MUTE_ID_PATTERN, description: 'Unique name of the mute.' }),
    check: Type.Optional(
      Type.String({
        maxLength: 128,
        pattern: CHECK_GLOB_PATTERN,
        description: 'Name of the check; * matches any characters. Every check by default.',
      }),
    ),
    entity: Type.String({
      maxLength: 512,
      pattern: ENTITY_GLOB_PATTERN,
      description: 'Name of the entity, as in findings; * matches any characters, such as events_*.',
    }),
    reason: Type.String({ minLength: 1, maxLength: 1024, description: 'Why these findings are accepted until then.' }),
    author: Type.Optional(
      Type.String({
        maxLength: 512,
        description: 'Who created the mute. The REST interface sets the caller; kubectl does not verify it.',
      }),
    ),
    until: Type.String({ format: 'date-time', description: 'End of the mute, RFC 3339, at most 90 days ahead.' }),
  },
  { description: 'Findings that are accepted for a time. They stay in the report and are counted apart.' },
);
export type Mute = Static<typeof Mute>;

const MuteCount = Type.Object(
  {
    id: Type.String({ maxLength: 63, description: 'Id of the mute.' }),
    findingCount: Type.Integer({ description: 'Number of findings to which it applies.' }),
  },
  { description: 'Findings of one mute.' },
);
export type MuteCount = Static<typeof MuteCount>;

export const ClusterHealthReportSpec = Type.Object(
  {
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

/**
 * Severity of a FAIL, worst first. `critical`: data or queries are unavailable or at risk now. `warning`: they may become unavailable or
 * slow. `advice`: a recommendation about configuration or design.
 */
export const SEVERITIES = ['critical', 'warning', 'advice'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** What each severity means, for descriptions of fields. */
export const SEVERITY_MEANING =
  'critical: data or queries are unavailable or at risk now; warning: they may become unavailable or slow; advice: a recommendation about configuration or design.';

/** `specification`: a check of the specification. `extension`: a check beyond it. */
export const CHECK_ORIGINS = ['specification', 'extension'] as const;
export type CheckOrigin = (typeof CHECK_ORIGINS)[number];

/** What each origin means, for descriptions of fields. */
export const ORIGIN_MEANING =
  'specification: one of the checks of the specification; extension: a check beyond it, which spec.extensionChecks switches.';

export const Finding = Type.Object(
  {
    entityType: Type.String({
      maxLength: 32,
      description: 'table, schema, server, broker, controller, minion, task or cluster.',
    }),
    entity: Type.String({ maxLength: 512, description: 'Name of the entity with the problem.' }),
    message: Type.String({ maxLength: 1024, description: 'Description of the problem.' }),
    observed: Type.Optional(Type.String({ maxLength: 256, description: 'Measured value.' })),
    threshold: Type.Optional(Type.String({ maxLength: 256, description: 'Allowed value.' })),
    severity: Type.Optional(
      StringEnum([...SEVERITIES], { description: 'Severity of the finding; the worst one is that of the check.' }),
    ),
    since: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Start of the first run in a row in which the check found a problem with this entity.',
      }),
    ),
    couldNotRead: Type.Optional(
      Type.Boolean({ description: 'True when the finding is no fault, but data that could not be read.' }),
    ),
    mutedBy: Type.Optional(Type.String({ maxLength: 63, description: 'Id of the mute that applies to the finding.' })),
  },
  { description: 'A problem that a check found.' },
);
export type Finding = Static<typeof Finding>;

/** Entities of a check that its metrics and alerts name. */
export const MAX_NAMED_ENTITIES = 3;

/** How many findings are muted, and how many are no faults. */
const countedApart = {
  unreadCount: Type.Optional(
    Type.Integer({ description: 'Number of findings that are data that could not be read; absent without any.' }),
  ),
  mutedCount: Type.Optional(Type.Integer({ description: 'Number of muted findings; absent without any.' })),
  mutes: Type.Optional(
    Type.Array(MuteCount, {
      maxItems: MAX_MUTES,
      description: 'The mutes that apply to findings. A finding counts for the one that ends last.',
      'x-kubernetes-list-type': 'atomic',
    }),
  ),
};

export const LastEvaluated = Type.Object(
  {
    status: StringEnum(['PASS', 'FAIL'], { description: 'PASS or FAIL.' }),
    time: Type.Optional(Type.String({ format: 'date-time', description: 'Start of that run.' })),
    since: Type.Optional(
      Type.String({ format: 'date-time', description: 'Time since which the check had that status.' }),
    ),
    severity: Type.Optional(
      StringEnum([...SEVERITIES], {
        description: 'Severity of that FAIL: the worst one of its faults that are not muted.',
      }),
    ),
    findingCount: Type.Integer({ description: 'Number of findings of that run.' }),
    ...countedApart,
    entities: Type.Optional(
      Type.Array(
        Type.Object({
          entityType: Type.String({ maxLength: 32, description: 'Type of the entity, as in findings.' }),
          entity: Type.String({ maxLength: 512, description: 'Name of the entity.' }),
        }),
        {
          maxItems: MAX_NAMED_ENTITIES,
          description: 'The first entities that the check found in that run.',
          'x-kubernetes-list-type': 'atomic',
        },
      ),
    ),
  },
  { description: 'The last result that was evaluated, if the latest run could not evaluate the check.' },
);
export type LastEvaluated = Static<typeof LastEvaluated>;

export const CheckStatus = Type.Object(
  {
    name: Type.String({ maxLength: 128, description: 'Name of the check.' }),
    status: StringEnum(['PASS', 'FAIL'], { description: 'PASS or FAIL.' }),
    origin: Type.Optional(StringEnum([...CHECK_ORIGINS], { description: ORIGIN_MEANING })),
    severity: Type.Optional(StringEnum([...SEVERITIES], { description: `Severity of a FAIL. ${SEVERITY_MEANING}` })),
    couldNotEvaluate: Type.Optional(
      Type.Boolean({ description: 'True when the check failed because its data could not be read.' }),
    ),
    unevaluatedRuns: Type.Optional(
      Type.Integer({
        description: 'Number of runs in a row that could not evaluate the check; absent if the latest could.',
      }),
    ),
    lastEvaluated: Type.Optional(LastEvaluated),
    since: Type.Optional(
      Type.String({ format: 'date-time', description: 'Time since which the check has this status.' }),
    ),
    message: Type.String({ maxLength: 1024, description: 'Result in one sentence.' }),
    findingCount: Type.Integer({ description: 'Exact number of findings.' }),
    ...countedApart,
    findings: Type.Optional(
      Type.Array(Finding, {
        maxItems: 200,
        description: 'The first findings, up to spec.maxFindings.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    durationMs: Type.Optional(Type.Integer({ description: 'Duration of the check in milliseconds.' })),
  },
  { description: 'Latest result of one check.' },
);
export type CheckStatus = Static<typeof CheckStatus>;

export const RunningRun = Type.Object(
  {
    id: Type.String({ maxLength: 128, description: 'Id of the run.' }),
    done: Type.Optional(
      Type.Integer({ description: 'Number of completed reads of the cluster; absent before the first one.' }),
    ),
    total: Type.Optional(
      Type.Integer({ description: 'Number of reads known to be needed. It grows as tables are found.' }),
    ),
    checks: Type.Array(
      Type.Object({
        name: Type.String({ maxLength: 128, description: 'Name of the check.' }),
        status: StringEnum(['PASS', 'FAIL'], { description: 'PASS or FAIL.' }),
      }),
      {
        maxItems: MAX_CHECKS,
        description: 'Completed checks, in order of completion.',
        'x-kubernetes-list-type': 'atomic',
      },
    ),
    checksTotal: Type.Integer({ description: 'Total number of checks in the run.' }),
  },
  { description: 'The run in progress; absent when there is none.' },
);
export type RunningRun = Static<typeof RunningRun>;

export const FailBySeverity = Type.Object(
  {
    critical: Type.Integer({ description: 'Number of failed checks with the severity critical.' }),
    warning: Type.Integer({ description: 'Number of failed checks with the severity warning.' }),
    advice: Type.Integer({ description: 'Number of failed checks with the severity advice.' }),
  },
  { description: 'Number of failed checks by severity, without those whose faults are all muted.' },
);
export type FailBySeverity = Static<typeof FailBySeverity>;

/** Limit of transitions in the history of a report. */
export const MAX_TRANSITIONS = 100;

export const CHECK_STATES = ['PASS', 'FAIL', 'NOT_EVALUATED'] as const;

export const Transition = Type.Object(
  {
    check: Type.String({ maxLength: 128, description: 'Name of the check.' }),
    from: StringEnum([...CHECK_STATES], {
      description: 'State before: PASS, FAIL or NOT_EVALUATED. PASS before the first run.',
    }),
    to: StringEnum([...CHECK_STATES], { description: 'State after: PASS, FAIL or NOT_EVALUATED.' }),
    time: Type.String({ format: 'date-time', description: 'Start of the run that found the new state.' }),
    run: Type.Optional(Type.String({ maxLength: 128, description: 'Id of the run.' })),
    findingCount: Type.Integer({ description: 'Number of findings after.' }),
  },
  { description: 'Change of the state of a check between two runs.' },
);
export type Transition = Static<typeof Transition>;

export const LastComplete = Type.Object(
  {
    time: Type.String({ format: 'date-time', description: 'Start of the run.' }),
    pass: Type.Integer({ description: 'Number of passed checks.' }),
    fail: Type.Integer({ description: 'Number of failed checks.' }),
    failMuted: Type.Optional(Type.Integer({ description: 'Number of failed checks whose faults are all muted.' })),
    failBySeverity: Type.Optional(FailBySeverity),
    checks: Type.Array(
      Type.Object({
        name: Type.String({ maxLength: 128, description: 'Name of the check.' }),
        status: StringEnum(['PASS', 'FAIL'], { description: 'PASS or FAIL.' }),
        severity: Type.Optional(StringEnum([...SEVERITIES], { description: 'Severity of a FAIL.' })),
        findingCount: Type.Integer({ description: 'Number of findings.' }),
        mutedCount: Type.Optional(Type.Integer({ description: 'Number of muted findings.' })),
      }),
      {
        maxItems: MAX_CHECKS,
        description: 'Results of its checks, in catalogue order.',
        'x-kubernetes-list-type': 'atomic',
      },
    ),
  },
  {
    description:
      'The last report that could be evaluated, while the latest one could not be. A report counts as evaluated if no check lacks a result that an earlier run had.',
  },
);
export type LastComplete = Static<typeof LastComplete>;

export const ClusterHealthReportStatus = Type.Object(
  {
    ...commonStatus,
    lastRunTime: Type.Optional(Type.String({ format: 'date-time', description: 'Start of the last run.' })),
    lastRecheckTime: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Start of the last repetition of failed critical checks since that run.',
      }),
    ),
    durationMs: Type.Optional(Type.Integer({ description: 'Duration of the last run in milliseconds.' })),
    pass: Type.Optional(Type.Integer({ description: 'Number of passed checks.' })),
    fail: Type.Optional(Type.Integer({ description: 'Number of failed checks.' })),
    failMuted: Type.Optional(Type.Integer({ description: 'Number of failed checks whose faults are all muted.' })),
    failBySeverity: Type.Optional(FailBySeverity),
    observedRunAt: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'Last processed value of the annotation olapwarden.io/run-at.',
      }),
    ),
    running: Type.Optional(RunningRun),
    checks: Type.Optional(
      Type.Array(CheckStatus, {
        maxItems: MAX_CHECKS,
        description: 'Results of all checks, in catalogue order.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      }),
    ),
    findingIndex: Type.Optional(
      Type.String({
        maxLength: 131_072,
        description:
          'All findings and the names of all tables and instances, base64 of gzip of JSON: the data of GET /clusterHealth?table= and ?instance=.',
      }),
    ),
    mutes: Type.Optional(
      Type.Array(MuteCount, {
        maxItems: MAX_MUTES,
        description: 'The mutes of the spec that are in effect.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['id'],
      }),
    ),
    lastComplete: Type.Optional(LastComplete),
    history: Type.Optional(
      Type.Array(Transition, {
        maxItems: MAX_TRANSITIONS,
        description: 'The last changes of the state of a check, newest first.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
  },
  { description: 'The latest report. Each run replaces it, except for the history.' },
);
export type ClusterHealthReportStatus = Static<typeof ClusterHealthReportStatus>;

export const clusterHealthReportKind = {
  kind: 'ClusterHealthReport',
  plural: 'clusterhealthreports',
  singular: 'clusterhealthreport',
  shortNames: ['chr'],
  description:
    'A ClusterHealthReport configures when the health checks run and with which thresholds, and contains their latest results. The REST interface uses the one named `cluster`.',
  spec: ClusterHealthReportSpec,
  status: ClusterHealthReportStatus,
  rules: [
    {
      cel: '!(has(self.interval) && has(self.schedule))',
      message: 'spec.interval and spec.schedule are mutually exclusive: set only one',
      holds: (spec) => !(spec.interval !== undefined && spec.schedule !== undefined),
    },
    {
      // duration() of CEL has no days and weeks; any number of them except 0 is enough.
      cel: "!has(self.interval) || self.interval.matches('[1-9][0-9]*[dw]') || (!self.interval.matches('[dw]') && duration(self.interval) >= duration('1m'))",
      message: 'spec.interval must be at least 1m',
      holds: ({ interval }) =>
        interval === undefined ||
        /[1-9][0-9]*[dw]/.test(interval) ||
        (!/[dw]/.test(interval) && (parseDuration(interval) ?? 0) >= 60_000),
    },
    {
      cel: `!has(self.mutes) || self.mutes.all(mute, !mute.entity.matches('${EVERY_ENTITY}') || (has(mute.check) && !'${CHECK_END}'.matches('^' + mute.check.replace('*', '.*') + '$')))`,
      message:
        'spec.mutes: a mute must name a check or an entity: every check of every entity would also mute faults of the future',
      holds: ({ mutes = [] }) =>
        mutes.every(({ check = '*', entity }) => !isEveryEntity(entity) || !isEveryCheck(check)),
    },
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
