import { Type, type Static } from 'typebox';
import { MAX_MUTES, MuteCount } from './health-mute.ts';
import { StringEnum } from './schema.ts';

/** Limit of checks in the spec and the status of a report; the catalogue must not have more. */
export const MAX_CHECKS = 64;

/**
 * Severity of a FAIL, worst first. `critical`: data cannot be read, or is being lost, now. `warning`: it may become unavailable or slow; lost
 * replicas are a warning for a time. `advice`: a recommendation about configuration or design.
 */
export const SEVERITIES = ['critical', 'warning', 'advice'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** What each severity means, for descriptions of fields. */
export const SEVERITY_MEANING =
  'critical: data cannot be read, or is being lost, now; warning: it may become unavailable or slow; advice: a recommendation about configuration or design.';

/** `specification`: a check of the specification. `extension`: a check beyond it. */
export const CHECK_ORIGINS = ['specification', 'extension'] as const;
export type CheckOrigin = (typeof CHECK_ORIGINS)[number];

/** What each origin means, for descriptions of fields. */
export const ORIGIN_MEANING =
  'specification: one of the checks of the specification; extension: a check beyond it, which spec.extensionChecks switches.';

/** Characters of the id of a cause: the type of its entity, and its name. */
export const MAX_CAUSE_ID = 545;

export const Finding = Type.Object(
  {
    entityType: Type.String({
      maxLength: 32,
      description: 'table, schema, tenant, server, broker, controller, minion, task, policy or cluster.',
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
    cause: Type.Optional(
      Type.String({
        maxLength: MAX_CAUSE_ID,
        description: 'Id of the cause behind the finding; absent where none is known.',
      }),
    ),
  },
  { description: 'A problem that a check found.' },
);
export type Finding = Static<typeof Finding>;

/** Entities of a check that its metrics and alerts name. */
export const MAX_NAMED_ENTITIES = 3;

/** How many findings are muted, how many are no faults, and how many have a cause. */
const countedApart = {
  unreadCount: Type.Optional(
    Type.Integer({ description: 'Number of findings that are data that could not be read; absent without any.' }),
  ),
  mutedCount: Type.Optional(Type.Integer({ description: 'Number of muted findings; absent without any.' })),
  causedCount: Type.Optional(
    Type.Integer({
      description:
        'Number of faults that are not muted and have a cause, whose alert replaces that of the check; absent without any.',
    }),
  ),
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
