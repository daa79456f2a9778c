import type { CompiledStatement } from './compiled-policy.ts';

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
