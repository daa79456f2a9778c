import { Type, type Static } from 'typebox';
import { SUBJECT_TYPES } from '../../../resources/role-assignment.ts';
import { StringEnum } from '../../../resources/schema.ts';
import { document, StatementConditions, UnitedConditions } from './policies.ts';
import { closed, Reference, MAX_SRN } from './shared.ts';

/** Maximum requests in one simulation. */
const MAX_REQUESTS = 1000;

const SubjectIds = Type.Union([
  Type.String({ minLength: 1, maxLength: 512 }),
  Type.Array(Type.String({ minLength: 1, maxLength: 512 }), { maxItems: 256 }),
]);
const claimEntry = [Type.String({ maxLength: 1024 }), Type.Number()];
const Claim = Type.Union([...claimEntry, Type.Boolean(), Type.Array(Type.Union(claimEntry), { maxItems: 1000 })]);
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
    claims: Type.Optional(
      Type.Record(Type.String({ maxLength: 256 }), Claim, {
        maxProperties: 32,
        description: 'Claims of the token of the caller, for row filters with `${subject.claims.<name>}`.',
      }),
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
  conditions: Type.Optional(StatementConditions),
});
export type MatchedStatement = Static<typeof MatchedStatement>;
const answer = {
  decision: StringEnum(['ALLOW', 'CONDITIONAL', 'DENY'], {
    description:
      'CONDITIONAL: `Query` on a table is allowed for a part of it, which `conditions` describes. Everything else is denied.',
  }),
  reason: StringEnum(['allowed', 'systemAdmin', 'conditional', 'explicitDeny', 'implicitDeny', 'invalidPolicy']),
  conditions: Type.Optional(UnitedConditions),
  matchedStatements: Type.Array(MatchedStatement, {
    description:
      'Those that the caller may read (`GetAssignment` on the role, `GetPolicy` on the policy) of the matching denies, or of the matching allows if none denied; for conditional the statements with conditions that apply; for systemAdmin the statement of the policy `system-admin`, which no deny and no invalid policy overrides for the management of access; for invalidPolicy the invalid statements. At most 100 per request, and about 1000 for all requests together. Lists of actions and resources are omitted once they exceed 256 KiB together.',
  }),
  statementsOmitted: Type.Optional(
    Type.Literal(true, { description: 'True if the caller may not read some of the statements.' }),
  ),
};
const Principal = Type.Object({
  subjects: Type.Array(Type.Object({ subject: Type.String(), subjectType: StringEnum(SUBJECT_TYPES) })),
  roles: Type.Array(Reference, {
    description: 'Roles of the subjects, of those whose assignments the caller may read.',
  }),
});
export const SimulateAccessResponse = Type.Object(
  {
    principal: Principal,
    decision: Type.Optional(answer.decision),
    reason: Type.Optional(answer.reason),
    conditions: answer.conditions,
    matchedStatements: Type.Optional(answer.matchedStatements),
    statementsOmitted: answer.statementsOmitted,
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
    assignments: Type.Array(
      Type.Object({
        role: Type.String(),
        subject: Type.String(),
        subjectType: StringEnum(SUBJECT_TYPES),
        expiresAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
          description: 'When the caller loses the role by this assignment; null for no end.',
        }),
      }),
      { description: 'By which subject the caller has which role, without expired assignments.' },
    ),
    policies: Type.Array(Reference),
    values: Type.Record(Type.String(), Type.Array(Type.String()), {
      description: 'The values that the caller has in row filters of policies, by name such as `subject.email`.',
    }),
  },
  { $id: 'WhoAmI' },
);
