import type { Decision, DecisionReason, MatchedStatement } from '../authorizer.ts';
import type { CompiledPolicy, CompiledStatement } from './compiled-policy.ts';
import type { SrnPatternLevel } from './srn.ts';
import { FoundStatements, type Question, type StatementIndex } from './question.ts';
import { indexStatements } from './statement-index.ts';

/** Maximum statements listed in a decision; they are for humans and logs. */
export const MAX_MATCHED_STATEMENTS = 100;

/** A policy with the roles through which a caller has it. */
export interface HeldPolicy {
  readonly policy: CompiledPolicy;
  /** Empty for the unsaved policy of a simulation. */
  readonly roles: readonly string[];
}

/** All grants of a set of roles, indexed for decisions. Shared by callers with the same roles. */
export class GrantSet {
  readonly key: string;
  readonly roles: readonly string[];
  /** True after a source of this set has changed: create a new one. */
  stale = false;
  readonly statementCount: number;
  /** Number of resource patterns in all statements; determines the cost of a decision. */
  readonly patternCount: number;
  /** Number of patterns that cannot be indexed: globs with a star before their end. Each is compared with the full name. */
  readonly searchedPatternCount: number;
  readonly #held: readonly HeldPolicy[];
  readonly #unreadable: readonly HeldPolicy[];
  #rolesByPolicy: ReadonlyMap<string | undefined, readonly string[]> | undefined;
  /** The statements that were used on `#usedDay`. */
  readonly #used = new Set<CompiledStatement>();
  #usedDay = 0;
  readonly #denies: StatementIndex;
  readonly #allows: StatementIndex;

  constructor(key: string, roles: readonly string[], held: readonly HeldPolicy[]) {
    this.key = key;
    this.roles = roles;
    this.#held = held;
    this.#unreadable = held.filter(({ policy }) => policy.errors.length > 0);
    const statements = held.flatMap(({ policy }) => policy.statements);
    this.statementCount = statements.length;
    const patterns = statements.flatMap(({ resources }) => resources);
    this.patternCount = patterns.length;
    this.searchedPatternCount = patterns.filter(({ levels }) => levels.some(isSearched)).length;
    this.#denies = indexStatements(statements.filter(({ effect }) => effect === 'deny'));
    this.#allows = indexStatements(statements.filter(({ effect }) => effect === 'allow'));
  }

  get policies(): readonly HeldPolicy[] {
    return this.#held;
  }

  /** Whether one of the policies is invalid, so that everything is denied. */
  get unreadable(): boolean {
    return this.#unreadable.length > 0;
  }

  isAllowed(question: Question): boolean {
    return this.#reason(question) === 'allowed';
  }

  decide(question: Question): Decision {
    const found = new FoundStatements(MAX_MATCHED_STATEMENTS);
    const reason = this.#reason(question, found);
    const matched = reason === 'invalidPolicy' ? this.#unreadableStatements() : this.#matched(found.statements);
    return { allowed: reason === 'allowed', reason, matchedStatements: [...matched.take(MAX_MATCHED_STATEMENTS)] };
  }

  /** Precedence: an invalid policy denies everything, then deny overrides allow, then no match means deny. */
  #reason(question: Question, found?: FoundStatements): DecisionReason {
    if (this.#unreadable.length > 0) return 'invalidPolicy';
    if (question.tooLong) return 'implicitDeny';
    // Without reasons the denies need not be evaluated if nothing allows; this is the most frequent case.
    if (!found && !this.#allows.matches(question)) return 'implicitDeny';
    if (this.#denies.matches(question, found)) return 'explicitDeny';
    return !found || this.#allows.matches(question, found) ? 'allowed' : 'implicitDeny';
  }

  /** Whether the statement was not used on this day before. @param day days since the epoch */
  isFirstUse(statement: CompiledStatement, day: number): boolean {
    if (this.#usedDay !== day) {
      this.#usedDay = day;
      this.#used.clear();
    }
    const before = this.#used.size;
    return this.#used.add(statement).size > before;
  }

  /** The roles of this set with a policy. */
  rolesWith(policy: string | undefined): readonly string[] {
    this.#rolesByPolicy ??= new Map(this.#held.map(({ policy: { name }, roles }) => [name, roles]));
    return this.#rolesByPolicy.get(policy) ?? [];
  }

  *#matched(statements: Iterable<CompiledStatement>): Generator<MatchedStatement, undefined, void> {
    for (const { policy, index: statementIndex, effect } of statements) {
      for (const role of rolesOrNone(this.rolesWith(policy))) yield { role, policy, statementIndex, effect };
    }
  }

  /** The first invalid statement of each invalid policy. */
  *#unreadableStatements(): Generator<MatchedStatement, undefined, void> {
    for (const { policy, roles } of this.#unreadable) {
      const statementIndex = Number(/^statements\[(\d+)\]/.exec(policy.errors[0]?.path ?? '')?.[1] ?? 0);
      for (const role of rolesOrNone(roles)) yield { role, policy: policy.name, statementIndex, effect: 'deny' };
    }
  }
}

function isSearched({ kind, id }: SrnPatternLevel): boolean {
  return kind.form === 'general' || id.form === 'general';
}

function rolesOrNone(roles: readonly string[]): readonly (string | undefined)[] {
  return roles.length > 0 ? roles : [undefined];
}
