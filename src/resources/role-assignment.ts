import { Type, type Static } from 'typebox';
import { commonStatus, NAME_MAX_LENGTH, NAME_PATTERN } from './meta.ts';
import { StringEnum, type KindDefinition } from './schema.ts';

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
  },
  { description: 'Somebody or something that has the role.' },
);
export type Subject = Static<typeof Subject>;

export const RoleAssignmentSpec = Type.Object(
  {
    role: Type.String({
      minLength: 1,
      maxLength: NAME_MAX_LENGTH,
      pattern: NAME_PATTERN,
      description: 'Name of the role, in the same namespace. It cannot be changed later.',
    }),
    subjects: Type.Array(Subject, {
      minItems: 1,
      maxItems: 1000,
      description: 'Who has the role.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type', 'name'],
    }),
  },
  { description: 'A role, and who has it.' },
);
export type RoleAssignmentSpec = Static<typeof RoleAssignmentSpec>;

export const RoleAssignmentStatus = Type.Object(
  { ...commonStatus, subjectCount: Type.Optional(Type.Integer({ description: 'How many subjects are named.' })) },
  { description: 'What the operator observed.' },
);
export type RoleAssignmentStatus = Static<typeof RoleAssignmentStatus>;

export const roleAssignmentKind = {
  kind: 'RoleAssignment',
  plural: 'roleassignments',
  singular: 'roleassignment',
  shortNames: ['orolebinding'],
  description: 'A RoleAssignment gives a role to subjects. Everything that all assignments give to a caller adds up.',
  spec: RoleAssignmentSpec,
  status: RoleAssignmentStatus,
  rules: [
    {
      cel: 'self.role == oldSelf.role',
      message: 'spec.role cannot be changed: delete this RoleAssignment and make one for the other role',
      holds: (spec, previous) => previous === undefined || spec.role === previous.role,
    },
  ],
  printerColumns: [
    { name: 'Role', type: 'string', jsonPath: '.spec.role', description: 'The role that is given.' },
    {
      name: 'Subjects',
      type: 'integer',
      jsonPath: '.status.subjectCount',
      description: 'How many subjects are named.',
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
      jsonPath: '.status.conditions[?(@.type=="Ready")].message',
      description: 'Why the assignment is or is not ready.',
      priority: 1,
    },
    {
      name: 'Age',
      type: 'date',
      jsonPath: '.metadata.creationTimestamp',
      description: 'Time since the assignment was made.',
    },
  ],
} as const satisfies KindDefinition<'RoleAssignment', typeof RoleAssignmentSpec, typeof RoleAssignmentStatus>;
