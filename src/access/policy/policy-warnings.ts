import type { CustomKind } from '../../resources/kinds.ts';
import { nearest } from '../../resources/nearest.ts';
import { visibleText } from '../../platform/visible.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { completeSrn, parseSrnPattern, patternMatches, type Deployment, type SrnPattern } from './srn.ts';
import { unmatchable, type CheckedStatement } from './unmatchable.ts';

/** The statements of a policy. */
export interface Statements {
  readonly statements: readonly CheckedStatement[];
}

/** The existing names that a policy can refer to. */
export interface KnownNames {
  readonly deployment: Deployment;
  /** Table names; undefined while they are not known: no warning is given then. */
  readonly tables: readonly string[] | undefined;
  /** Names of all roles, policies or service tokens. */
  readonly namesOf: (kind: RbacKind) => readonly string[];
  /** Whether the names are those that a caller may read, so that others can exist. False by default. */
  readonly filtered?: boolean;
}

const RBAC_KINDS = ['role', 'policy', 'service-token'] as const;
export type RbacKind = (typeof RBAC_KINDS)[number];

const KIND_OF: Readonly<Record<RbacKind, CustomKind>> = {
  role: 'Role',
  policy: 'Policy',
  'service-token': 'ServiceToken',
};

/** Reads the names from a store, for `KnownNames.namesOf`. */
export function storedNames(store: Pick<ResourceStore, 'list'>): KnownNames['namesOf'] {
  return (kind) => store.list(KIND_OF[kind]).map(({ metadata }) => metadata.name);
}

/** More warnings are only counted. */
const MAX_WARNINGS = 20;
/** Limits of the searches for suggestions, which take time with the number and the square of the length of names. */
const MAX_SUGGESTIONS = 3;
const MAX_SUGGESTED_LENGTH = 48;
const MAX_SEARCHED = 2000;

/**
 * What of a policy never matches, and the names of tables, roles, policies and service tokens in it that do not exist in this deployment, each
 * with the nearest existing name. Of the names, patterns with `*` and resources of other clusters and environments are not examined. The policy may be enforced all the same: such a
 * statement matches as soon as the resource exists.
 */
export function policyWarnings({ statements }: Statements, known: KnownNames): string[] {
  // Read once for each kind: the number of names and that of resources are both large.
  const existing = new Map<string, ReadonlySet<string> | undefined>();
  const never = unmatchable(statements);
  const warnings = [...never.errors, ...never.warnings].map(({ path, message }) => `\`${path}\`: ${message}`);
  let more = warnings.splice(MAX_WARNINGS).length;
  let suggestions = 0;
  for (const [index, { resources }] of statements.entries()) {
    for (const [at, resource] of resources.entries()) {
      const named = namedResource(resource, known.deployment);
      if (named === undefined) continue;
      if (!existing.has(named.kind)) existing.set(named.kind, namesOfKind(named.kind, known));
      const names = existing.get(named.kind);
      if (names === undefined || names.has(named.id)) continue;
      if (warnings.length >= MAX_WARNINGS) more++;
      else {
        const meant = suggestions++ < MAX_SUGGESTIONS ? suggestion(named.id, names) : undefined;
        warnings.push(`\`statements[${index}].resources[${at}]\`: ${describe(named, known.filtered ?? false, meant)}`);
      }
    }
  }
  const shown = warnings.map(visibleText);
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}

interface NamedResource {
  readonly kind: string;
  readonly id: string;
}

/** Tables and RBAC resources that a policy names exactly, in the order of the policy, without duplicates. */
export function namedTables({ statements }: Statements, deployment: Deployment): string[] {
  const named = statements.flatMap(({ resources }) => resources.map((text) => namedResource(text, deployment)));
  return [...new Set(named.flatMap((resource) => (resource?.kind === 'table' ? [resource.id] : [])))];
}

/** The resource of this deployment that the pattern names exactly; undefined for a glob or a resource elsewhere. */
function namedResource(text: string, deployment: Deployment): NamedResource | undefined {
  // A large policy has thousands of globs, which need not be parsed to be left out.
  if (text.includes('*', text.lastIndexOf(':') + 1)) return undefined;
  const parsed = parseSrnPattern(text);
  if (!parsed.ok || !parsed.value.last) return undefined;
  const { kind, id } = parsed.value.last;
  if (kind.form !== 'exact' || id.form !== 'exact') return undefined;
  const named = { kind: kind.literal, id: id.literal };
  return isHere(parsed.value, named, deployment) ? named : undefined;
}

function isHere(pattern: SrnPattern, named: NamedResource, deployment: Deployment): boolean {
  return patternMatches(pattern, completeSrn({ levels: [named] }, deployment));
}

function namesOfKind(kind: string, { tables, namesOf }: KnownNames): ReadonlySet<string> | undefined {
  if (kind === 'table') return tables && new Set(tables);
  const rbacKind = RBAC_KINDS.find((known) => known === kind);
  return rbacKind && new Set(namesOf(rbacKind));
}

function suggestion(id: string, names: ReadonlySet<string>): string | undefined {
  return id.length > MAX_SUGGESTED_LENGTH || names.size > MAX_SEARCHED ? undefined : nearest(id, names);
}

function describe({ kind, id }: NamedResource, filtered: boolean, meant: string | undefined): string {
  const missing = filtered ? 'does not exist or is not visible to you' : 'does not exist';
  const what = `${kind === 'service-token' ? 'service token' : kind} \`${id}\` ${missing}`;
  return meant === undefined ? what : `${what}; did you mean \`${meant}\`?`;
}
