import { nameOf } from '../../lib/format.ts';
import type { Policy } from '../../lib/types.ts';

type PolicyStatement = Policy['policyDocument']['statements'][number];

/** Maximum names in a list; the others are counted. */
const MAX_NAMES = 4;

function listed(names: readonly string[]): string {
  const unique = [...new Set(names)];
  const shown = unique.slice(0, MAX_NAMES);
  const more = unique.length - shown.length;
  if (more > 0) return `${shown.join(', ')} and ${more} more`;
  const last = shown.pop() ?? '';
  return shown.length === 0 ? last : `${shown.join(', ')} and ${last}`;
}

const KINDS: Readonly<Record<string, string>> = {
  table: 'table',
  cluster: 'cluster',
  environment: 'environment',
  role: 'role',
  policy: 'policy',
  'service-token': 'service token',
};

/** `the tables orders and sales_*` for resources of one kind; a resource on several levels stays as it is written. */
function resourcesOf(resources: readonly string[]): string {
  const byKind = new Map<string, string[]>();
  for (const resource of resources) {
    const simple = /^srn2:([a-z-]+)#([^:#]+)$/.exec(resource);
    const kind = simple?.[1] !== undefined && simple[1] in KINDS ? simple[1] : '';
    byKind.set(kind, [...(byKind.get(kind) ?? []), kind === '' ? resource : nameOf(resource)]);
  }
  const parts = [...byKind].map(([kind, names]) => {
    const word = KINDS[kind];
    if (word === undefined) return listed(names.map((name) => (name === '*' ? 'everything' : name)));
    const plural = kind === 'policy' ? 'policies' : `${word}s`;
    if (names.includes('*')) return `all ${plural}`;
    return new Set(names).size === 1 ? `the ${word} ${listed(names)}` : `the ${plural} ${listed(names)}`;
  });
  return parts.join(', and on ');
}

const actionsOf = ({ actions }: PolicyStatement): string =>
  actions === undefined || actions.includes('*') ? 'every action' : listed(actions);

/** The conditions of a statement, or of several together: then each list of row filters is an alternative. */
export interface Part {
  readonly rowFilters?: readonly string[] | readonly (readonly string[])[] | undefined;
  readonly columns?:
    | {
        readonly allow?: readonly string[] | undefined;
        readonly deny?: readonly string[] | undefined;
        readonly mask?: Readonly<Record<string, string>> | undefined;
      }
    | undefined;
}

/** `a and b`; `(a and b) or (c)` for alternatives */
function rowsOf(filters: NonNullable<Part['rowFilters']>): string {
  const alternatives = filters.filter((one): one is readonly string[] => typeof one !== 'string');
  if (alternatives.length === 0) return filters.join(' and ');
  const [only] = alternatives;
  if (alternatives.length === 1 && only !== undefined) return only.join(' and ');
  return alternatives.map((all) => `(${all.join(' and ')})`).join(' or ');
}

/** `only rows where region = 'eu'; without the columns mail and phone`; empty for everything */
export function partInWords({ rowFilters = [], columns: { allow, deny, mask } = {} }: Part): string {
  return [
    rowFilters.length > 0 && `only rows where ${rowsOf(rowFilters)}`,
    allow && `only the columns ${listed(allow)}`,
    deny && `without the columns ${listed(deny)}`,
    mask && `with other values for ${listed(Object.keys(mask))}`,
  ]
    .filter((part) => typeof part === 'string')
    .join('; ');
}

/** ` (only rows where region = 'eu'; without the columns mail and phone)` */
function partOf({ conditions }: PolicyStatement): string {
  const part = partInWords(conditions ?? {});
  return part === '' ? '' : ` (${part})`;
}

/** `Query and Get* on the table orders`, once for each distinct text. */
function clauses(statements: readonly PolicyStatement[]): string[] {
  const clause = (statement: PolicyStatement): string =>
    `${actionsOf(statement)} on ${resourcesOf(statement.resources)}${partOf(statement)}`;
  return [...new Set(statements.map(clause))];
}

/** Maximum statements in the sentence. */
const MAX_CLAUSES = 5;

function joined(statements: readonly PolicyStatement[]): string {
  const all = clauses(statements);
  const more = all.length - MAX_CLAUSES;
  return all.slice(0, MAX_CLAUSES).join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** What statements mean together, in one sentence: `Allows Query on the table orders, but never Query on the table customers.` */
export function meaningOf(statements: readonly PolicyStatement[]): string {
  const allowed = statements.filter(({ effect }) => effect === 'allow');
  const denied = statements.filter(({ effect }) => effect === 'deny');
  if (allowed.length === 0 && denied.length === 0) return 'Allows nothing.';
  if (allowed.length === 0) return `Allows nothing, and forbids ${joined(denied)}, also where another role allows it.`;
  const but = denied.length === 0 ? '' : `, but forbids ${joined(denied)}, also where another role allows it`;
  return `Allows ${joined(allowed)}${but}.`;
}
