import { Type, type Static } from 'typebox';
import { NAME_MAX_LENGTH } from '../../resources/meta.ts';
import { SUBJECT_TYPES } from '../../resources/role-assignment.ts';
import { StringEnum } from '../../resources/schema.ts';

const closed = { additionalProperties: false } as const;
const MAX_DESCRIPTION = 4096;
const MAX_SRN = 1024;
/** Characters; equals the default body limit in bytes. */
const MAX_DOCUMENT = 1024 * 1024;
/** Maximum requests in one simulation. */
const MAX_REQUESTS = 1000;

const Description = Type.String({ maxLength: MAX_DESCRIPTION, description: 'Free text.' });
const Time = (description: string) =>
  Type.String({ format: 'date-time', description: `${description}, ISO 8601 with offset.` });
/** Longer than a valid name, so that the error for an invalid name can suggest a valid one. */
const Name = Type.String({
  minLength: 1,
  maxLength: 4 * NAME_MAX_LENGTH,
  description: 'Lower-case letters, digits, `-` and `.` (an RFC 1123 subdomain); it cannot be changed later.',
});
const Srn = (kind: string) => Type.String({ description: `Resource name, \`srn2:${kind}#<name>\`.` });

// No `$id`: the serializer accepts a name only once per response schema, and this schema is used several times.
const Reference = Type.Object({ name: Type.String(), srn: Type.String() });

const described = (kind: string) => ({
  srn: Srn(kind),
  name: Type.String({ description: 'Unique; it cannot be changed later.' }),
  description: Type.String({ description: 'Free text; empty where there is none.' }),
});

const history = {
  createdAt: Time('Time of creation'),
  lastUpdatedAt: Time('Time of the last change'),
  createdBy: Type.String({
    description:
      'Creator: an SRN, the Kubernetes user name for kubectl, `platform-rbac-manager` for predefined resources, or `unknown`.',
  }),
  lastUpdatedBy: Type.String({ description: 'Author of the last change, in the form of createdBy.' }),
  managedBy: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Other tools that manage it through the Kubernetes API, such as `kubectl`. They may revert changes made here.',
    }),
  ),
};

const lastUse = {
  lastUsedAt: Type.Optional(
    Type.Union([Type.String({ format: 'date' }), Type.Null()], {
      description:
        'In GET: day (UTC) on which it last allowed or denied something; null if no use is recorded. `trackedSince` of `GET /access-review` is the first day of the record. It is not a part of the `ETag`.',
    }),
  ),
};
export const Role = Type.Object({ ...described('role'), ...history, ...lastUse }, { $id: 'Role' });
export const CreateRoleRequest = Type.Object(
  { name: Name, description: Type.Optional(Description) },
  { ...closed, $id: 'CreateRoleRequest' },
);

/** So that the body of a GET can be sent back: fields that a change cannot have. */
const readOnlyText = Type.Optional(
  Type.String({ maxLength: MAX_SRN, description: 'Read-only: accepted and ignored.' }),
);
const readOnlyList = Type.Optional(
  Type.Array(Type.String({ maxLength: MAX_SRN }), {
    maxItems: 1000,
    description: 'Read-only: accepted and ignored.',
  }),
);
const readOnlyOrNull = Type.Optional(Type.Union([Type.String({ maxLength: MAX_SRN }), Type.Null()]));
const readOnly = (kind: string) => ({
  srn: Type.Optional(Type.String({ maxLength: MAX_SRN, description: `Must be that of the ${kind}.` })),
  createdAt: readOnlyText,
  lastUpdatedAt: readOnlyText,
  createdBy: readOnlyText,
  lastUpdatedBy: readOnlyText,
  managedBy: readOnlyList,
  lastUsedAt: readOnlyOrNull,
  warnings: Type.Optional(Type.Array(Type.String({ maxLength: 4096 }), { maxItems: 100 })),
});
export const UpdateRoleRequest = Type.Object(
  { description: Type.Optional(Description), name: Type.Optional(Name), ...readOnly('role') },
  { ...closed, $id: 'UpdateRoleRequest' },
);

export const AttachPolicyRequest = Type.Object(
  { policySrn: Type.String({ minLength: 1, maxLength: MAX_SRN, description: '`srn2:policy#<name>`; one per call.' }) },
  { ...closed, $id: 'AttachPolicyRequest' },
);
export type AttachPolicyRequest = Partial<Static<typeof AttachPolicyRequest>>;

export const AssignmentRequest = Type.Object(
  {
    subject: Type.String({
      minLength: 1,
      maxLength: 512,
      pattern: '^\\S(.*\\S)?$',
      description: 'The e-mail address, group, e-mail domain, or the access key of a service token.',
    }),
    subjectType: StringEnum(['user-email', 'email', 'group', 'domain', 'service-token'], {
      description: '`email` is another spelling of `user-email`.',
    }),
  },
  { ...closed, $id: 'AssignmentRequest' },
);
export type AssignmentRequest = Partial<Static<typeof AssignmentRequest>>;
const Nullable = (schema: ReturnType<typeof Time>) => Type.Union([schema, Type.Null()]);
export const CreateAssignmentRequest = Type.Object(
  {
    ...AssignmentRequest.properties,
    expiresAt: Type.Optional(
      Nullable(
        Time(
          'Expiry time of the assignment, in the future; none if absent or null. It replaces the expiry of an existing assignment',
        ),
      ),
    ),
  },
  { ...closed, $id: 'CreateAssignmentRequest' },
);
export const Assignment = Type.Object(
  {
    subject: Type.String(),
    subjectType: StringEnum(SUBJECT_TYPES),
    createdAt: Type.Optional(Time('Time of the assignment; absent if there was none to delete')),
    createdBy: Type.Optional(Type.String({ description: 'Creator, as of a role.' })),
    expiresAt: Type.Optional(Nullable(Time('Expiry time of the assignment; null if it does not expire'))),
    status: Type.Optional(
      StringEnum(['ACTIVE', 'EXPIRED'], { description: 'EXPIRED: the subject no longer has the role.' }),
    ),
    ...lastUse,
    managedBy: history.managedBy,
  },
  { $id: 'Assignment' },
);
export const ReplaceAssignmentsRequest = Type.Array(
  Type.Object(
    {
      ...CreateAssignmentRequest.properties,
      expiresAt: Type.Optional(
        Nullable(
          Time('Expiry time of the assignment; none if absent or null. One that has passed must be the present one'),
        ),
      ),
      createdAt: readOnlyText,
      createdBy: readOnlyText,
      status: readOnlyText,
      managedBy: readOnlyList,
      lastUsedAt: readOnlyOrNull,
    },
    closed,
  ),
  { maxItems: 1000, description: 'All subjects that are to have the role, as GET returns them.' },
);
export const AssignmentOfRole = Type.Object(
  { role: Type.String({ description: 'Name of the role.' }), ...Assignment.properties },
  { $id: 'AssignmentOfRole' },
);

export const PolicyDocument = Type.Object(
  {
    version: StringEnum(['v1']),
    statements: Type.Array(
      Type.Object(
        {
          description: Type.Optional(Type.String()),
          effect: StringEnum(['allow', 'deny']),
          actions: Type.Optional(Type.Array(Type.String(), { description: 'All actions if absent.' })),
          resources: Type.Array(Type.String()),
        },
        { $id: 'Statement' },
      ),
    ),
  },
  { $id: 'PolicyDocument' },
);
export const PolicySummary = Type.Object(described('policy'), { $id: 'PolicySummary' });
export const Policy = Type.Object(
  {
    ...described('policy'),
    ...history,
    policyDocumentJson: Type.String({ description: 'The policy document as JSON in a string.' }),
    policyDocument: PolicyDocument,
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'In answers to writes: names of tables, roles, policies and service tokens in the document that do not exist, with the nearest name; absent where all exist.',
      }),
    ),
  },
  { $id: 'Policy' },
);

const document = {
  policyDocumentJson: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_DOCUMENT,
      description:
        'The policy document as JSON in a string: `{"version":"v1","statements":[{"effect":"allow","actions":["Query"],"resources":["srn2:table#events"]}]}`.',
    }),
  ),
  policyDocument: Type.Optional(
    Type.Object(
      {},
      {
        additionalProperties: true,
        $id: 'PolicyDocumentInput',
        description: 'The document itself, instead of policyDocumentJson.',
      },
    ),
  ),
};
export const CreatePolicyRequest = Type.Object(
  { name: Name, description: Type.Optional(Description), ...document },
  { ...closed, $id: 'CreatePolicyRequest' },
);
export const UpdatePolicyRequest = Type.Object(
  { name: Type.Optional(Name), description: Type.Optional(Description), ...document, ...readOnly('policy') },
  {
    ...closed,
    $id: 'UpdatePolicyRequest',
    description:
      'Absent fields stay unchanged. With both `policyDocumentJson` and `policyDocument`, as GET returns them, the one that was changed counts.',
  },
);

const tokenFields = {
  srn: Srn('service-token'),
  description: Type.String(),
  createdAt: history.createdAt,
  createdBy: history.createdBy,
  expiresAt: Nullable(Time('Expiry time; null if it never expires')),
};
export const CreateServiceTokenRequest = Type.Object(
  {
    description: Type.Optional(Description),
    expiresAt: Type.Optional(Nullable(Time('Expiry time; never if absent'))),
  },
  { ...closed, $id: 'CreateServiceTokenRequest' },
);
export const IssuedServiceToken = Type.Object(
  {
    ...tokenFields,
    accessKey: Type.String({ description: 'Public part: 16 letters and digits.' }),
    secretKey: Type.String({ description: 'Secret part. Returned only in this response and not stored.' }),
    bearerToken: Type.String({ description: '`svc-<accessKey>-<secretKey>`, for `Authorization: Bearer`.' }),
  },
  { $id: 'IssuedServiceToken' },
);
export const ServiceToken = Type.Object(
  {
    ...tokenFields,
    accessKey: Type.Optional(Type.String({ description: 'Absent until the operator has generated the token.' })),
    roles: Type.Array(Reference),
    status: StringEnum(['UNASSIGNED', 'ACTIVE', 'EXPIRED'], {
      description: 'UNASSIGNED: the token has no role and is rejected.',
    }),
    ...lastUse,
    managedBy: history.managedBy,
  },
  { $id: 'ServiceToken' },
);

const SubjectIds = Type.Union([
  Type.String({ minLength: 1, maxLength: 512 }),
  Type.Array(Type.String({ minLength: 1, maxLength: 512 }), { maxItems: 256 }),
]);
const question = {
  resourceSrn2String: Type.String({ minLength: 1, maxLength: MAX_SRN, description: 'Such as `srn2:table#events`.' }),
  action: Type.String({ minLength: 1, maxLength: 128, description: 'Such as `Query`.' }),
};
export const SimulateAccessRequest = Type.Object(
  {
    policyDocumentJson: document.policyDocumentJson,
    policyDocument: document.policyDocument,
    subjectTypeToSubject: Type.Object(
      {
        'user-email': Type.Optional(SubjectIds),
        email: Type.Optional(SubjectIds),
        group: Type.Optional(SubjectIds),
        domain: Type.Optional(SubjectIds),
        'service-token': Type.Optional(SubjectIds),
      },
      { ...closed, description: 'The subjects of the caller; their roles are combined.' },
    ),
    resourceSrn2String: Type.Optional(question.resourceSrn2String),
    action: Type.Optional(question.action),
    requests: Type.Optional(
      Type.Array(Type.Object(question, closed), {
        minItems: 1,
        maxItems: MAX_REQUESTS,
        description: 'Several requests in one call.',
      }),
    ),
  },
  { ...closed, $id: 'SimulateAccessRequest' },
);
export type SimulateAccessRequest = Static<typeof SimulateAccessRequest>;

const NullableText = Type.Union([Type.String(), Type.Null()]);
export const MatchedStatement = Type.Object({
  role: Type.Union([Type.String(), Type.Null()], { description: 'Name of the role; null for the unsaved policy.' }),
  policy: Type.Union([Type.String(), Type.Null()], { description: 'Name of the policy; null for the unsaved one.' }),
  roleSrn: NullableText,
  policySrn: NullableText,
  statementIndex: Type.Integer({ description: "Position in the policy's statements, from 0." }),
  effect: StringEnum(['allow', 'deny']),
  description: Type.Optional(Type.String()),
  actions: Type.Optional(Type.Array(Type.String())),
  resources: Type.Optional(Type.Array(Type.String())),
});
export type MatchedStatement = Static<typeof MatchedStatement>;
const answer = {
  decision: StringEnum(['ALLOW', 'DENY']),
  reason: StringEnum(['allowed', 'explicitDeny', 'implicitDeny', 'invalidPolicy']),
  matchedStatements: Type.Array(MatchedStatement, {
    description:
      'The matching denies, or the matching allows if none denied; for invalidPolicy the invalid statements. At most 100 per request, and about 1000 for all requests together. Lists of actions and resources are omitted once they exceed 256 KiB together.',
  }),
};
const Principal = Type.Object({
  subjects: Type.Array(Type.Object({ subject: Type.String(), subjectType: StringEnum(SUBJECT_TYPES) })),
  roles: Type.Array(Reference),
});
export const SimulateAccessResponse = Type.Object(
  {
    principal: Principal,
    decision: Type.Optional(answer.decision),
    reason: Type.Optional(answer.reason),
    matchedStatements: Type.Optional(answer.matchedStatements),
    results: Type.Optional(
      Type.Array(Type.Object({ resourceSrn2String: Type.String(), action: Type.String(), ...answer }), {
        description: 'For `requests`: one result for each, in order.',
      }),
    ),
  },
  { $id: 'SimulateAccessResponse' },
);
export type SimulateAccessResponse = Static<typeof SimulateAccessResponse>;

export const WhoAmI = Type.Object(
  {
    srn: Type.String({ description: 'Resource name of the caller.' }),
    kind: StringEnum(['user', 'service-token']),
    authenticator: Type.String({ description: 'The authenticator that accepted the credential.' }),
    subjects: Type.Array(Type.Object({ subject: Type.String(), subjectType: StringEnum(SUBJECT_TYPES) })),
    roles: Type.Array(Reference),
    policies: Type.Array(Reference),
  },
  { $id: 'WhoAmI' },
);

export const ListQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10_000, description: 'Maximum number of entries; all if absent.' }),
  ),
  continue: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2048,
      description: 'From the `Link` header (`rel="next"`) of the previous response.',
    }),
  ),
});
export type ListQuery = Static<typeof ListQuery>;

const param = (name: string, kind: string) =>
  Type.Object({
    [name]: Type.String({
      minLength: 1,
      maxLength: 2048,
      description: `\`srn2:${kind}#<name>\`, with \`#\` as \`%23\`.`,
    }),
  });
export const RoleParams = param('roleSrn', 'role');
export const PolicyParams = param('policySrn', 'policy');
export const TokenParams = param('tokenSrn', 'service-token');
