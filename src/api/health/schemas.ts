import { Type, type Static } from 'typebox';
import { Finding, RunningRun } from '../../resources/cluster-health-report.ts';
import { StringEnum } from '../../resources/schema.ts';

const Category = StringEnum(['segments', 'tables', 'servers', 'skew', 'upsert', 'placement', 'queries'], {
  description: 'What the check is about.',
});
const Status = StringEnum(['PASS', 'FAIL']);

export const HealthCheckEntry = Type.Object(
  {
    name: Type.String({ description: 'Name of the check.' }),
    title: Type.String({ description: 'A few words that say what the check is about.' }),
    category: Category,
    status: Status,
    couldNotEvaluate: Type.Optional(
      Type.Boolean({ description: 'True where the check is a FAIL because what it needs could not be read.' }),
    ),
    since: Type.Optional(Type.String({ format: 'date-time', description: 'Since when the check has this status.' })),
    message: Type.String({ description: 'The outcome in one sentence.' }),
    findings: Type.Array(Finding, { description: 'The first findings.' }),
    findingCount: Type.Integer({ description: 'How many findings there were, exact.' }),
    remediation: Type.String({ description: 'What to do about a FAIL.' }),
    durationMs: Type.Integer({ description: 'Time that the check took, milliseconds.' }),
  },
  { $id: 'HealthCheckEntry' },
);
export type HealthCheckEntry = Static<typeof HealthCheckEntry>;

const { id: taskId, done, total, checks, checksTotal } = RunningRun.properties;
const Running = Type.Object(
  {
    taskId,
    step: Type.String({ description: 'What the run is at, in words.' }),
    done,
    total,
    checks: Type.Array(checks.items, { description: 'Checks that the run has decided so far, in that order.' }),
    checksTotal,
  },
  { description: 'The run that is under way.' },
);

export const ClusterHealth = Type.Object(
  {
    runTimestamp: Type.Union([Type.Integer(), Type.Null()], {
      description: 'When the latest run began, epoch milliseconds; null before the first run.',
    }),
    durationMs: Type.Union([Type.Integer(), Type.Null()], { description: 'How long it took, milliseconds.' }),
    status: Type.Union([Status, Type.Null()], {
      description: 'PASS where every check passed; null before the first run.',
    }),
    summary: Type.Object({ pass: Type.Integer(), fail: Type.Integer() }),
    checks: Type.Array(HealthCheckEntry),
    healthCheckResult: Type.Record(
      Type.String(),
      Type.Record(Type.String(), Type.Record(Type.String(), Type.Object({ pass: Type.Boolean() }))),
      { description: 'By entity type, entity and check name: whether it passed.' },
    ),
    running: Type.Union([Running, Type.Null()], { description: 'The run that is under way; null where none is.' }),
  },
  { $id: 'ClusterHealth' },
);
export type ClusterHealth = Static<typeof ClusterHealth>;

export const HealthCheckType = Type.Object(
  {
    name: Type.String(),
    title: Type.String(),
    description: Type.String({ description: 'The condition under which the check fails.' }),
    category: Category,
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

export const HealthQuery = Type.Object({
  check: Type.Optional(Type.String({ description: 'Only the check of this name.' })),
  status: Type.Optional(StringEnum(['PASS', 'FAIL'], { description: 'Only checks with this status.' })),
  table: Type.Optional(Type.String({ description: 'Only findings on this table, with or without its type suffix.' })),
  instance: Type.Optional(Type.String({ description: 'Only findings on this instance.' })),
});
export type HealthQuery = Static<typeof HealthQuery>;

export const StateQuery = Type.Object({
  state: StringEnum(['ENABLE', 'DISABLE'], { description: 'ENABLE or DISABLE the periodic runs.' }),
});

export const RunQuery = Type.Object({
  taskName: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Name of the task.' })),
  taskname: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: "The engine's own spelling." })),
  tableName: Type.Optional(Type.String({ description: "For the engine's own tasks: the table." })),
  type: Type.Optional(Type.String({ description: "For the engine's own tasks: OFFLINE or REALTIME." })),
  wait: Type.Optional(Type.Boolean({ description: 'True answers when the run is over.' })),
});
export type RunQuery = Static<typeof RunQuery>;
