import { Type, type Static } from 'typebox';
import { commonStatus, NAME_MAX_LENGTH, NAME_PATTERN, referencedBy } from './meta.ts';
import { emptyByDefault, type KindDefinition } from './schema.ts';

export const RoleSpec = Type.Object(
  {
    description: Type.Optional(Type.String({ maxLength: 4096, description: 'Free text.' })),
    policies: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: NAME_MAX_LENGTH, pattern: NAME_PATTERN }), {
        maxItems: 256,
        description:
          'Names of the policies of this role, in the same namespace. The role is not ready while one of them does not exist.',
        'x-kubernetes-list-type': 'set',
        uniqueItems: true,
      }),
    ),
  },
  { ...emptyByDefault, description: 'Purpose and policies of the role.' },
);
export type RoleSpec = Static<typeof RoleSpec>;

export const RoleStatus = Type.Object(
  {
    ...commonStatus,
    policyCount: Type.Optional(Type.Integer({ description: 'Number of policies of the role.' })),
    subjectCount: Type.Optional(
      Type.Integer({ description: 'Number of subjects with the role, without expired ones.' }),
    ),
    referencedBy: referencedBy('RoleAssignments of the role'),
  },
  { description: 'Status observed by the operator.' },
);
export type RoleStatus = Static<typeof RoleStatus>;

export const roleKind = {
  kind: 'Role',
  plural: 'roles',
  singular: 'role',
  shortNames: ['orole'],
  description:
    'A Role groups policies. A RoleAssignment grants it to subjects (users, groups, e-mail domains, service tokens). The object name is the role name and is immutable.',
  spec: RoleSpec,
  status: RoleStatus,
  rules: [],
  printerColumns: [
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether every policy of the role exists and can be enforced.',
    },
    {
      name: 'Policies',
      type: 'integer',
      jsonPath: '.status.policyCount',
      description: 'Number of policies of the role.',
    },
    {
      name: 'Subjects',
      type: 'integer',
      jsonPath: '.status.subjectCount',
      description: 'Number of subjects with the role.',
    },
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
      description: 'Why the role is or is not ready.',
    },
    {
      name: 'Message',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].message',
      description: 'In words, why the role is or is not ready.',
      priority: 1,
    },
    {
      name: 'Age',
      type: 'date',
      jsonPath: '.metadata.creationTimestamp',
      description: 'Time since creation.',
    },
  ],
} as const satisfies KindDefinition<'Role', typeof RoleSpec, typeof RoleStatus>;
