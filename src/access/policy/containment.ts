import { actionName, actionNumber, type ActionSet } from './action-set.ts';
import { DELEGATION_RIGHTS } from './actions.ts';
import type { CompiledStatement } from './compiled-policy.ts';
import { globIncludes, globsIntersect, type Glob } from './glob.ts';
import type { GrantSet } from './grant-set.ts';
import {
  formatRegion,
  regionIncludes,
  regionIncludesIntersection,
  regionLength,
  regionsIntersect,
  regionsOf,
  type Region,
} from './region.ts';
import { SRN_KINDS, type SrnKind } from './srn.ts';

/** What subjects gain by a change. */
export interface Gain {
  /** Statements whose actions on their resources are gained. A deny in this list no longer applies: what it denied is gained. */
  readonly gained: readonly CompiledStatement[];
  /** Denies that apply to every subject that gains something. */
  readonly denied?: readonly CompiledStatement[];
}

/** The first grant of a gain that the caller does not hold. */
export interface MissingGrant {
  readonly statement: CompiledStatement;
  /** Name of an action, or an action pattern whose future matches are missing. */
  readonly action: string;
  readonly resource: string;
  /** The statement that denies it to the caller; undefined if no statement allows it. */
  readonly deniedBy: CompiledStatement | undefined;
}

/** The comparison of a gain with the caller's grants exceeded its limit. */
export class TooManyComparisons extends Error {}

/** Maximum characters in one comparison: some tens of milliseconds of CPU time. */
const MAX_COMPARED_CHARACTERS = 3_000_000;

/**
 * The first grant of `gain` that the caller does not hold; undefined if the caller holds all of them.
 *
 * Sound: if it returns undefined, every gained action on every gained resource is allowed to the caller, including actions that
 * later versions add. A part of a region that no single statement of the caller covers counts as missing.
 *
 * @throws {TooManyComparisons}
 */
export function findMissingGrant(caller: GrantSet, gain: Gain): MissingGrant | undefined {
  const budget = new Budget(MAX_COMPARED_CHARACTERS);
  const context: Context = {
    budget,
    allows: byKind(caller.unreadable ? [] : statementsOf(caller, 'allow'), budget),
    denies: byKind(statementsOf(caller, 'deny'), budget),
    denied: byKind(gain.denied ?? [], budget),
  };
  for (const statement of gain.gained) {
    for (const region of statement.resources.flatMap(regionsOf)) {
      const missing = missingIn(region, statement, context);
      if (missing) return { statement, resource: formatRegion(region), ...missing };
    }
  }
  return undefined;
}

interface Context {
  readonly budget: Budget;
  readonly allows: Places;
  readonly denies: Places;
  readonly denied: Places;
}

function missingIn(
  region: Region,
  statement: CompiledStatement,
  { budget, allows, denies, denied }: Context,
): Pick<MissingGrant, 'action' | 'deniedBy'> | undefined {
  const wanted = OpenActions.of(statement.actions, region.kind, budget);
  const covers = (place: Place): boolean => budget.spend(place, region) && regionIncludes(place.region, region);
  wanted.removeAll(denied[region.kind], covers);
  const open = wanted.copy();
  open.removeAll(allows[region.kind], covers);
  if (!open.isEmpty) return { action: open.first(), deniedBy: undefined };
  for (const deny of denies[region.kind]) {
    if (wanted.isEmpty) return undefined;
    budget.spend(deny, region);
    if (!regionsIntersect(deny.region, region)) continue;
    const taken = wanted.intersection(deny.statement.actions);
    taken.removeAll(denied[region.kind], (place) => {
      return budget.spend(place, region) && regionIncludesIntersection(place.region, deny.region, region);
    });
    if (!taken.isEmpty) return { action: taken.first(), deniedBy: deny.statement };
  }
  return undefined;
}

/** One region of a statement. */
interface Place {
  readonly statement: CompiledStatement;
  readonly region: Region;
}

type Places = Readonly<Record<SrnKind, readonly Place[]>>;

function statementsOf(grants: GrantSet, effect: 'allow' | 'deny'): CompiledStatement[] {
  return grants.policies.flatMap(({ policy }) => policy.statements.filter((statement) => statement.effect === effect));
}

/** Statements by kind of resource, those with the shortest patterns first because they cover most. */
function byKind(statements: readonly CompiledStatement[], budget: Budget): Places {
  const places = Object.fromEntries(SRN_KINDS.map((kind) => [kind, [] as Place[]])) as Record<SrnKind, Place[]>;
  for (const statement of statements) {
    for (const region of statement.resources.flatMap(regionsOf)) {
      budget.spend({ region });
      places[region.kind].push({ statement, region });
    }
  }
  for (const kind of SRN_KINDS) places[kind].sort((a, b) => regionLength(a.region) - regionLength(b.region));
  return places;
}

/** Limits the work, because callers control both sides of the comparison. */
class Budget {
  #left: number;

  constructor(characters: number) {
    this.#left = characters;
  }

  /** @returns true. @throws {TooManyComparisons} */
  spend({ region }: Pick<Place, 'region'>, other?: Region): true {
    return this.charge(regionLength(region) + (other ? regionLength(other) : 0));
  }

  /** @returns true. @throws {TooManyComparisons} */
  charge(characters: number): true {
    this.#left -= characters;
    if (this.#left < 0) throw new TooManyComparisons();
    return true;
  }
}

/** Unknown actions that every one of the globs matches. */
type Rest = readonly Glob[];

/** Actions that are still to be covered: known ones by number, and for each glob those that it may match in later versions. */
class OpenActions {
  readonly #bits: Int32Array;
  readonly #budget: Budget;
  #rests: readonly Rest[];

  private constructor(bits: Int32Array, rests: readonly Rest[], budget: Budget) {
    this.#bits = bits;
    this.#rests = rests;
    this.#budget = budget;
  }

  static of({ bits, globs }: ActionSet, kind: SrnKind, budget: Budget): OpenActions {
    const copy = Int32Array.from(bits);
    for (const [right, kindOfRight] of Object.entries(DELEGATION_RIGHTS)) {
      // A delegation right applies to one kind of resource only.
      if (kindOfRight !== kind) clearBit(copy, actionNumber(right));
    }
    return new OpenActions(
      copy,
      starred(globs).map((glob) => [glob]),
      budget,
    );
  }

  get isEmpty(): boolean {
    return this.#rests.length === 0 && this.#bits.every((word) => word === 0);
  }

  copy(): OpenActions {
    return new OpenActions(Int32Array.from(this.#bits), this.#rests, this.#budget);
  }

  /** Removes the actions of all places that `covers` accepts. */
  removeAll(places: readonly Place[], covers: (place: Place) => boolean): void {
    for (const place of places) {
      if (this.isEmpty) return;
      this.#budget.charge(1);
      if (this.#sharesAny(place.statement.actions) && covers(place)) this.#remove(place.statement.actions);
    }
  }

  intersection({ bits, globs }: ActionSet): OpenActions {
    const others = starred(globs);
    this.#budget.charge(this.#rests.length * others.length * ACTION_LENGTH);
    const rests = this.#rests.flatMap((rest) =>
      others.filter((glob) => rest.every((mine) => globsIntersect(mine, glob))).map((glob) => rest.concat(glob)),
    );
    return new OpenActions(
      this.#bits.map((word, at) => word & bits[at]!),
      rests,
      this.#budget,
    );
  }

  /** A name of the actions that are left; prefers known ones. */
  first(): string {
    for (const [word, left] of this.#bits.entries()) {
      if (left !== 0) return actionName(word * 32 + (31 - Math.clz32(left & -left)));
    }
    return this.#rests[0]?.at(-1)?.source ?? '';
  }

  #sharesAny({ bits, globs }: ActionSet): boolean {
    return (this.#rests.length > 0 && globs.length > 0) || this.#bits.some((word, at) => (word & bits[at]!) !== 0);
  }

  #remove({ bits, globs }: ActionSet): void {
    for (const [at, word] of bits.entries()) this.#bits[at] = this.#bits[at]! & ~word;
    this.#budget.charge(this.#rests.length * globs.length * ACTION_LENGTH);
    this.#rests = this.#rests.filter((rest) => !globs.some((glob) => rest.some((mine) => globIncludes(glob, mine))));
  }
}

/** Typical length of an action pattern. */
const ACTION_LENGTH = 8;

function starred(globs: readonly Glob[]): readonly Glob[] {
  return globs.filter(({ form }) => form !== 'exact');
}

function clearBit(bits: Int32Array, index: number): void {
  bits[index >>> 5] = bits[index >>> 5]! & ~(1 << (index & 31));
}
