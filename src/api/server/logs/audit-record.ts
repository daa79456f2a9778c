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

/** The position of a record in its file. */
const link = {
  writer: Type.String({ description: 'The process that wrote the record, a random name for each start.' }),
  sequence: Type.Integer({ minimum: 1, description: 'Number of the record among those of this writer in this file.' }),
  previous: Type.String({
    description:
      'SHA-256 (hex) of the line before of the same writer, without its line break; of a `start`, of the last line that was in the file, and 64 zeros where there was none.',
  }),
};
const optionalLink = Type.Partial(Type.Object(link)).properties;

/** The first record of a process in a file. */
const AuditStart = Type.Object(
  {
    version: Type.Literal(1),
    type: Type.Literal('start', { description: 'A process begins to write into this file.' }),
    time: Type.String({ format: 'date-time' }),
    incomplete: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'Bytes of an incomplete line at the end of the file: the process before ended while it wrote a record. `previous` is the hash of this line.',
      }),
    ),
    ...link,
  },
  { additionalProperties: false },
);
export type AuditStart = Static<typeof AuditStart>;

/** One record of the audit log. */
const AuditRecord = Type.Object(
  {
    version: Type.Literal(1, { description: 'Version of this schema. Fields may be added within a version.' }),
    type: StringEnum(['write', 'denied', 'login'], {
      description: 'A write with its outcome; a call that was denied; a sign-in, a sign-out or a failed login.',
    }),
    time: Type.String({ format: 'date-time', description: 'Time of the outcome.' }),
    requestId: Type.String({ description: 'The `X-Request-Id` of the response.' }),
    principal: Type.Optional(Type.String({ description: 'SRN of the caller; absent of a failed login.' })),
    authenticator: Type.Optional(
      Type.String({ description: 'The authenticator that accepted the credential; absent of a failed login.' }),
    ),
    groups: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 20,
        description: 'The first groups of the caller, cut at 128 characters.',
      }),
    ),
    groupCount: Type.Optional(Type.Integer({ description: 'Number of the groups, if not all are listed.' })),
    clientAddress: Type.String({ description: 'From `X-Forwarded-For` where the proxy is trusted.' }),
    method: Type.String(),
    route: Type.String({ description: 'Pattern of the path.' }),
    action: Type.String({
      description:
        'The action that was required, such as `AttachPolicy`; of a login `SignIn` or `SignOut` at the dashboard, or `Authenticate` for a failed login.',
    }),
    resource: Type.Optional(
      Type.String({ description: 'SRN of the resource that the action was required on; absent of a login.' }),
    ),
    outcome: StringEnum(['succeeded', 'denied', 'rejected', 'failed', 'unknown'], {
      description:
        'denied: no right; rejected: an invalid request or a conflict (status 4xx); failed: status 5xx, parts of it may have been written, see `changes`; unknown: the client disconnected before the response.',
    }),
    status: Type.Integer({ description: 'HTTP status of the response; 499 if the client disconnected before it.' }),
    decision: Type.Optional(
      StringEnum(['allowed', 'systemAdmin', 'conditional', 'explicitDeny', 'implicitDeny', 'invalidPolicy', 'owner'], {
        description:
          'conditional: denied, because only a part of the table may be read; systemAdmin: allowed by the role `system-admin`, although a deny or an invalid policy applies; owner: the caller needs no right for the write, because it owns what is changed, such as its stored result. Absent of a login.',
      }),
    ),
    statements: Type.Optional(
      Type.Array(Statement, { maxItems: 10, description: 'The first statements that determined the decision.' }),
    ),
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
        description: 'Of a refused call: number of equal calls (caller, action, resource, message) in this record.',
      }),
    ),
    since: Type.Optional(
      Type.String({ format: 'date-time', description: 'Of a refused call: time of the first of them.' }),
    ),
    leftOut: Type.Optional(
      Type.Literal(true, {
        description:
          'True if the record stands for all further records of the caller that were left out, because they would exceed its share of the file. `count` is their number; the other fields are those of the first.',
      }),
    ),
    ...optionalLink,
  },
  { additionalProperties: false },
);
export type AuditRecord = Static<typeof AuditRecord>;

/** One line of an audit file. `docs/audit-record.schema.json` is generated from it. */
export const AuditLine = Type.Union([AuditRecord, AuditStart], { title: 'olap-warden audit record' });
