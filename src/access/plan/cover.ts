import { globIncludes, type Glob } from '../../platform/glob.ts';
import type { Cell, Literal } from './cells.ts';

/** Resources that match all globs of `within`, less those that match all globs of one of `except`. An empty list matches everything. */
export interface Extent {
  readonly within: readonly Literal[];
  readonly except: readonly (readonly Literal[])[];
  /** One of the cells that it has. */
  readonly cell: Cell;
}

/** Describes sets of cells by few globs: from the widest ones to those that are left. */
export class Cover {
  readonly #cells: readonly Cell[];
  readonly #literals: readonly Literal[];
  /** The cells that match a literal. */
  readonly #cellsOf: readonly (readonly Cell[])[];

  constructor({ cells, literals }: { readonly cells: readonly Cell[]; readonly literals: readonly Literal[] }) {
    // The widest cells first, and the others in a fixed order.
    this.#cells = cells.toSorted(
      (a, b) => a.matched.size - b.matched.size || compare(a.names.join(' '), b.names.join(' ')),
    );
    this.#literals = literals;
    const cellsOf = literals.map((): Cell[] => []);
    for (const cell of this.#cells) for (const index of cell.matched) cellsOf[index]?.push(cell);
    this.#cellsOf = cellsOf;
  }

  /** Extents that together have exactly these cells. */
  extentsOf(wanted: ReadonlySet<Cell>): Extent[] {
    const left = new Set(wanted);
    const extents: Extent[] = [];
    for (const cell of this.#cells) {
      if (!left.has(cell)) continue;
      const inside = this.#cellsIn(cell);
      const except = this.#exceptions(cell, inside, wanted);
      for (const other of inside) if (!except.some((literals) => matchesAll(other, literals))) left.delete(other);
      const shown = except.map((literals) => literals.map((index) => this.#literals[index]!));
      extents.push({ within: this.#narrowest(cell.matched), except: shown, cell });
    }
    return extents;
  }

  /** The cells that match everything that a cell matches. */
  #cellsIn({ matched }: Cell): readonly Cell[] {
    const rarest = [...matched].toSorted((a, b) => this.#cellsOf[a]!.length - this.#cellsOf[b]!.length)[0];
    const candidates = rarest === undefined ? this.#cells : this.#cellsOf[rarest]!;
    return candidates.filter((cell) => matched.isSubsetOf(cell.matched));
  }

  /** What the extent of a cell must leave out: a whole glob where none of it is wanted, otherwise the narrowest globs of one cell. */
  #exceptions(cell: Cell, inside: readonly Cell[], wanted: ReadonlySet<Cell>): number[][] {
    const wantedBy = new Map<number, number>();
    for (const other of inside) {
      if (!wanted.has(other)) continue;
      for (const index of other.matched) wantedBy.set(index, (wantedBy.get(index) ?? 0) + 1);
    }
    const whole = new Set<number>();
    const parts: number[][] = [];
    for (const other of inside) {
      if (wanted.has(other) || !other.matched.isDisjointFrom(whole)) continue;
      if (parts.some((literals) => matchesAll(other, literals))) continue;
      const own = [...other.matched.difference(cell.matched)];
      const [widest] = own
        .filter((index) => !wantedBy.has(index))
        .toSorted((a, b) => this.#cellsOf[b]!.length - this.#cellsOf[a]!.length);
      if (widest === undefined) parts.push(this.#narrowestOf(own));
      else whole.add(widest);
    }
    return [...[...whole].map((index) => [index]), ...parts];
  }

  #narrowest(matched: Iterable<number>): Literal[] {
    return this.#narrowestOf([...matched]).map((index) => this.#literals[index]!);
  }

  /** Without the globs that include another one at their level. */
  #narrowestOf(indexes: readonly number[]): number[] {
    const literal = (index: number): Literal => this.#literals[index]!;
    const isWider = (a: Literal, b: Literal): boolean =>
      a.level === b.level && a.glob !== b.glob && includesStrictly(a.glob, b.glob);
    return indexes.filter((index) => !indexes.some((other) => isWider(literal(index), literal(other))));
  }
}

/** Two spellings of one glob, as `a*` and `a**`, include each other: the first one stays. */
function includesStrictly(outer: Glob, inner: Glob): boolean {
  if (!globIncludes(outer, inner)) return false;
  return !globIncludes(inner, outer) || outer.source > inner.source;
}

function matchesAll({ matched }: Cell, literals: readonly number[]): boolean {
  return literals.every((index) => matched.has(index));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
