import type { CallerValues } from '../sql/row-filter.ts';
import type { KindWithActions } from '../policy/action-kinds.ts';
import { ACTION_COUNT, actionName, actionNumber } from '../policy/action-set.ts';
import { shownConditions, type ShownConditions } from '../policy/conditions/partly-allowed.ts';
import {
  compareHeld,
  hasBit,
  hasDifference,
  placeMatches,
  type Cell,
  type CellReading,
  type KindCells,
  type Place,
} from './cells.ts';
import { Cover, type Extent } from './cover.ts';
import type { Held } from './policy-set.ts';

export type Direction = 'gain' | 'loss';
export type Side = 'before' | 'after';

/** What may be read of a table. */
export type ShownReading = 'nothing' | 'everything' | ShownConditions;

/** A statement by which a change takes effect, on the side that has it; or an invalid policy, which denies everything. */
export interface Origin {
  readonly side: Side;
  readonly policy: string;
  /** Undefined for an invalid policy. */
  readonly place: Pick<Place, 'key' | 'statement'> | undefined;
}

/** Actions on resources that a caller gains or loses. */
export interface Change {
  /** Both, where other rows or columns may be read than before. */
  readonly directions: readonly Direction[];
  readonly kind: KindWithActions;
  /** Names of actions; `*` for unknown calls. */
  readonly actions: readonly string[];
  readonly extent: Extent;
  /** Where a part of the tables may be read before or after. */
  readonly reading?: { readonly before: ShownReading; readonly after: ShownReading };
  readonly origins: readonly Origin[];
  /** Whether the role `system-admin` is gained or lost. */
  readonly administers: boolean;
}

/** All changes between what a caller had and has, as few statements. @throws {TooMuchToCompare} */
export function changesBetween(before: Held, after: Held, values: CallerValues): Change[] {
  const changes: Change[] = [];
  for (const found of compareHeld(before, after, values)) {
    const context = { found, cover: new Cover(found), before, after };
    changes.push(...actionChanges('gain', context), ...actionChanges('loss', context));
    changes.push(...readingChanges(context, values));
  }
  return changes;
}

interface Context {
  readonly found: KindCells;
  readonly cover: Cover;
  readonly before: Held;
  readonly after: Held;
}

function* actionChanges(direction: Direction, context: Context): Generator<Change, void, void> {
  const { found, cover, before, after } = context;
  for (const { actions, cells } of groupsOf(found.cells, direction)) {
    const names = actions.map(actionName);
    for (const extent of cover.extentsOf(cells)) {
      yield {
        directions: [direction],
        kind: found.kind,
        actions: names,
        extent,
        origins: originsOf(direction, extent.cell, actions[0]!, context),
        administers: before.administers !== after.administers && found.kind !== 'table',
      };
    }
  }
}

/** Actions with the same cells. */
function groupsOf(cells: readonly Cell[], direction: Direction): { actions: number[]; cells: Set<Cell> }[] {
  const byAction = new Map<number, number[]>();
  for (const [index, cell] of cells.entries()) {
    if (!hasDifference(cell)) continue;
    const bits = direction === 'gain' ? cell.gained : cell.lost;
    for (let action = 0; action < ACTION_COUNT; action++) {
      if (!hasBit(bits, action)) continue;
      const known = byAction.get(action);
      if (known) known.push(index);
      else byAction.set(action, [index]);
    }
  }
  const groups = new Map<string, { actions: number[]; cells: Set<Cell> }>();
  for (const [action, indexes] of byAction) {
    const key = indexes.join();
    const group = groups.get(key);
    if (group) group.actions.push(action);
    else groups.set(key, { actions: [action], cells: new Set(indexes.map((index) => cells[index]!)) });
  }
  return [...groups.values()];
}

function* readingChanges(context: Context, values: CallerValues): Generator<Change, void, void> {
  const { found, cover } = context;
  const groups = new Map<string, Set<Cell>>();
  for (const cell of found.cells) {
    if (cell.readings === undefined) continue;
    const key = JSON.stringify([cell.readings.before.key, cell.readings.after.key]);
    const group = groups.get(key);
    if (group) group.add(cell);
    else groups.set(key, new Set([cell]));
  }
  for (const cells of groups.values()) {
    for (const extent of cover.extentsOf(cells)) {
      const { before, after } = extent.cell.readings!;
      const directions = directionsOf(before, after);
      yield {
        directions,
        kind: found.kind,
        actions: ['Query'],
        extent,
        reading: { before: shown(before, values), after: shown(after, values) },
        origins: directions.flatMap((direction) => originsOf(direction, extent.cell, QUERY, context)),
        administers: false,
      };
    }
  }
}

const QUERY = actionNumber('Query');

function shown({ key, part }: CellReading, values: CallerValues): ShownReading {
  if (part !== undefined) return shownConditions(part, values);
  return key === 'all' ? 'everything' : 'nothing';
}

/** With a further statement nobody reads less, because what statements allow is united. Of other conditions it is not known. */
function directionsOf(before: CellReading, after: CellReading): readonly Direction[] {
  if (before.key === 'none' || after.key === 'all') return ['gain'];
  if (before.key === 'all' || after.key === 'none') return ['loss'];
  const [was, is] = [conditionsOf(before), conditionsOf(after)];
  if (was.isSubsetOf(is)) return ['gain'];
  return is.isSubsetOf(was) ? ['loss'] : ['gain', 'loss'];
}

function conditionsOf({ part }: CellReading): ReadonlySet<string | undefined> {
  return new Set(part?.statements.map(({ conditions }) => conditions?.key));
}

/** The statements that make a difference in a cell. */
function originsOf(direction: Direction, cell: Cell, action: number, { found, before, after }: Context): Origin[] {
  const [from, to]: readonly [Side, Side] = direction === 'gain' ? ['before', 'after'] : ['after', 'before'];
  const invalid = (direction === 'gain' ? before : after).invalid;
  if (invalid.length > 0) return invalid.map((policy) => ({ side: from, policy, place: undefined }));
  const places = found.places.filter(
    (place) => hasBit(place.statement.actions.bits, action) && placeMatches(place, cell.names),
  );
  const isIn = (place: Place, side: Side): boolean => (side === 'before' ? place.inBefore : place.inAfter);
  const allows = places.filter(({ statement }) => statement.effect === 'allow');
  const added = allows.filter((place) => isIn(place, to) && !isIn(place, from));
  const lifted = places.filter((place) => place.statement.effect === 'deny' && isIn(place, from) && !isIn(place, to));
  // An allow of both sides takes effect as soon as nothing denies it.
  const isAllowedBefore = allows.some((place) => isIn(place, from) && isIn(place, to) && !place.statement.conditions);
  const deciding = isAllowedBefore ? lifted : [...added, ...lifted];
  return deciding.map((place) => ({ side: isIn(place, to) ? to : from, policy: place.policy, place }));
}
