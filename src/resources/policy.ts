import { Type, type Static } from 'typebox';
import { commonStatus } from './meta.ts';
import { StringEnum, type KindDefinition } from './schema.ts';

/** Characters of an action pattern: letters and `*`. */
export const ACTION_PATTERN = '^[A-Za-z*]{1,128}$';
/** `*`, or `srn2:` and levels `<kind>#<id>` joined by `:`. */
export const SRN_PATTERN = '^(\\*|srn2:[^#:\\s]+#[^#:\\s]+(:[^#:\\s]+#[^#:\\s]+){0,7})$';

export const Statement = Type.Object(
  {
    description: Type.Optional(Type.String({ maxLength: 1024, description: 'Free text for people.' })),
    effect: StringEnum(['allow', 'deny'], {
      default: 'deny',
      description: 'allow or deny. A deny beats every allow, over all roles of the caller.',
    }),
    actions: Type.Optional(
      Type.Array(Type.String({ maxLength: 128, pattern: ACTION_PATTERN }), {
        minItems: 1,
        maxItems: 256,
        description:
          'Action names, compared without case; * stands for any letters. All actions where the field is missing.',
      }),
    ),
    resources: Type.Array(Type.String({ maxLength: 1024, pattern: SRN_PATTERN }), {
      minItems: 1,
      maxItems: 256,
      description:
        'Resource names such as srn2:table#events; * stands for any characters within a level, * alone for everything.',
    }),
  },
  { description: 'One rule: which actions are allowed or denied on which resources.' },
);
export type Statement = Static<typeof Statement>;

export const PolicySpec = Type.Object(
  {
    description: Type.Optional(Type.String({ maxLength: 4096, description: 'Free text for people.' })),
    statements: Type.Array(Statement, {
      minItems: 1,
      maxItems: 1000,
      description: 'The rules of the policy. What no statement matches is denied.',
      'x-kubernetes-list-type': 'atomic',
    }),
  },
  { description: 'What the policy allows and denies.' },
);
export type PolicySpec = Static<typeof PolicySpec>;

export const PolicyStatus = Type.Object(
  {
    ...commonStatus,
    statementCount: Type.Optional(Type.Integer({ description: 'How many statements the policy has.' })),
  },
  { description: 'What the operator observed.' },
);
export type PolicyStatus = Static<typeof PolicyStatus>;

export const policyKind = {
  kind: 'Policy',
  plural: 'policies',
  singular: 'policy',
  shortNames: ['opolicy'],
  description:
    'A Policy says which actions are allowed or denied on which resources. It takes effect through the roles that hold it. A policy that cannot be understood denies everything to the roles that hold it, and its status says why.',
  spec: PolicySpec,
  status: PolicyStatus,
  rules: [],
  printerColumns: [
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the policy can be enforced.',
    },
    {
      name: 'Statements',
      type: 'integer',
      jsonPath: '.status.statementCount',
      description: 'How many statements the policy has.',
    },
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].message',
      description: 'Why the policy is or is not ready.',
      priority: 1,
    },
    {
      name: 'Age',
      type: 'date',
      jsonPath: '.metadata.creationTimestamp',
      description: 'Time since the policy was made.',
    },
  ],
} as const satisfies KindDefinition<'Policy', typeof PolicySpec, typeof PolicyStatus>;
