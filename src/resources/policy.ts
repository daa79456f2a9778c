import { Type, type Static } from 'typebox';
import { commonStatus } from './meta.ts';
import { StringEnum, type KindDefinition } from './schema.ts';

/** Characters of an action pattern: letters and `*`. */
export const ACTION_PATTERN = '^[A-Za-z*]{1,128}$';
/** `*`, or `srn2:` and levels `<kind>#<id>` separated by `:`. */
export const SRN_PATTERN = '^(\\*|srn2:[^#:\\s]+#[^#:\\s]+(:[^#:\\s]+#[^#:\\s]+){0,7})$';

/** Bounds the work of reading a policy and of a decision: lists of single statements are bounded as well, but not their sum. */
const MAX_POLICY_ACTIONS = 2048;
const MAX_POLICY_RESOURCES = 2048;

export const Statement = Type.Object(
  {
    description: Type.Optional(Type.String({ maxLength: 1024, description: 'Free text.' })),
    effect: StringEnum(['allow', 'deny'], {
      default: 'deny',
      description: 'allow or deny. A deny overrides every allow, across all roles of the caller.',
    }),
    actions: Type.Optional(
      Type.Array(Type.String({ maxLength: 128, pattern: ACTION_PATTERN }), {
        minItems: 1,
        maxItems: 256,
        description: 'Action names, case-insensitive; * matches any letters. All actions when the field is absent.',
      }),
    ),
    resources: Type.Array(Type.String({ maxLength: 1024, pattern: SRN_PATTERN }), {
      minItems: 1,
      maxItems: 256,
      description:
        'Resource names such as srn2:table#events; * matches any characters within a level, * alone matches all resources.',
    }),
  },
  { description: 'A rule that allows or denies actions on resources.' },
);
export type Statement = Static<typeof Statement>;

export const PolicySpec = Type.Object(
  {
    description: Type.Optional(Type.String({ maxLength: 4096, description: 'Free text.' })),
    statements: Type.Array(Statement, {
      minItems: 1,
      maxItems: 1000,
      description: 'Rules of the policy. What no statement allows is denied.',
      'x-kubernetes-list-type': 'atomic',
    }),
  },
  { description: 'Statements of the policy.' },
);
export type PolicySpec = Static<typeof PolicySpec>;

export const PolicyStatus = Type.Object(
  {
    ...commonStatus,
    statementCount: Type.Optional(Type.Integer({ description: 'Number of statements.' })),
  },
  { description: 'Status observed by the operator.' },
);
export type PolicyStatus = Static<typeof PolicyStatus>;

function total(statements: readonly Statement[], count: (statement: Statement) => number): number {
  return statements.reduce((sum, statement) => sum + count(statement), 0);
}

export const policyKind = {
  kind: 'Policy',
  plural: 'policies',
  singular: 'policy',
  shortNames: ['opolicy'],
  description:
    'A Policy allows or denies actions on resources. It takes effect through roles. An invalid policy denies everything to its roles, and its status contains the reason.',
  spec: PolicySpec,
  status: PolicyStatus,
  rules: [
    {
      cel: `self.statements.map(s, has(s.actions) ? size(s.actions) : 0).sum() <= ${MAX_POLICY_ACTIONS}`,
      message: `all statements together may list at most ${MAX_POLICY_ACTIONS} actions: split the policy`,
      holds: ({ statements }) => total(statements, ({ actions }) => actions?.length ?? 0) <= MAX_POLICY_ACTIONS,
    },
    {
      cel: `self.statements.map(s, size(s.resources)).sum() <= ${MAX_POLICY_RESOURCES}`,
      message: `all statements together may list at most ${MAX_POLICY_RESOURCES} resources: split the policy`,
      holds: ({ statements }) => total(statements, ({ resources }) => resources.length) <= MAX_POLICY_RESOURCES,
    },
  ],
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
      description: 'Number of statements.',
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
      description: 'Time since creation.',
    },
  ],
} as const satisfies KindDefinition<'Policy', typeof PolicySpec, typeof PolicyStatus>;
