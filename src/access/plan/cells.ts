import { ANY_ACTION } from '../../pinot/action-names.ts';
import { globMatches, type Glob } from '../../platform/glob.ts';
import type { CallerValues } from '../sql/row-filter.ts';
import {
  actionsAskedOn,
  actionsOnlyDeniedOn,
  KINDS_WITH_ACTIONS,
  type KindWithActions,
} from '../policy/action-kinds.ts';
import { ACTION_WORDS, actionNumber, askAction, type ActionBits } from '../policy/action-set.ts';
import { isAccessManagement } from '../policy/administration.ts';
import { partOfStatements, type PartlyAllowed } from '../policy/conditions/partly-allowed.ts';
import { regionsIntersect, regionsOf, type Region } from '../policy/region.ts';
import { Effort, TooMuchToCompare } from './effort.ts';
import type { Held, HeldStatement } from './policy-set.ts';
import { witnesses } from './witnesses.ts';

/** A statement of one side or of both, with its regions of one kind. */
export interface Place extends HeldStatement {
  readonly inBefore: boolean;
  readonly inAfter: boolean;
  readonly regions: readonly Region[];
}

/** What a caller may read of the tables of a cell. */
export interface CellReading {
  /** `none`, `all`, or equal for equal conditions. */
  readonly key: string;
  readonly part: PartlyAllowed | undefined;
}

/** A glob at a level of a kind. */
export interface Literal {
  readonly level: number;
  readonly glob: Glob;
}

/** Resources that match the same globs: each decision is the same for all of them. */
export interface Cell {
  /** A name of one of them: one for each level, outermost first. */
  readonly names: readonly string[];
  /** Positions in `literals` of the globs that match. */
  readonly matched: ReadonlySet<number>;
  readonly gained: ActionBits;
  readonly lost: ActionBits;
  /** What may be queried, where it differs and one of both sides is a part of the table. */
  readonly readings: { readonly before: CellReading; readonly after: CellReading } | undefined;
}

/** All cells of one kind of resources. */
export interface KindCells {
  readonly kind: KindWithActions;
  readonly literals: readonly Literal[];
  readonly cells: readonly Cell[];
  readonly places: readonly Place[];
}

/** Comparisons of a name with a glob for one pair of grants: about a second. */
const MAX_STEPS = 20_000_000;
const MAX_CELLS = 50_000;

/**
 * Compares what the same subject has before and after a change, for all actions and all resources: they are divided into cells by the globs of
 * the statements that meet a changed one.
 * @returns the kinds with a difference
 * @throws {TooMuchToCompare}
 */
export function compareHeld(before: Held, after: Held, values: CallerValues): KindCells[] {
  const effort = new Effort(MAX_STEPS);
  const statements = joined(before, after);
  return KINDS_WITH_ACTIONS.flatMap((kind) => {
    const found = cellsOf(kind, { before, after, statements, values, effort });
    return found === undefined ? [] : [found];
  });
}

interface Comparison {
  readonly before: Held;
  readonly after: Held;
  readonly statements: readonly Omit<Place, 'regions'>[];
  readonly values: CallerValues;
  readonly effort: Effort;
}

/** The statements of both sides, each content once for each policy. */
function joined(before: Held, after: Held): Omit<Place, 'regions'>[] {
  const inBefore = new Set(before.statements.map(({ key }) => key));
  const inAfter = new Set(after.statements.map(({ key }) => key));
  const all = new Map<string, HeldStatement>();
  for (const held of [...after.statements, ...before.statements]) {
    const id = `${held.policy} ${held.key}`;
    if (!all.has(id)) all.set(id, held);
  }
  const placed = (held: HeldStatement): Omit<Place, 'regions'> => ({
    ...held,
    inBefore: inBefore.has(held.key),
    inAfter: inAfter.has(held.key),
  });
  return [...all.values()].map(placed);
}

function cellsOf(kind: KindWithActions, comparison: Comparison): KindCells | undefined {
  const { before, after, statements, effort } = comparison;
  const places = statements.flatMap((held): Place[] => {
    const regions = held.statement.resources.flatMap(regionsOf).filter((region) => region.kind === kind);
    return regions.length === 0 ? [] : [{ ...held, regions }];
  });
  const changed = places.filter(({ inBefore, inAfter }) => inBefore !== inAfter).flatMap(({ regions }) => regions);
  const admin = before.administers !== after.administers && ADMINISTERED[kind].some((word) => word !== 0);
  if (changed.length === 0 && !admin) return undefined;
  const meets = ({ regions }: Place): boolean =>
    regions.some((region) => changed.some((other) => (effort.spend(1), regionsIntersect(region, other))));
  const relevant = admin ? places : places.filter(meets);
  const levels = levelsOf(relevant, admin ? kind : undefined);
  const literals = levels.flatMap((globs, level) =>
    globs.flatMap((glob): Literal[] => (glob.form === 'any' ? [] : [{ level, glob }])),
  );
  const judge = judgeOf(kind, relevant, comparison);
  const tuples = productOf(levels.map((globs) => witnesses(globs, effort)));
  const cellOf = (names: readonly string[]): Cell => ({
    names,
    matched: matchedBy(names, literals, effort),
    ...judge(names),
  });
  const cells = tuples.map(cellOf);
  return cells.some(hasDifference) ? { kind, literals, cells, places: relevant } : undefined;
}

export function hasDifference({ gained, lost, readings }: Cell): boolean {
  return readings !== undefined || gained.some((word) => word !== 0) || lost.some((word) => word !== 0);
}

export function placeMatches({ regions }: Pick<Place, 'regions'>, names: readonly string[]): boolean {
  return regions.some(({ ids }) => ids.every((id, level) => globMatches(id, names[level]!)));
}

const DEPTH: Readonly<Record<KindWithActions, number>> = {
  cluster: 2,
  table: 3,
  role: 2,
  policy: 2,
  'service-token': 2,
};

/** The globs of each level, without duplicates. */
function levelsOf(places: readonly Place[], whole: KindWithActions | undefined): Glob[][] {
  const depth = whole === undefined ? (places[0]?.regions[0]?.ids.length ?? 0) : DEPTH[whole];
  const levels = Array.from({ length: depth }, () => new Map<string, Glob>());
  for (const { ids } of places.flatMap(({ regions }) => regions))
    for (const [level, id] of ids.entries()) levels[level]?.set(id.form === 'any' ? '*' : id.source, id);
  // The management of access is that of all resources.
  if (whole !== undefined) for (const level of levels) if (!level.has('*')) level.set('*', ANY);
  return levels.map((globs) => Array.from(globs.values()));
}

const ANY: Glob = { source: '*', form: 'any', literal: '', inner: [], suffix: '' };

function productOf(levels: readonly (readonly string[])[]): string[][] {
  if (levels.reduce((product, names) => product * names.length, 1) > MAX_CELLS) throw new TooMuchToCompare();
  return levels.reduce<string[][]>(
    (tuples, names) => tuples.flatMap((tuple) => names.map((name) => [...tuple, name])),
    [[]],
  );
}

function matchedBy(names: readonly string[], literals: readonly Literal[], effort: Effort): Set<number> {
  effort.spend(literals.length);
  return new Set(literals.flatMap(({ level, glob }, index) => (globMatches(glob, names[level]!) ? [index] : [])));
}

/** One side of a decision about a cell. */
class Side {
  readonly allowed = new Int32Array(ACTION_WORDS);
  readonly denied = new Int32Array(ACTION_WORDS);
  readonly conditional: HeldStatement['statement'][] = [];

  add({ statement }: HeldStatement): void {
    const { effect, actions, conditions } = statement;
    if (conditions !== undefined) this.conditional.push(statement);
    else include(effect === 'allow' ? this.allowed : this.denied, actions.bits);
  }
}

/** @returns the difference in a cell, by one of its names */
function judgeOf(
  kind: KindWithActions,
  places: readonly Place[],
  { before, after, statements, values, effort }: Comparison,
): (names: readonly string[]) => Pick<Cell, 'gained' | 'lost' | 'readings'> {
  const onCluster = kind === 'table' ? allowedOnCluster(statements) : undefined;
  const decided = (side: Side, { administers }: Held): ActionBits =>
    ASKED[kind].map((asked, at) => {
      const unlessDenied = (onCluster?.[at] ?? 0) & ONLY_DENIED[kind][at]!;
      const allowed = ((side.allowed[at]! & asked) | unlessDenied) & ~side.denied[at]!;
      return administers ? allowed | ADMINISTERED[kind][at]! : allowed;
    });
  const readingOf = (side: Side, bits: ActionBits): CellReading => {
    if (hasBit(bits, QUERY)) return { key: 'all', part: undefined };
    const part = hasBit(side.denied, QUERY) ? undefined : partOfStatements(side.conditional, values);
    if (part === undefined) return { key: 'none', part };
    return part.conditions === undefined ? { key: 'all', part: undefined } : { key: part.conditions.key, part };
  };
  return (names) => {
    const [was, is] = [new Side(), new Side()];
    let isChanged = before.administers !== after.administers;
    effort.spend(places.length);
    for (const place of places) {
      if (!placeMatches(place, names)) continue;
      isChanged ||= place.inBefore !== place.inAfter;
      if (place.inBefore) was.add(place);
      if (place.inAfter) is.add(place);
    }
    if (!isChanged) return { gained: NONE, lost: NONE, readings: undefined };
    const [old, now] = [decided(was, before), decided(is, after)];
    const gained = now.map((word, at) => word & ~old[at]!);
    const lost = old.map((word, at) => word & ~now[at]!);
    if (kind !== 'table') return { gained, lost, readings: undefined };
    const readings = { before: readingOf(was, old), after: readingOf(is, now) };
    const [a, b] = [readings.before.key, readings.after.key];
    // Statements with conditions may allow everything together.
    setBit(gained, QUERY, a === 'none' && b === 'all');
    setBit(lost, QUERY, a === 'all' && b === 'none');
    const isPart = a !== b && (readings.before.part ?? readings.after.part) !== undefined;
    return { gained, lost, readings: isPart ? readings : undefined };
  };
}

/** The actions that a statement of both sides allows on some cluster. */
function allowedOnCluster(statements: readonly Omit<Place, 'regions'>[]): ActionBits {
  const [was, is] = [new Int32Array(ACTION_WORDS), new Int32Array(ACTION_WORDS)];
  for (const { statement, inBefore, inAfter } of statements) {
    if (statement.effect !== 'allow' || statement.conditions !== undefined) continue;
    if (!statement.resources.some((pattern) => regionsOf(pattern).some(({ kind }) => kind === 'cluster'))) continue;
    if (inBefore) include(was, statement.actions.bits);
    if (inAfter) include(is, statement.actions.bits);
  }
  return was.map((word, at) => word & is[at]!);
}

const NONE: ActionBits = new Int32Array(ACTION_WORDS);
const QUERY = actionNumber('Query');

function bitsOf(actions: Iterable<string>): ActionBits {
  const bits = new Int32Array(ACTION_WORDS);
  for (const action of actions) setBit(bits, actionNumber(action), true);
  return bits;
}

function byKind(
  actionsOf: (kind: KindWithActions) => readonly string[],
): Readonly<Record<KindWithActions, ActionBits>> {
  const entries = KINDS_WITH_ACTIONS.map((kind) => [kind, bitsOf(actionsOf(kind))] as const);
  return Object.fromEntries(entries) as unknown as Record<KindWithActions, ActionBits>;
}

/** The actions that requests ask for on the resources of each kind. */
const ASKED = byKind((kind) => (kind === 'cluster' ? [ANY_ACTION, ...actionsAskedOn(kind)] : actionsAskedOn(kind)));
const ONLY_DENIED = byKind(actionsOnlyDeniedOn);
/** What nothing takes from a holder of `system-admin`. */
const ADMINISTERED = byKind((kind) =>
  actionsAskedOn(kind).filter((action) =>
    isAccessManagement({ action: askAction(action), last: { kind, id: '' }, tooLong: false }),
  ),
);

function include(bits: ActionBits, more: ActionBits): void {
  for (const [at, word] of more.entries()) bits[at] = bits[at]! | word;
}

export function hasBit(bits: ActionBits, index: number): boolean {
  return (bits[index >>> 5]! & (1 << (index & 31))) !== 0;
}

function setBit(bits: ActionBits, index: number, value: boolean): void {
  const mask = 1 << (index & 31);
  bits[index >>> 5] = value ? bits[index >>> 5]! | mask : bits[index >>> 5]! & ~mask;
}
