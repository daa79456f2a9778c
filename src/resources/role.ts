import { Type, type Static } from 'typebox';
import { commonStatus, NAME_MAX_LENGTH, NAME_PATTERN } from './meta.ts';
import { emptyByDefault, type KindDefinition } from './schema.ts';

export const RoleSpec = Type.Object(
  {
    description: Type.Optional(Type.String({ maxLength: 4096, description: 'Free text for people.' })),
    policies: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: NAME_MAX_LENGTH, pattern: NAME_PATTERN }), {
        maxItems: 256,
        description:
          'Names of the policies that this role holds, in the same namespace. A name whose policy does not exist yet keeps the role from being ready.',
        'x-kubernetes-list-type': 'set',
        uniqueItems: true,
      }),
    ),
  },
  { ...emptyByDefault, description: 'What the role is for, and the policies that it groups.' },
);
export type RoleSpec = Static<typeof RoleSpec>;

export const RoleStatus = Type.Object(
  {
    ...commonStatus,
    policyCount: Type.Optional(Type.Integer({ description: 'How many policies the role holds.' })),
    subjectCount: Type.Optional(Type.Integer({ description: 'How many subjects the role is assigned to.' })),
  },
  { description: 'What the operator observed.' },
);
export type RoleStatus = Static<typeof RoleStatus>;

export const roleKind = {
  kind: 'Role',
  plural: 'roles',
  singular: 'role',
  shortNames: ['orole'],
  description:
    'A Role groups policies. Subjects (users, groups, e-mail domains, service tokens) get what its policies allow by a RoleAssignment. The object name is the role name: unique, and it cannot be changed later.',
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
      description: 'How many policies the role holds.',
    },
    {
      name: 'Subjects',
      type: 'integer',
      jsonPath: '.status.subjectCount',
      description: 'How many subjects have the role.',
    },
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].message',
      description: 'Why the role is or is not ready.',
      priority: 1,
    },
    {
      name: 'Age',
      type: 'date',
      jsonPath: '.metadata.creationTimestamp',
      description: 'Time since the role was made.',
    },
  ],
} as const satisfies KindDefinition<'Role', typeof RoleSpec, typeof RoleStatus>;
