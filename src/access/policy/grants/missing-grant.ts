import { TooManyComparisons, type Gain, type MissingGrant } from '../gain.ts';
import type { CompiledStatement, StatementsByEffect } from '../compiled-policy.ts';
import {
  formatRegion,
  regionIncludes,
  regionIncludesIntersection,
  regionLength,
  regionsIntersect,
  regionsOf,
  type Region,
} from '../region.ts';
import { SRN_KINDS, type SrnKind } from '../srn.ts';
import { OpenActions, type Charged } from './open-actions.ts';

/** Maximum characters in one comparison: some tens of milliseconds of CPU time. */
const MAX_COMPARED_CHARACTERS = 3_000_000;

/**
 * Compares a gain with statements, region by region. See GrantSet.missingGrant().
 *
 * @throws {TooManyComparisons}
 */
export function findMissingGrant(held: StatementsByEffect, gain: Gain): MissingGrant | undefined {
  const budget = new SearchBudget(MAX_COMPARED_CHARACTERS);
  const context: Context = {
    budget,
    allows: byKind(held.allows, budget),
    denies: byKind(held.denies, budget),
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
  readonly budget: SearchBudget;
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
  const covers = (place: MissingPlace): boolean =>
    isHeldWith(place.statement, statement) && budget.spend(place, region) && regionIncludes(place.region, region);
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

/** Whether `held` allows all that `gained` allows on the same resources. By conditions with a value of the caller, others would read other rows. */
function isHeldWith({ conditions: held }: CompiledStatement, { conditions: gained }: CompiledStatement): boolean {
  if (held === undefined) return true;
  return !held.isPersonal && held.key === gained?.key;
}

/** One region of a statement. */
interface MissingPlace {
  readonly statement: CompiledStatement;
  readonly region: Region;
}

type Places = Readonly<Record<SrnKind, readonly MissingPlace[]>>;

/** Statements by kind of resource, those with the shortest patterns first because they cover most. */
function byKind(statements: readonly CompiledStatement[], budget: SearchBudget): Places {
  const places = Object.fromEntries(SRN_KINDS.map((kind) => [kind, [] as MissingPlace[]])) as Record<
    SrnKind,
    MissingPlace[]
  >;
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
class SearchBudget implements Charged {
  #left: number;

  constructor(characters: number) {
    this.#left = characters;
  }

  /** @returns true. @throws {TooManyComparisons} */
  spend({ region }: Pick<MissingPlace, 'region'>, other?: Region): true {
    return this.charge(regionLength(region) + (other ? regionLength(other) : 0));
  }

  /** @returns true. @throws {TooManyComparisons} */
  charge(characters: number): true {
    this.#left -= characters;
    if (this.#left < 0) throw new TooManyComparisons();
    return true;
  }
}
