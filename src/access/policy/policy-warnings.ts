import type { CustomKind } from '../../resources/kinds.ts';
import { nearest } from '../../resources/nearest.ts';
import { globMatches } from '../../platform/glob.ts';
import { visibleText } from '../../platform/visible.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { completeSrn, parseSrnPattern, patternMatches, type Deployment, type SrnPattern } from './srn.ts';
import { unmatchable, type CheckedStatement } from './unmatchable.ts';

/** The statements of a policy. */
export interface Statements {
  readonly statements: readonly CheckedStatement[];
}

/** The tables of a cluster; undefined while they are not known. */
export interface ClusterTables {
  readonly cluster: string;
  readonly tables: readonly string[] | undefined;
}

/** The existing names that a policy can refer to. */
export interface KnownNames {
  readonly deployment: Deployment;
  /** Table names; undefined while they are not known: no warning is given then. */
  readonly tables: readonly string[] | undefined;
  /** The other clusters of the environment, with the names of their tables; those of the first one are `tables`. */
  readonly otherClusters?: readonly ClusterTables[];
  /** Whether there may be clusters beside these: then no cluster is said not to exist. False by default. */
  readonly anyCluster?: boolean;
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
 * What of a policy never matches, and the names of clusters, tables, roles, policies and service tokens in it that do not exist in this environment,
 * each with the nearest existing name. A table exists if one of the clusters has it that the resource can belong to. Of the names, patterns with
 * `*` and resources of other environments are not examined. The policy may be enforced all the same: such a statement matches as soon as the
 * resource exists.
 */
export function policyWarnings({ statements }: Statements, known: KnownNames): string[] {
  const existing = existingNames(known);
  const never = unmatchable(statements);
  const warnings = [...never.errors, ...never.warnings].map(({ path, message }) => `\`${path}\`: ${message}`);
  let more = warnings.splice(MAX_WARNINGS).length;
  let suggestions = 0;
  const clusters = new Set([known.deployment.cluster, ...(known.otherClusters ?? []).map(({ cluster }) => cluster)]);
  for (const [index, { resources }] of statements.entries()) {
    for (const [at, resource] of resources.entries()) {
      const cluster = namedCluster(resource, known);
      const elsewhere = cluster !== undefined && !clusters.has(cluster);
      const named = elsewhere ? { kind: 'cluster', id: cluster } : namedResource(resource);
      if (named === undefined) continue;
      const names = 'pattern' in named ? existing(named) : clusters;
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
  readonly pattern: SrnPattern;
}

/** The existing names among which a resource is looked up; undefined: they are not known, or it is elsewhere. */
type ExistingNames = (named: NamedResource) => ReadonlySet<string> | undefined;

function existingNames(known: KnownNames): ExistingNames {
  const { deployment, otherClusters = [] } = known;
  const clusters = [{ cluster: deployment.cluster, tables: known.tables }, ...otherClusters].map(
    ({ cluster, tables }) => ({ deployment: { ...deployment, cluster }, tables }),
  );
  // Read once for each kind and choice of clusters: the number of names and that of resources are both large.
  const sets = new Map<string, ReadonlySet<string> | undefined>();
  return (named) => {
    const possible = clusters.filter((cluster) => isHere(named, cluster.deployment));
    if (possible.length === 0) return undefined;
    const key = [named.kind, ...possible.map((cluster) => cluster.deployment.cluster)].join(' ');
    if (!sets.has(key)) {
      sets.set(key, namesOfKind(named.kind, { ...known, tables: tablesOf(possible) }));
    }
    return sets.get(key);
  };
}

function tablesOf(clusters: readonly Pick<ClusterTables, 'tables'>[]): readonly string[] | undefined {
  const lists = clusters.flatMap(({ tables }) => (tables === undefined ? [] : [tables]));
  if (lists.length < clusters.length) return undefined;
  return lists.length === 1 ? lists[0] : lists.flat();
}

/** Tables of this deployment that a policy names exactly, in the order of the policy, without duplicates. */
export function namedTables({ statements }: Statements, deployment: Deployment): string[] {
  const named = statements.flatMap(({ resources }) => resources.map(namedResource));
  return [
    ...new Set(
      named.flatMap((resource) => (resource?.kind === 'table' && isHere(resource, deployment) ? [resource.id] : [])),
    ),
  ];
}

/** The resource that the pattern names exactly; undefined for a glob. */
function namedResource(text: string): NamedResource | undefined {
  // A large policy has thousands of globs, which need not be parsed to be left out.
  if (text.includes('*', text.lastIndexOf(':') + 1)) return undefined;
  const parsed = parseSrnPattern(text);
  if (!parsed.ok || !parsed.value.last) return undefined;
  const { kind, id } = parsed.value.last;
  if (kind.form !== 'exact' || id.form !== 'exact') return undefined;
  return { kind: kind.literal, id: id.literal, pattern: parsed.value };
}

/** The cluster of this environment to which a resource belongs by its name; undefined if it names none, or the clusters are not known. */
function namedCluster(text: string, { deployment: { environment }, anyCluster }: KnownNames): string | undefined {
  if (anyCluster === true || !text.includes('cluster#')) return undefined;
  const parsed = parseSrnPattern(text);
  if (!parsed.ok) return undefined;
  const { levels } = parsed.value;
  if (levels.some(({ kind, id }) => kind.literal === 'environment' && !globMatches(id, environment))) return undefined;
  const level = levels.find(({ kind, id }) => kind.source === 'cluster' && id.form === 'exact');
  return level?.id.literal;
}

function isHere({ pattern, kind, id }: NamedResource, deployment: Deployment): boolean {
  return patternMatches(pattern, completeSrn({ levels: [{ kind, id }] }, deployment));
}

function namesOfKind(kind: string, { tables, namesOf }: KnownNames): ReadonlySet<string> | undefined {
  if (kind === 'table') return tables && new Set(tables);
  const rbacKind = RBAC_KINDS.find((known) => known === kind);
  return rbacKind && new Set(namesOf(rbacKind));
}

function suggestion(id: string, names: ReadonlySet<string>): string | undefined {
  return id.length > MAX_SUGGESTED_LENGTH || names.size > MAX_SEARCHED ? undefined : nearest(id, names);
}

function describe(
  { kind, id }: Pick<NamedResource, 'kind' | 'id'>,
  filtered: boolean,
  meant: string | undefined,
): string {
  // Which clusters there are is no secret.
  const missing = filtered && kind !== 'cluster' ? 'does not exist or is not visible to you' : 'does not exist';
  const what = `${kind === 'service-token' ? 'service token' : kind} \`${id}\` ${missing}`;
  return meant === undefined ? what : `${what}; did you mean \`${meant}\`?`;
}
