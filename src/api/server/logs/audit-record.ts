import { Type, type Static } from 'typebox';
import { StringEnum } from '../../../resources/schema.ts';

const Statement = Type.Object({
  role: Type.Optional(Type.String()),
  policy: Type.Optional(Type.String()),
  statementIndex: Type.Integer({ minimum: 0 }),
  effect: StringEnum(['allow', 'deny']),
});

const Difference = Type.Object(
  {
    path: Type.String({ description: 'JSON Pointer into the spec of the resource; empty for the whole spec.' }),
    before: Type.Optional(Type.Unknown({ description: 'Absent if there was no value.' })),
    after: Type.Optional(Type.Unknown({ description: 'Absent if there is no new value.' })),
  },
  { additionalProperties: false },
);

const Change = Type.Object(
  {
    kind: Type.String({ description: 'Kind of the resource, such as `Role`.' }),
    name: Type.String({ description: 'Object name of the resource.' }),
    operation: StringEnum(['create', 'update', 'delete']),
    differences: Type.Array(Difference),
    truncated: Type.Optional(
      Type.Literal(true, { description: 'True if not all differences are listed, or a value is truncated.' }),
    ),
  },
  { additionalProperties: false },
);

/** One record of the audit log. `docs/audit-record.schema.json` is generated from it. */
export const AuditRecord = Type.Object(
  {
    version: Type.Literal(1, { description: 'Version of this schema. Fields may be added within a version.' }),
    type: StringEnum(['write', 'denied'], {
      description: 'A write with its outcome, or a call that was denied.',
    }),
    time: Type.String({ format: 'date-time', description: 'Time of the outcome.' }),
    requestId: Type.String({ description: 'The `X-Request-Id` of the response.' }),
    principal: Type.String({ description: 'SRN of the caller.' }),
    authenticator: Type.String({ description: 'The authenticator that accepted the credential.' }),
    clientAddress: Type.String({ description: 'From `X-Forwarded-For` where the proxy is trusted.' }),
    method: Type.String(),
    route: Type.String({ description: 'Pattern of the path.' }),
    action: Type.String({ description: 'The action that was required, such as `AttachPolicy`.' }),
    resource: Type.String({ description: 'SRN of the resource that the action was required on.' }),
    outcome: StringEnum(['succeeded', 'denied', 'rejected', 'failed', 'unknown'], {
      description:
        'denied: no right; rejected: an invalid request or a conflict (status 4xx); failed: status 5xx, parts of it may have been written, see `changes`; unknown: the client disconnected before the response.',
    }),
    status: Type.Integer({ description: 'HTTP status of the response; 499 if the client disconnected before it.' }),
    decision: StringEnum(
      ['allowed', 'systemAdmin', 'conditional', 'explicitDeny', 'implicitDeny', 'invalidPolicy', 'owner'],
      {
        description:
          'conditional: denied, because only a part of the table may be read; systemAdmin: allowed by the role `system-admin`, although a deny or an invalid policy applies; owner: the caller needs no right for the write, because it owns what is changed, such as its stored result.',
      },
    ),
    statements: Type.Array(Statement, {
      maxItems: 10,
      description: 'The first statements that determined the decision.',
    }),
    path: Type.Optional(
      Type.String({
        description:
          'Path of a write outside of the RBAC manager, as it was forwarded to the engine, without the query string.',
      }),
    ),
    parameters: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          'Parameters that select the change, such as `type` and `state`. Other parameters and the body are omitted, because they can contain credentials.',
      }),
    ),
    also: Type.Optional(
      Type.Array(Type.Object({ action: Type.String(), resource: Type.String() }, { additionalProperties: false }), {
        maxItems: 20,
        description: 'Other actions that the write required, all allowed.',
      }),
    ),
    alsoCount: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Number of these actions, also if not all are listed.' }),
    ),
    message: Type.Optional(Type.String({ description: 'Error message of the response.' })),
    role: Type.Optional(Type.String({ description: 'Name of the role that the write is about.' })),
    policy: Type.Optional(Type.String({ description: 'Name of the policy that the write is about.' })),
    serviceToken: Type.Optional(Type.String({ description: 'Name of the service token that the write is about.' })),
    subject: Type.Optional(
      Type.Object({ type: Type.String(), name: Type.String() }, { description: 'Subject of an assignment.' }),
    ),
    asked: Type.Optional(Type.Unknown({ description: 'Body of the request; a truncated string if it is long.' })),
    changes: Type.Optional(Type.Array(Change, { description: 'What was written, also by a write that failed later.' })),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Of a denied call: number of equal calls (caller, action, resource) in this record.',
      }),
    ),
    since: Type.Optional(
      Type.String({ format: 'date-time', description: 'Of a denied call: time of the first of them.' }),
    ),
    leftOut: Type.Optional(
      Type.Literal(true, {
        description:
          'True if the record stands for all further denied calls of the caller, with any action and resource: the caller exceeded the number of different denied calls that have records. `count` is their number; the other fields are those of the first.',
      }),
    ),
  },
  { additionalProperties: false, title: 'olap-warden audit record' },
);
export type AuditRecord = Static<typeof AuditRecord>;
