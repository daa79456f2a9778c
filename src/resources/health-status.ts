import { Type, type Static } from 'typebox';
import { Cause, MAX_CAUSES } from './health-cause.ts';
import { CheckStatus, MAX_CHECKS, SEVERITIES } from './health-finding.ts';
import { MAX_MUTES, MuteCount } from './health-mute.ts';
import { commonStatus } from './meta.ts';
import { StringEnum } from './schema.ts';

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

const CHECK_STATES = ['PASS', 'FAIL', 'NOT_EVALUATED'] as const;

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
    causes: Type.Optional(
      Type.Array(Cause, {
        maxItems: MAX_CAUSES,
        description: 'What is behind findings, the worst first: an instance, a tenant or a table.',
        'x-kubernetes-list-type': 'atomic',
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
