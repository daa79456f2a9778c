import { nearest } from '../resources/nearest.ts';
import { compileGlob, globMatches, type Glob } from './glob.ts';

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

const PREFIX = 'srn2:';

export function formatSrn(srn: Srn): string {
  return PREFIX + srn.levels.map((level) => `${level.kind}#${level.id}`).join(':');
}

/** `srn2:<kind>#<id>` of one level, as text. */
export function srnText(kind: SrnKind, id: string): string {
  return `${PREFIX}${kind}#${id}`;
}

function one(kind: SrnKind, id: string): Srn {
  return { levels: [{ kind, id }] };
}

export const roleResource = (name: string): Srn => one('role', name);
export const policyResource = (name: string): Srn => one('policy', name);
export const serviceTokenResource = (name: string): Srn => one('service-token', name);
/** A table by its raw name: no type suffix; with its database before it (`sales.orders`) unless that is the default one. */
export const tableResource = (name: string): Srn => one('table', name);
/** The cluster that this deployment fronts. The authorizer completes outer levels itself. */
export const clusterResource: Srn = { levels: [] };

export type SrnParseResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

/** As the CRD's pattern allows: a name is at most eight levels deep. */
const MAX_LEVELS = 8;

/**
 * Reads `srn2:<kind>#<id>[:<kind>#<id>…]`.
 * @returns the name, or one sentence that says what is wrong with it
 */
export function parseSrn(text: string): SrnParseResult<Srn> {
  const parsed = parseLevels(text);
  if (!parsed.ok) return parsed;
  for (const { kind } of parsed.value) {
    if (!SRN_KINDS.includes(kind as SrnKind)) return { ok: false, message: unknownKind(text, kind) };
  }
  return { ok: true, value: { levels: parsed.value } };
}

/**
 * Reads a name of exactly one level and one kind, such as the `{roleSrn}` of a path.
 * @returns the id, or one sentence that says what is wrong
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

/** A compiled pattern. No levels at all is `*` alone, which matches everything. */
export interface SrnPattern {
  readonly source: string;
  readonly levels: readonly SrnPatternLevel[];
  /** The innermost of the levels: what decides mostly, and therefore first. */
  readonly last: SrnPatternLevel | undefined;
}

/**
 * Reads a pattern of a policy's `resources`: a name in which kind and id may hold `*`, or `*` alone.
 * A kind that no resource has is refused, since the pattern could never match.
 */
export function parseSrnPattern(text: string): SrnParseResult<SrnPattern> {
  if (text === '*') return { ok: true, value: { source: text, levels: [], last: undefined } };
  const parsed = parseLevels(text);
  if (!parsed.ok) return parsed;
  const levels = parsed.value.map(({ kind, id }) => ({ kind: compileGlob(kind), id: compileGlob(id) }));
  for (const { kind } of levels) {
    if (!SRN_KINDS.some((known) => globMatches(kind, known))) {
      return { ok: false, message: unknownKind(text, kind.source) };
    }
  }
  return { ok: true, value: { source: text, levels, last: levels.at(-1) } };
}

/** Whether the pattern holds for whatever resource there is: `*` alone, or one level of nothing but stars. */
export function matchesEverything(pattern: SrnPattern): boolean {
  return (
    pattern.levels.every((level) => level.kind.form === 'any' && level.id.form === 'any') && pattern.levels.length < 2
  );
}

/** Where a deployment stands: the outer levels of everything that is asked about. */
export interface Deployment {
  readonly environment: string;
  readonly cluster: string;
}

/**
 * The resource with the levels that this deployment stands in: environment first, then cluster, where it names none of its own.
 * The environment itself has no cluster above it.
 */
export function completeSrn(resource: Srn, deployment: Deployment): readonly SrnLevel[] {
  const { levels } = resource;
  const first = levels[0];
  const environment = first?.kind === 'environment' ? first : { kind: 'environment', id: deployment.environment };
  const rest = first?.kind === 'environment' ? levels.slice(1) : levels;
  if (rest.length === 0 && first) return [environment];
  if (rest[0]?.kind === 'cluster') return [environment, ...rest];
  return [environment, { kind: 'cluster', id: deployment.cluster }, ...rest];
}

/** @param levels a completed resource: a pattern matches when its levels are found among these in order and the last ones meet. */
export function patternMatches(pattern: SrnPattern, levels: readonly SrnLevel[]): boolean {
  const last = pattern.levels.length - 1;
  if (last < 0) return true;
  const inner = levels.length - 1;
  if (!levelMatches(pattern.levels[last], levels[inner])) return false;
  let wanted = 0;
  // The leftmost level that fits is always as good as any later one, since only the order matters.
  for (let at = 0; at < inner && wanted < last; at++) {
    if (levelMatches(pattern.levels[wanted], levels[at])) wanted++;
  }
  return wanted === last;
}

export function levelMatches(pattern: SrnPatternLevel | undefined, level: SrnLevel | undefined): boolean {
  if (!pattern || !level) return false;
  return globMatches(pattern.kind, level.kind) && globMatches(pattern.id, level.id);
}

function parseLevels(text: string): SrnParseResult<SrnLevel[]> {
  if (!text.startsWith(PREFIX)) {
    return {
      ok: false,
      message: `\`${text}\` is no resource name: it must begin with \`${PREFIX}\`, such as \`srn2:table#events\``,
    };
  }
  const parts = text.slice(PREFIX.length).split(':');
  if (parts.length > MAX_LEVELS) {
    return { ok: false, message: `\`${text}\` has ${parts.length} levels: at most ${MAX_LEVELS} are allowed` };
  }
  const levels: SrnLevel[] = [];
  for (const part of parts) {
    const [kind, id, ...more] = part.split('#');
    if (!kind || !id || more.length > 0 || /\s/.test(part)) {
      return {
        ok: false,
        message: `\`${text}\` is no resource name: the level \`${part}\` must be \`<kind>#<id>\` without spaces`,
      };
    }
    levels.push({ kind, id });
  }
  return { ok: true, value: levels };
}

function unknownKind(text: string, kind: string): string {
  const meant = nearest(kind, SRN_KINDS);
  const hint = meant ? `did you mean \`${meant}\`?` : `known kinds are ${SRN_KINDS.join(', ')}`;
  return `\`${text}\` names the kind \`${kind}\`, which no resource has; ${hint}`;
}
