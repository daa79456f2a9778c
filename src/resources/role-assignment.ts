import { Type, type Static } from 'typebox';
import { commonStatus, NAME_MAX_LENGTH, NAME_PATTERN } from './meta.ts';
import { itemRules, StringEnum, type KindDefinition } from './schema.ts';
import { SUBJECT_RULES } from './subject-name.ts';

export const SUBJECT_TYPES = ['user-email', 'group', 'domain', 'service-token'] as const;
export type SubjectType = (typeof SUBJECT_TYPES)[number];

export const Subject = Type.Object(
  {
    type: StringEnum(SUBJECT_TYPES, {
      description:
        'user-email (an e-mail address or a Kubernetes user name), group, domain (of verified e-mail addresses) or service-token.',
    }),
    name: Type.String({
      minLength: 1,
      maxLength: 512,
      pattern: '^\\S(.*\\S)?$',
      description: 'The e-mail address, group, e-mail domain, or the name (or access key) of a ServiceToken.',
    }),
    expiresAt: Type.Optional(
      Type.String({
        format: 'date-time',
        description:
          'Time from which the subject no longer has the role, RFC 3339. Without it the assignment does not expire.',
      }),
    ),
  },
  {
    description: 'A user, group, e-mail domain or service token with the role.',
    ...itemRules(SUBJECT_RULES.map(({ cel, message }) => ({ cel, message: `\`name\` ${message}` }))),
  },
);
export type Subject = Static<typeof Subject>;

export const RoleAssignmentSpec = Type.Object(
  {
    role: Type.String({
      minLength: 1,
      maxLength: NAME_MAX_LENGTH,
      pattern: NAME_PATTERN,
      description: 'Name of the role, in the same namespace. Immutable.',
    }),
    subjects: Type.Array(Subject, {
      minItems: 1,
      maxItems: 1000,
      description: 'Subjects with the role.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type', 'name'],
    }),
  },
  { description: 'A role and its subjects.' },
);
export type RoleAssignmentSpec = Static<typeof RoleAssignmentSpec>;

const EXPIRY_STATES = ['Expiring', 'Expired'] as const;

const SubjectExpiry = Type.Object(
  {
    type: StringEnum(SUBJECT_TYPES, { description: 'Type of the subject, as in spec.subjects.' }),
    name: Type.String({ maxLength: 512, description: 'Name of the subject, as in spec.subjects.' }),
    expiresAt: Type.String({ maxLength: 64, description: 'Expiry time of the subject, as in spec.subjects.' }),
    state: StringEnum(EXPIRY_STATES, {
      description: 'Expiring (the subject loses the role within 24 hours) or Expired (it no longer has the role).',
    }),
  },
  { description: 'A subject that expires soon or has expired.' },
);
export type SubjectExpiry = Static<typeof SubjectExpiry>;

export const RoleAssignmentStatus = Type.Object(
  {
    ...commonStatus,
    subjectCount: Type.Optional(Type.Integer({ description: 'Number of subjects that have not expired.' })),
    nextExpiry: Type.Optional(
      Type.String({ format: 'date-time', description: 'The nearest expiry time that is still to come.' }),
    ),
    expiries: Type.Optional(
      Type.Array(SubjectExpiry, {
        maxItems: 1000,
        description: 'Subjects that expire within 24 hours, and expired subjects that are not removed yet.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
  },
  { description: 'Status observed by the operator.' },
);
export type RoleAssignmentStatus = Static<typeof RoleAssignmentStatus>;

export const roleAssignmentKind = {
  kind: 'RoleAssignment',
  plural: 'roleassignments',
  singular: 'roleassignment',
  shortNames: ['orolebinding'],
  description: 'A RoleAssignment grants a role to subjects. A caller has the roles of all assignments that match.',
  spec: RoleAssignmentSpec,
  status: RoleAssignmentStatus,
  rules: [
    {
      cel: 'self.role == oldSelf.role',
      message: 'spec.role is immutable: delete this RoleAssignment and create one for the other role',
      holds: (spec, previous) => previous === undefined || spec.role === previous.role,
    },
  ],
  selectableFields: ['.spec.role'],
  printerColumns: [
    { name: 'Role', type: 'string', jsonPath: '.spec.role', description: 'Assigned role.' },
    {
      name: 'Subjects',
      type: 'integer',
      jsonPath: '.status.subjectCount',
      description: 'Number of subjects that have not expired.',
    },
    {
      name: 'Expires',
      type: 'string',
      jsonPath: '.status.nextExpiry',
      description: 'The nearest expiry time of a subject.',
    },
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the role exists.',
    },
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
      description: 'Why the assignment is or is not ready.',
    },
    {
      name: 'Message',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].message',
      description: 'In words, why the assignment is or is not ready.',
      priority: 1,
    },
    {
      name: 'Age',
      type: 'date',
      jsonPath: '.metadata.creationTimestamp',
      description: 'Time since creation.',
    },
  ],
} as const satisfies KindDefinition<'RoleAssignment', typeof RoleAssignmentSpec, typeof RoleAssignmentStatus>;
