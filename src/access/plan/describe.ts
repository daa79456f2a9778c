import { compileGlob, globMatches } from '../../platform/glob.ts';
import { ACTIONS_BY_KIND, type KindWithActions } from '../policy/action-kinds.ts';
import { OUTER_KINDS } from '../policy/srn.ts';
import type { Literal } from './cells.ts';
import type { Extent } from './cover.ts';

/** More names of a list are only counted. */
const MAX_LISTED = 12;
/** A list of actions that lacks no more than this many is shown by what it lacks. */
const MAX_BUT = 4;

/** Every action that exists on the kind; others of it are asked only by few calls. */
export function isEveryAction(kind: KindWithActions, actions: readonly string[]): boolean {
  return new Set(ACTIONS_BY_KIND[kind]).isSubsetOf(new Set(actions));
}

/** @param patterns of policies, by which actions are summed up */
export function describeActions(
  kind: KindWithActions,
  actions: readonly string[],
  patterns: readonly string[],
): string {
  if (isEveryAction(kind, actions)) return 'every action';
  const left = new Set(actions);
  const usual = ACTIONS_BY_KIND[kind];
  const missing = usual.filter((action) => !left.has(action));
  if (missing.length <= MAX_BUT && missing.length < left.size) return `every action but ${listed(missing.map(quoted))}`;
  const shown: string[] = [];
  for (const pattern of new Set(patterns)) {
    if (!pattern.includes('*')) continue;
    const glob = compileGlob(pattern.toLowerCase());
    const matched = usual.filter((action) => globMatches(glob, action.toLowerCase()));
    if (matched.length < 2 || !matched.every((action) => left.has(action))) continue;
    shown.push(pattern);
    for (const action of matched) left.delete(action);
  }
  return listed([...shown, ...left].map(quoted));
}

const PLURAL: Readonly<Record<KindWithActions, string>> = {
  table: 'tables',
  cluster: 'clusters',
  role: 'roles',
  policy: 'policies',
  'service-token': 'service tokens',
};
const SINGULAR: Readonly<Record<string, string>> = { 'service-token': 'service token' };

/** @param extents of the same kind */
export function describeExtents(kind: KindWithActions, extents: readonly Extent[]): string {
  const [first] = extents;
  if (extents.length === 1 && first) return describeExtent(kind, first);
  const names = extents.map(({ within }) => quoted(within[0]?.glob.source ?? '*'));
  return `${kind === 'table' ? '' : `${PLURAL[kind]} `}${listed(names)}`;
}

/** Whether the extent is one glob of names, so that it can be listed with others. */
export function isOneName(kind: KindWithActions, { within, except }: Extent): boolean {
  return except.length === 0 && within.length === 1 && within[0]?.level === OUTER_KINDS[kind].length;
}

/** Whether the extent is all resources of its kind. */
export function isEverything({ within, except }: Extent): boolean {
  return within.length === 0 && except.length === 0;
}

function describeExtent(kind: KindWithActions, { within, except }: Extent): string {
  const names = describeLiterals(kind, within);
  if (except.length === 0) return names;
  return `${names} except ${listed(except.map((literals) => describeLiterals(kind, literals)))}`;
}

function describeLiterals(kind: KindWithActions, literals: readonly Literal[]): string {
  const outerKinds = OUTER_KINDS[kind];
  const own = literals.filter(({ level }) => level === outerKinds.length).map(({ glob }) => quoted(glob.source));
  const outer = outerKinds.flatMap((name, level) => {
    const globs = literals.filter((literal) => literal.level === level).map(({ glob }) => quoted(glob.source));
    return globs.length === 0 ? [] : [`of ${name} ${globs.join(' and ')}`];
  });
  return [describeNames(kind, own), ...outer.reverse()].join(' ');
}

function describeNames(kind: KindWithActions, globs: readonly string[]): string {
  if (globs.length === 0) return kind === 'cluster' ? 'the cluster' : `all ${PLURAL[kind]}`;
  if (globs.length > 1) return `${PLURAL[kind]} that match ${globs.join(' and ')}`;
  return kind === 'table' ? globs.join() : `${SINGULAR[kind] ?? kind} ${globs.join()}`;
}

/** An extent for programs: names of levels with their globs. */
export function shownExtent(kind: KindWithActions, { within, except }: Extent) {
  const kinds = [...OUTER_KINDS[kind], kind];
  const shown = (literals: readonly Literal[]) =>
    literals.map(({ level, glob }) => ({ kind: kinds[level], name: glob.source }));
  return { within: shown(within), except: except.map(shown) };
}

export function quoted(text: string): string {
  return `\`${text}\``;
}

export function listed(texts: readonly string[]): string {
  const more = texts.length - MAX_LISTED;
  return more > 1 ? `${texts.slice(0, MAX_LISTED).join(', ')} and ${more} more` : texts.join(', ');
}
