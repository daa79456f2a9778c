import { Type, type Static } from 'typebox';
import { commonStatus, referencedBy } from './meta.ts';
import { itemRules, StringEnum, type KindDefinition } from './schema.ts';

/** Characters of an action pattern: letters and `*`. */
export const ACTION_PATTERN = '^[A-Za-z*]{1,128}$';
/** `*`, or `srn2:` and levels `<kind>#<id>` separated by `:`. */
export const SRN_PATTERN = '^(\\*|srn2:[^#:\\s]+#[^#:\\s]+(:[^#:\\s]+#[^#:\\s]+){0,7})$';

/** A column of a table: neither a virtual one nor one with its table. */
export const COLUMN_PATTERN = '^[^$.\\s][^.\\s]*$';

/** Bounds the work of reading a policy and of a decision: lists of single statements are bounded as well, but not their sum. */
const MAX_POLICY_ACTIONS = 2048;
const MAX_POLICY_RESOURCES = 2048;
/** Filters and masks are parsed: some tens of milliseconds. */
const MAX_POLICY_EXPRESSIONS = 65_536;

/**
 * An API server leaves out a field that is null, and an allow without its conditions allows more. With this it keeps the null, and the policy is invalid,
 * because the validator of all policies does not know null.
 */
const nullable = { nullable: true } as const;

const ColumnNames = (description: string) =>
  Type.Array(Type.String({ maxLength: 256, pattern: COLUMN_PATTERN }), {
    minItems: 1,
    maxItems: 500,
    description,
    ...nullable,
  });

const Columns = Type.Object(
  {
    allow: Type.Optional(ColumnNames('The only columns that may be read. Not together with deny.')),
    deny: Type.Optional(ColumnNames('The only columns that may not be read. Not together with allow.')),
    mask: Type.Optional(
      Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 1024, ...nullable }), {
        maxProperties: 100,
        ...nullable,
        description:
          "What is read in place of a column, by its name: an SQL expression over this column, such as substr(mail, 0, 1), '' or sha256(toUtf8(mail)).",
      }),
    ),
  },
  { ...nullable, description: 'Which columns may be read; without it, all. Names have the spelling of the schema.' },
);

export const Conditions = Type.Object(
  {
    rowFilters: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
        minItems: 1,
        maxItems: 10,
        ...nullable,
        description:
          "SQL conditions over the columns of the table, such as region = 'eu' or owner = ${subject.email}. Only rows for which all of them are true may be read.",
      }),
    ),
    columns: Type.Optional(Columns),
  },
  {
    ...nullable,
    description:
      'The part of the tables that may be read; without it, all of it. Only in a statement with effect allow and the single action Query.',
  },
);
export type Conditions = Static<typeof Conditions>;

/** Resources that never match, as far as CEL can find them at the cost that it may have: `unmatchable()` finds all. */
const NEVER_MATCHING = [
  {
    cel: "!self.resources.exists(r, r.startsWith('srn2:table#') && (r.endsWith('_OFFLINE') || r.endsWith('_REALTIME')))",
    message:
      'a table has its name without the type, `srn2:table#events`: with `_OFFLINE` or `_REALTIME` it never matches',
  },
  {
    cel: "!self.resources.exists(r, r.startsWith('srn2:table#default.'))",
    message: 'tables of the database `default` have no prefix: `srn2:table#events`, and `srn2:table#*` for all',
  },
  {
    cel: "!self.resources.exists(r, r.startsWith('srn2:user#'))",
    message: 'no action exists on a user, so the statement never matches',
  },
];

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
    conditions: Type.Optional(Conditions),
  },
  { description: 'A rule that allows or denies actions on resources.', ...itemRules(NEVER_MATCHING) },
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
    referencedBy: referencedBy('roles that have the policy'),
  },
  { description: 'Status observed by the operator.' },
);
export type PolicyStatus = Static<typeof PolicyStatus>;

/** Characters of all filters and masks. */
function expressionLength({ conditions }: Statement): number {
  const expressions = [...(conditions?.rowFilters ?? []), ...Object.values(conditions?.columns?.mask ?? {})];
  return expressions.reduce((sum, text) => sum + Array.from(text).length, 0);
}

function hasExpectedParts({ rowFilters, columns }: Conditions): boolean {
  if (columns === undefined) return rowFilters !== undefined;
  const { allow, deny, mask } = columns;
  if (allow !== undefined && deny !== undefined) return false;
  return allow !== undefined || deny !== undefined || mask !== undefined;
}

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
    {
      cel: "self.statements.all(s, !has(s.conditions) || (s.effect == 'allow' && has(s.actions) && s.actions == ['Query']))",
      message: 'a statement with `conditions` must have the effect `allow` and the single action `Query`',
      holds: ({ statements }) =>
        statements.every(
          ({ conditions, effect, actions }) =>
            conditions === undefined || (effect === 'allow' && actions?.length === 1 && actions[0] === 'Query'),
        ),
    },
    {
      cel: 'self.statements.all(s, !has(s.conditions) || (has(s.conditions.columns) ? !(has(s.conditions.columns.allow) && has(s.conditions.columns.deny)) && (has(s.conditions.columns.allow) || has(s.conditions.columns.deny) || has(s.conditions.columns.mask)) : has(s.conditions.rowFilters)))',
      message:
        '`conditions` must have `rowFilters`, `columns` or both; `columns` must have `allow` or `deny`, which exclude each other, or `mask`, alone or with one of them',
      holds: ({ statements }) =>
        statements.every(({ conditions }) => conditions === undefined || hasExpectedParts(conditions)),
    },
    {
      cel: `self.statements.map(s, has(s.conditions) ? (has(s.conditions.rowFilters) ? s.conditions.rowFilters.map(f, size(f)).sum() : 0) + (has(s.conditions.columns) && has(s.conditions.columns.mask) ? s.conditions.columns.mask.map(c, size(s.conditions.columns.mask[c])).sum() : 0) : 0).sum() <= ${MAX_POLICY_EXPRESSIONS}`,
      message: `all filters and masks together may have at most ${MAX_POLICY_EXPRESSIONS} characters: split the policy`,
      holds: ({ statements }) => total(statements, expressionLength) <= MAX_POLICY_EXPRESSIONS,
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
      jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
      description: 'Why the policy is or is not ready.',
    },
    {
      name: 'Message',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].message',
      description: 'In words, why the policy is or is not ready.',
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
