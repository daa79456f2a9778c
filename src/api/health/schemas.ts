import { Type, type Static } from 'typebox';
import {
  CHECK_ORIGINS,
  CheckStatus,
  Finding,
  ORIGIN_MEANING,
  SEVERITIES,
  SEVERITY_MEANING,
} from '../../resources/health-finding.ts';
import { Cause } from '../../resources/health-cause.ts';
import { Mute } from '../../resources/health-mute.ts';
import { FailBySeverity, LastComplete, RunningRun, Transition } from '../../resources/health-status.ts';
import { StringEnum } from '../../resources/schema.ts';

const Category = StringEnum(
  ['segments', 'tables', 'servers', 'skew', 'upsert', 'placement', 'queries', 'ingestion', 'tasks'],
  { description: 'Subject of the check.' },
);
const Origin = StringEnum([...CHECK_ORIGINS], { description: ORIGIN_MEANING });
const Severity = StringEnum([...SEVERITIES], {
  description: `Severity of a FAIL. ${SEVERITY_MEANING}`,
});
const Status = StringEnum(['PASS', 'FAIL']);

export const HealthCheckEntry = Type.Object(
  {
    name: Type.String({ description: 'Name of the check.' }),
    title: Type.String({ description: 'Short title of the check.' }),
    origin: Origin,
    category: Category,
    status: Status,
    severity: Severity,
    couldNotEvaluate: Type.Optional(
      Type.Boolean({ description: 'True when the check failed because its data could not be read.' }),
    ),
    unevaluatedRuns: CheckStatus.properties.unevaluatedRuns,
    lastEvaluated: CheckStatus.properties.lastEvaluated,
    since: Type.Optional(
      Type.String({ format: 'date-time', description: 'Time since which the check has this status.' }),
    ),
    message: Type.String({ description: 'Result in one sentence.' }),
    findings: Type.Array(Finding, { description: 'The first findings.' }),
    findingCount: Type.Integer({ description: 'Exact number of findings.' }),
    unreadCount: CheckStatus.properties.unreadCount,
    mutedCount: CheckStatus.properties.mutedCount,
    causedCount: CheckStatus.properties.causedCount,
    mutes: CheckStatus.properties.mutes,
    muted: Type.Optional(Type.Boolean({ description: 'True when the check fails only with muted faults.' })),
    remediation: Type.String({ description: 'How to fix a FAIL.' }),
    durationMs: Type.Integer({ description: 'Duration of the check in milliseconds.' }),
  },
  { $id: 'HealthCheckEntry' },
);
export type HealthCheckEntry = Static<typeof HealthCheckEntry>;

const { id: taskId, done, total, checks, checksTotal } = RunningRun.properties;
const Running = Type.Object(
  {
    taskId,
    step: Type.String({ description: 'Current step of the run, as text.' }),
    done,
    total,
    checks: Type.Array(checks.items, { description: 'Completed checks, in order of completion.' }),
    checksTotal,
  },
  { description: 'The run in progress.' },
);

const { time: _, ...completeFields } = LastComplete.properties;
const LastCompleteReport = Type.Object({
  runTimestamp: Type.Integer({ description: 'Start of its run, epoch milliseconds.' }),
  ageMs: Type.Integer({ description: 'Time since the start of its run in milliseconds.' }),
  ...completeFields,
});

export const ClusterHealth = Type.Object(
  {
    runTimestamp: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Start of the latest run, epoch milliseconds; null before the first run.',
    }),
    durationMs: Type.Union([Type.Integer(), Type.Null()], { description: 'Duration in milliseconds.' }),
    status: Type.Union([Status, Type.Null()], {
      description: 'PASS when every check passed; null before the first run.',
    }),
    summary: Type.Object({
      pass: Type.Integer(),
      fail: Type.Integer(),
      failMuted: Type.Integer({ description: 'Number of failed checks whose faults are all muted; part of `fail`.' }),
      failBySeverity: FailBySeverity,
    }),
    causes: Type.Array(Cause, {
      description: 'What is behind findings, the worst first; with a filter, what is behind the selected findings.',
    }),
    checks: Type.Array(HealthCheckEntry),
    healthCheckResult: Type.Record(
      Type.String(),
      Type.Record(Type.String(), Type.Record(Type.String(), Type.Object({ pass: Type.Boolean() }))),
      {
        description: 'By entity type, entity and check name: whether it passed. Only the checks of the specification.',
      },
    ),
    running: Type.Union([Running, Type.Null()], { description: 'The run in progress; null when there is none.' }),
    lastComplete: Type.Union([LastCompleteReport, Type.Null()], {
      description:
        'The last report that could be evaluated, while the latest one could not be; null when the latest one could be, or none.',
    }),
  },
  { $id: 'ClusterHealth' },
);
export type ClusterHealth = Static<typeof ClusterHealth>;

export const HealthCheckType = Type.Object(
  {
    name: Type.String(),
    title: Type.String(),
    description: Type.String({ description: 'The condition under which the check fails.' }),
    origin: Origin,
    category: Category,
    severity: Severity,
    defaultThresholds: Type.Record(Type.String(), Type.Number()),
  },
  { $id: 'HealthCheckType' },
);

export const TaskRun = Type.Object(
  {
    taskId: Type.String({ description: 'Id of the run.' }),
    isSuccessful: Type.Boolean(),
    message: Type.String(),
  },
  { $id: 'TaskRun' },
);
export type TaskRun = Static<typeof TaskRun>;

/** Characters of the name of a table or an instance. */
const MAX_NAME = 1024;

export const HealthQuery = Type.Object({
  check: Type.Optional(Type.String({ maxLength: 128, description: 'Only the check with this name.' })),
  status: Type.Optional(StringEnum(['PASS', 'FAIL'], { description: 'Only checks with this status.' })),
  severity: Type.Optional(StringEnum([...SEVERITIES], { description: 'Only checks of this severity or a worse one.' })),
  table: Type.Optional(
    Type.String({ maxLength: MAX_NAME, description: 'Only findings on this table, with or without its type suffix.' }),
  ),
  instance: Type.Optional(Type.String({ maxLength: MAX_NAME, description: 'Only findings on this instance.' })),
});
export type HealthQuery = Static<typeof HealthQuery>;

export const StateQuery = Type.Object({
  state: StringEnum(['ENABLE', 'DISABLE'], { description: 'ENABLE or DISABLE the periodic runs.' }),
});

export const RunQuery = Type.Object({
  taskName: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Name of the task.' })),
  taskname: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, description: "The engine's spelling of taskName." }),
  ),
  tableName: Type.Optional(Type.String({ maxLength: MAX_NAME, description: "For the engine's own tasks: the table." })),
  type: Type.Optional(Type.String({ maxLength: 32, description: "For the engine's own tasks: OFFLINE or REALTIME." })),
  wait: Type.Optional(Type.Boolean({ description: 'True: responds when the run has finished.' })),
});
export type RunQuery = Static<typeof RunQuery>;

const { id: muteId, check: muteCheck, entity: muteEntity, reason, author, until } = Mute.properties;

/** The body that creates a mute. The gateway sets its id and its author. */
export const MuteRequest = Type.Object(
  {
    check: muteCheck,
    entity: muteEntity,
    reason,
    until: Type.String({
      maxLength: 64,
      format: 'date-time',
      description: 'End of the mute, RFC 3339, in the future and at most 90 days ahead.',
    }),
  },
  { $id: 'HealthMuteRequest', additionalProperties: false },
);
export type MuteRequest = Static<typeof MuteRequest>;

export const HealthMute = Type.Object(
  {
    id: muteId,
    check: Type.String({ description: 'Name of the check; `*` matches any characters.' }),
    entity: muteEntity,
    reason,
    author,
    until,
    active: Type.Boolean({ description: 'False when the mute has expired, or ends more than 90 days ahead.' }),
    findingCount: Type.Integer({ description: 'Number of findings of the latest report to which it applies.' }),
  },
  { $id: 'HealthMute' },
);
export type HealthMute = Static<typeof HealthMute>;

export const HealthTransition = Type.Object(Transition.properties, {
  $id: 'HealthTransition',
  description: 'Change of the state of a check between two runs.',
});
