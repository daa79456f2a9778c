import { actionName, actionNumber, type ActionSet } from '../action-set.ts';
import { DELEGATION_RIGHTS } from '../actions.ts';
import { globIncludes, globsIntersect, type Glob } from '../../../platform/glob.ts';
import type { SrnKind } from '../srn.ts';

/** Counts work against a limit. */
export interface Charged {
  /** @returns true. @throws if the limit is exceeded */
  charge(characters: number): true;
}

/** A part of a statement. */
interface HasActions {
  readonly statement: { readonly actions: ActionSet };
}

/** Unknown actions that every one of the globs matches. */
type Rest = readonly Glob[];

/** Actions that are still to be covered: known ones by number, and for each glob those that it may match in later versions. */
export class OpenActions {
  readonly #bits: Int32Array;
  readonly #budget: Charged;
  #rests: readonly Rest[];

  private constructor(bits: Int32Array, rests: readonly Rest[], budget: Charged) {
    this.#bits = bits;
    this.#rests = rests;
    this.#budget = budget;
  }

  static of({ bits, globs }: ActionSet, kind: SrnKind, budget: Charged): OpenActions {
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
  removeAll<P extends HasActions>(places: readonly P[], covers: (place: P) => boolean): void {
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
