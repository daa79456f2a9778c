import type { TableName } from '../../pinot/table-name.ts';
import { nearest } from '../../resources/nearest.ts';
import { compileGlob, globMatches, type Glob } from '../../platform/glob.ts';

/** One level of a resource name. */
export interface SrnLevel {
  readonly kind: string;
  readonly id: string;
}

/** A resource name, `srn2:<kind>#<id>` with levels chained by `:`, outermost first: `srn2:cluster#pinot:table#events`. */
export interface Srn {
  readonly levels: readonly SrnLevel[];
}

export const SRN_KINDS = ['environment', 'cluster', 'table', 'role', 'policy', 'service-token', 'user'] as const;
export type SrnKind = (typeof SRN_KINDS)[number];

/** The levels around a resource of each kind. Roles, policies, service tokens and users belong to the environment, not to a cluster. */
export const OUTER_KINDS = {
  environment: [],
  cluster: ['environment'],
  table: ['environment', 'cluster'],
  role: ['environment'],
  policy: ['environment'],
  'service-token': ['environment'],
  user: ['environment'],
} as const satisfies Record<SrnKind, readonly SrnKind[]>;

const PREFIX = 'srn2:';

export function formatSrn(srn: Srn): string {
  return PREFIX + srn.levels.map((level) => `${level.kind}#${level.id}`).join(':');
}

/** `srn2:<kind>#<id>` of one level, as text. */
export function srnText(kind: SrnKind, id: string): string {
  return `${PREFIX}${kind}#${id}`;
}

function singleLevel(kind: SrnKind, id: string): Srn {
  return { levels: [{ kind, id }] };
}

export const roleResource = (name: string): Srn => singleLevel('role', name);
export const policyResource = (name: string): Srn => singleLevel('policy', name);
export const serviceTokenResource = (name: string): Srn => singleLevel('service-token', name);
/** `srn2:table#sales.orders`; `srn2:table#orders` in the database `default`, so that `srn2:table#sales.*` is all tables of a database. */
export const tableResource = (name: TableName): Srn => singleLevel('table', name);
/** The cluster of this deployment. The authorizer adds the outer levels. */
export const clusterResource: Srn = { levels: [] };

export type SrnParseResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

/** Maximum levels of a name; the same limit as in the CRD's pattern. */
const MAX_LEVELS = 8;
/** Maximum length of a name or pattern; the same limit as in the CRD's schema. */
export const MAX_SRN_LENGTH = 1024;
/**
 * Maximum length of one id; nothing is allowed on a longer one. Subjects have at most 512 characters. Table names have at most 255 bytes,
 * because the engine uses them as directory names.
 */
export const MAX_SRN_ID_LENGTH = 512;

/**
 * Parses `srn2:<kind>#<id>[:<kind>#<id>…]`.
 * @returns the name, or one sentence that describes the error
 */
export function parseSrn(text: string): SrnParseResult<Srn> {
  const parsed = parseLevels(text);
  if (!parsed.ok) return parsed;
  for (const { kind, id } of parsed.value) {
    if (!SRN_KINDS.includes(kind as SrnKind)) return { ok: false, message: unknownKind(text, kind) };
    if (id.length > MAX_SRN_ID_LENGTH) return { ok: false, message: idTooLong(kind, id) };
  }
  return { ok: true, value: { levels: parsed.value } };
}

/**
 * Parses a name of exactly one level and one kind, such as the `{roleSrn}` of a path.
 * @returns the id, or one sentence that describes the error
 */
export function parseSrnOf(kind: SrnKind, text: string): SrnParseResult<string> {
  const parsed = parseSrn(text);
  if (!parsed.ok) return parsed;
  const [level, ...rest] = parsed.value.levels;
  if (!level || rest.length > 0 || level.kind !== kind) {
    return { ok: false, message: `\`${text}\` does not name a ${kind}: \`${PREFIX}${kind}#<name>\` was expected` };
  }
  return { ok: true, value: level.id };
}

/** One level of a pattern. */
export interface SrnPatternLevel {
  readonly kind: Glob;
  readonly id: Glob;
}

/** A compiled pattern. Without levels it is `*`, which matches everything. */
export interface SrnPattern {
  readonly source: string;
  readonly levels: readonly SrnPatternLevel[];
  /** The innermost level. It is compared first because it excludes most patterns. */
  readonly last: SrnPatternLevel | undefined;
}

/**
 * Parses a pattern of a policy's `resources`: a name whose kinds and ids may contain `*`, or just `*`.
 * An unknown kind is rejected because the pattern could never match.
 */
export function parseSrnPattern(text: string): SrnParseResult<SrnPattern> {
  if (text === '*') return { ok: true, value: { source: text, levels: [], last: undefined } };
  const parsed = parseLevels(text);
  if (!parsed.ok) return parsed;
  const levels = parsed.value.map(({ kind, id }) => ({ kind: kindGlob(kind), id: compileGlob(id) }));
  for (const { kind } of levels) {
    if (!SRN_KINDS.some((known) => globMatches(kind, known))) {
      return { ok: false, message: unknownKind(text, kind.source) };
    }
  }
  return { ok: true, value: { source: text, levels, last: levels.at(-1) } };
}

/** Almost all patterns have one of these kinds: sharing their globs saves memory with 100,000 statements. */
const KIND_GLOBS: ReadonlyMap<string, Glob> = new Map(SRN_KINDS.map((kind) => [kind, compileGlob(kind)]));

function kindGlob(kind: string): Glob {
  return KIND_GLOBS.get(kind) ?? compileGlob(kind);
}

/** Whether the pattern matches every resource: `*`, or one level of only stars. */
export function matchesEverything(pattern: SrnPattern): boolean {
  return (
    pattern.levels.every((level) => level.kind.form === 'any' && level.id.form === 'any') && pattern.levels.length < 2
  );
}

/** Outer levels of all resources of this deployment. */
export interface Deployment {
  readonly environment: string;
  readonly cluster: string;
}

/**
 * Adds the outer levels of this deployment (environment, then cluster) that the resource does not have itself.
 * The environment has no outer level; what belongs to the environment has no other than that, even if the name has some.
 */
export function completeSrn(resource: Srn, deployment: Deployment): readonly SrnLevel[] {
  const { levels } = resource;
  const first = levels[0];
  const environment = first?.kind === 'environment' ? first : { kind: 'environment', id: deployment.environment };
  const rest = first?.kind === 'environment' ? levels.slice(1) : levels;
  if (rest.length === 0 && first) return [environment];
  const last = rest.at(-1);
  if (last && belongsToEnvironment(last.kind)) return [environment, last];
  if (rest[0]?.kind === 'cluster') return [environment, ...rest];
  return [environment, { kind: 'cluster', id: deployment.cluster }, ...rest];
}

function belongsToEnvironment(kind: string): boolean {
  return kind !== 'cluster' && OUTER_KINDS[kind as SrnKind]?.length === 1;
}

/** @param levels a completed resource. A pattern matches if its levels occur in order and its last level matches the last one. */
export function patternMatches(pattern: Pick<SrnPattern, 'levels'>, levels: readonly SrnLevel[]): boolean {
  const last = pattern.levels.length - 1;
  if (last < 0) return true;
  const inner = levels.length - 1;
  if (!levelMatches(pattern.levels[last]!, levels[inner]!)) return false;
  let wanted = 0;
  // Greedy: taking the leftmost matching level never loses a match, because only the order matters.
  for (let at = 0; at < inner && wanted < last; at++) {
    if (levelMatches(pattern.levels[wanted]!, levels[at]!)) wanted++;
  }
  return wanted === last;
}

function levelMatches(pattern: SrnPatternLevel, level: SrnLevel): boolean {
  return globMatches(pattern.kind, level.kind) && globMatches(pattern.id, level.id);
}

function parseLevels(text: string): SrnParseResult<SrnLevel[]> {
  if (text.length > MAX_SRN_LENGTH) {
    return {
      ok: false,
      message: `the resource name has ${text.length} characters: at most ${MAX_SRN_LENGTH} are allowed`,
    };
  }
  if (!text.startsWith(PREFIX)) {
    return {
      ok: false,
      message: `\`${text}\` is not a resource name: it must begin with \`${PREFIX}\`, such as \`srn2:table#events\``,
    };
  }
  const parts = text.slice(PREFIX.length).split(':');
  if (parts.length > MAX_LEVELS) {
    return { ok: false, message: `\`${text}\` has ${parts.length} levels: at most ${MAX_LEVELS} are allowed` };
  }
  const levels: SrnLevel[] = [];
  for (const part of parts) {
    const [kind, id, ...more] = part.split('#');
    if (!kind || !id || more.length > 0 || /[\s\p{Cc}]/u.test(part)) {
      return {
        ok: false,
        message: `\`${text}\` is not a resource name: the level \`${part}\` must be \`<kind>#<id>\` without spaces and control characters`,
      };
    }
    levels.push({ kind, id });
  }
  return { ok: true, value: levels };
}

function idTooLong(kind: string, id: string): string {
  return `the ${kind} has ${id.length} characters in its name: at most ${MAX_SRN_ID_LENGTH} are allowed`;
}

function unknownKind(text: string, kind: string): string {
  const meant = nearest(kind, SRN_KINDS);
  const hint = meant ? `did you mean \`${meant}\`?` : `known kinds are ${SRN_KINDS.join(', ')}`;
  return `\`${text}\` has the unknown kind \`${kind}\`; ${hint}`;
}
