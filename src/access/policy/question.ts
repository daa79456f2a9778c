import type { AskedAction } from './action-set.ts';
import type { CompiledStatement } from './compiled-policy.ts';
import { globMatches } from '../../platform/glob.ts';
import {
  completeSrn,
  MAX_SRN_ID_LENGTH,
  patternMatches,
  type Deployment,
  type Srn,
  type SrnLevel,
  type SrnPattern,
} from './srn.ts';

/**
 * A query to an index: an action on a resource. The object is reused because creating one costs about as much as a decision. Reuse is safe:
 * decisions are synchronous, so queries cannot overlap.
 */
export class Question {
  action: AskedAction = NO_ACTION;
  /** The level that the last level of a pattern must match. */
  last: SrnLevel = NO_LEVEL;
  /** First characters of its id, compared before the full text. */
  head = 0;
  /** Whether a name exceeds the maximum length: nothing is allowed then, and patterns are not compared. */
  tooLong = false;
  /** A statement that matched, of the index that was searched last with a match. */
  deciding: CompiledStatement | undefined;
  readonly #deployment: Deployment;
  #resource: Srn = { levels: [] };
  #levels: readonly SrnLevel[] | undefined;

  constructor(deployment: Deployment) {
    this.#deployment = deployment;
  }

  ask(action: AskedAction, resource: Srn): this {
    const { levels } = resource;
    this.action = action;
    this.last = levels[levels.length - 1] ?? { kind: 'cluster', id: this.#deployment.cluster };
    this.head = headOf(this.last.id);
    this.tooLong = isTooLong(this.last) || (levels.length > 1 && levels.some(isTooLong));
    this.#resource = resource;
    this.#levels = undefined;
    this.deciding = undefined;
    return this;
  }

  /** The completed resource. Computed lazily, because most patterns have a single level. */
  get levels(): readonly SrnLevel[] {
    return (this.#levels ??= completeSrn(this.#resource, this.#deployment));
  }
}

const NO_ACTION: AskedAction = { index: -1, lower: '' };
const NO_LEVEL: SrnLevel = { kind: '', id: '' };

/** The first two characters as a number; 0 for shorter texts. */
export function headOf(text: string): number {
  return text.length < 2 ? 0 : (text.charCodeAt(0) << 16) | text.charCodeAt(1);
}

function isTooLong({ id }: SrnLevel): boolean {
  return id.length > MAX_SRN_ID_LENGTH;
}

/** Matching statements without duplicates, up to a limit. */
export class FoundStatements {
  readonly statements = new Set<CompiledStatement>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get full(): boolean {
    return this.statements.size >= this.#limit;
  }
}

/** Statements of one effect, indexed for queries. */
export interface StatementIndex {
  /**
   * Whether any statement matches. With `found`, matching statements are added to it until it is full.
   * Enforcement and explanation share this function, so they cannot differ.
   */
  matches(question: Question, found?: FoundStatements): boolean;
}

/** Whether a search may end at its first match. */
export function isEnough(found: FoundStatements | undefined): boolean {
  return found === undefined || found.full;
}

/** One pattern of a statement. */
export interface Probe {
  readonly statement: CompiledStatement;
  readonly pattern: SrnPattern;
}

export function matchesQuestion(pattern: SrnPattern, question: Question): boolean {
  const { last } = pattern;
  if (!last) return true;
  if (!globMatches(last.id, question.last.id) || !globMatches(last.kind, question.last.kind)) return false;
  return pattern.levels.length === 1 || patternMatches(pattern, question.levels);
}
