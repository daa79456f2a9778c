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
  { description: 'A user, group, e-mail domain or service token with the role.' },
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

export const RoleAssignmentStatus = Type.Object(
  { ...commonStatus, subjectCount: Type.Optional(Type.Integer({ description: 'Number of subjects.' })) },
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
  printerColumns: [
    { name: 'Role', type: 'string', jsonPath: '.spec.role', description: 'Assigned role.' },
    {
      name: 'Subjects',
      type: 'integer',
      jsonPath: '.status.subjectCount',
      description: 'Number of subjects.',
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
      description: 'Time since creation.',
    },
  ],
} as const satisfies KindDefinition<'RoleAssignment', typeof RoleAssignmentSpec, typeof RoleAssignmentStatus>;
