import { compileGlob, globIncludes, globMatches, globsIntersect, type Glob } from '../../platform/glob.ts';
import { OUTER_KINDS, SRN_KINDS, type SrnKind, type SrnPattern } from './srn.ts';

/**
 * Resources of one kind: one glob for the id of each of its levels, outermost first. A pattern is a union of few regions, because kinds and
 * the levels of each kind are a closed list. Inclusion and intersection of regions are those of their globs.
 */
export interface Region {
  readonly kind: SrnKind;
  readonly ids: readonly Glob[];
}

const ANY = compileGlob('*');
const cache = new WeakMap<SrnPattern, readonly Region[]>();

/** All resources that a pattern matches, in any deployment. */
export function regionsOf(pattern: SrnPattern): readonly Region[] {
  let regions = cache.get(pattern);
  if (!regions) cache.set(pattern, (regions = SRN_KINDS.flatMap((kind) => regionsOfKind(pattern, kind))));
  return regions;
}

function regionsOfKind({ levels, last }: SrnPattern, kind: SrnKind): Region[] {
  const outerKinds = OUTER_KINDS[kind];
  if (!last) return [{ kind, ids: [...outerKinds.map(() => ANY), ANY] }];
  if (!globMatches(last.kind, kind)) return [];
  const outer = levels.slice(0, -1);
  return placements(
    outer.map((level) => level.kind),
    outerKinds,
  ).map((places) => ({
    kind,
    ids: [...outerKinds.map((_, at) => outer[places.indexOf(at)]?.id ?? ANY), last.id],
  }));
}

/** Every way to place the patterns on the kinds, in order: the index of a kind for each pattern. */
function placements(patterns: readonly Glob[], kinds: readonly string[], from = 0): number[][] {
  const [first, ...rest] = patterns;
  if (!first) return [[]];
  // There are at most two kinds, so this ends after a few steps.
  const found: number[][] = [];
  for (let at = from; at < kinds.length; at++) {
    if (!globMatches(first, kinds[at]!)) continue;
    for (const others of placements(rest, kinds, at + 1)) found.push([at, ...others]);
  }
  return found;
}

/** Whether every resource of `inner` is in `outer`. */
export function regionIncludes(outer: Region, inner: Region): boolean {
  return outer.kind === inner.kind && inner.ids.every((id, at) => globIncludes(outer.ids[at]!, id));
}

/** Whether a resource is in both. */
export function regionsIntersect(a: Region, b: Region): boolean {
  return a.kind === b.kind && a.ids.every((id, at) => globsIntersect(id, b.ids[at]!));
}

/** Whether `outer` includes everything that is in both `a` and `b`. Sound: may be false although it does. */
export function regionIncludesIntersection(outer: Region, a: Region, b: Region): boolean {
  return (
    outer.kind === a.kind && outer.ids.every((id, at) => globIncludes(id, a.ids[at]!) || globIncludes(id, b.ids[at]!))
  );
}

/** As a resource name with the levels that are not `*`. */
export function formatRegion({ kind, ids }: Region): string {
  const kinds = [...OUTER_KINDS[kind], kind];
  const levels = kinds.map((name, at) => ({ name, id: ids[at]!.source }));
  return `srn2:${levels
    .filter(({ id }, at) => at === kinds.length - 1 || id !== '*')
    .map(({ name, id }) => `${name}#${id}`)
    .join(':')}`;
}

/** Characters of the globs: an upper bound for the work of one comparison of two regions, per region. */
export function regionLength({ ids }: Region): number {
  return ids.reduce((sum, { source }) => sum + source.length, 1);
}
