import type { Decision, DecisionReason, DecidingStatement } from '../../authorizer.ts';
import {
  byEffect,
  isInvalid,
  type CompiledPolicy,
  type CompiledStatement,
  type StatementsByEffect,
} from '../compiled-policy.ts';
import { ADMINISTRATION, isAccessManagement } from '../administration.ts';
import type { Gain, MissingGrant } from '../gain.ts';
import { SYSTEM_ADMIN } from '../predefined.ts';
import { includesAction, askAction } from '../action-set.ts';
import { regionsOf } from '../region.ts';
import type { SrnKind, SrnPatternLevel } from '../srn.ts';
import type { Question } from '../question.ts';
import { findMissingGrant } from './missing-grant.ts';
import { firstMatch, indexStatements, matches } from './statement-index.ts';
import type { StatementIndex } from './statement-list.ts';

/** Approximate memory cost of a statement in an index relative to a list. */
const INDEXED_WEIGHT = 16;
const LISTED_LIMIT = 128;
/** Maximum statements listed in a decision; they are for humans and logs. */
export const MAX_MATCHED_STATEMENTS = 100;

const ANY_NAME = '*';
const MAX_NAME_PATTERNS = 20;

/** A decision without the list of all statements that determine it. */
export interface Judgement {
  readonly allowed: boolean;
  readonly reason: DecisionReason;
  /** One of them; undefined if there is none, or the policies are invalid. */
  readonly by: CompiledStatement | undefined;
}

const NONE: readonly CompiledStatement[] = [];
const INVALID: Judgement = { allowed: false, reason: 'invalidPolicy', by: undefined };
const UNMATCHED: Judgement = { allowed: false, reason: 'implicitDeny', by: undefined };

/** A policy with the roles through which a caller has it. */
export interface HeldPolicy {
  readonly policy: CompiledPolicy;
  /** Empty for the unsaved policy of a simulation. */
  readonly roles: readonly string[];
}

/**
 * All grants of a set of roles. Shared by callers with the same roles.
 *
 * It answers two questions about the same statements: whether an action on one resource is allowed (`isAllowed`, `decide`), and which part of
 * what others would gain is not held (`missingGrant`). The first one is a search of an index by one name, the second one compares patterns with
 * patterns. For a gain of one action on one resource both give the same answer, unless the decision is `systemAdmin`: the comparison does not
 * know that rule, and may find that a grant of access management is missing. It is never asked for a holder of `system-admin`, who has the
 * delegation rights.
 */
export class GrantSet {
  /** True after a source of this set has changed: create a new one. */
  stale = false;
  /** Whether one of the policies is invalid: then everything is denied, and nothing is held. */
  readonly #deniesAll: boolean;
  readonly #allows: StatementIndex;
  readonly #denies: StatementIndex;
  /** Allows with conditions; undefined if there are none. */
  readonly #conditional: StatementIndex | undefined;
  readonly key: string;
  readonly roles: readonly string[];
  readonly statementCount: number;
  /** Number of resource patterns in all statements; determines the cost of a decision. */
  readonly patternCount: number;
  /** Number of patterns that cannot be indexed: globs with a star before their end. Each is compared with the full name. */
  readonly searchedPatternCount: number;
  readonly #held: readonly HeldPolicy[];
  readonly #invalid: readonly HeldPolicy[];
  /** Whether the role `system-admin` is one of the roles, with the policy of this name. */
  readonly #administers: boolean;
  readonly #statements: StatementsByEffect;
  #rolesByPolicy: ReadonlyMap<string | undefined, readonly string[]> | undefined;
  /** The statements that were used on `#usedDay`. */
  readonly #used = new Set<CompiledStatement>();
  #usedDay = 0;
  /** Results of `mayAllow`. */
  readonly #possible = new Map<string, boolean>();

  constructor(key: string, roles: readonly string[], held: readonly HeldPolicy[]) {
    this.key = key;
    this.roles = roles;
    this.#held = held;
    this.#invalid = held.filter(({ policy }) => isInvalid(policy));
    this.#deniesAll = this.#invalid.length > 0;
    this.#administers = held.some(({ policy, roles: by }) => policy.name === SYSTEM_ADMIN && by.includes(SYSTEM_ADMIN));
    const statements = held.flatMap(({ policy }) => policy.statements);
    this.statementCount = statements.length;
    const patterns = statements.flatMap(({ resources }) => resources);
    this.patternCount = patterns.length;
    this.searchedPatternCount = patterns.filter(({ levels }) => levels.some(isSearched)).length;
    this.#statements = byEffect(statements);
    this.#denies = indexStatements(this.#statements.denies);
    const { allows } = this.#statements;
    this.#allows = indexStatements(allows.filter(({ conditions }) => conditions === undefined));
    const conditional = allows.filter(({ conditions }) => conditions !== undefined);
    this.#conditional = conditional.length === 0 ? undefined : indexStatements(conditional);
  }

  /** Approximate memory. */
  get weight(): number {
    const count = this.statementCount;
    return 16 + this.roles.length + count * (count > LISTED_LIMIT ? INDEXED_WEIGHT : 1);
  }

  /** Whether a statement has conditions. */
  get isConditional(): boolean {
    return this.#conditional !== undefined;
  }

  get policies(): readonly HeldPolicy[] {
    return this.#held;
  }

  isAllowed(question: Question): boolean {
    return this.judge(question).allowed;
  }

  decide(question: Question, { allowed, reason }: Judgement = this.judge(question)): Decision {
    const matched = Iterator.from(this.#deciding(reason, question));
    return { allowed, reason, matchedStatements: [...matched.take(MAX_MATCHED_STATEMENTS)] };
  }

  /** The statements that allow the question in part, where nothing allows or denies it as a whole. Each has conditions. */
  conditional(question: Question, { reason }: Judgement = this.judge(question)): readonly CompiledStatement[] {
    if (this.#conditional === undefined || reason !== 'implicitDeny' || question.tooLong) return NONE;
    return [...matches(this.#conditional, question, MAX_MATCHED_STATEMENTS)];
  }

  /** The statements as those of a decision, by role. */
  deciding(statements: Iterable<CompiledStatement>): readonly DecidingStatement[] {
    return [...this.#matched(statements).take(MAX_MATCHED_STATEMENTS)];
  }

  /**
   * Nothing takes the management of access from a holder of `system-admin`, so that it can remove every deny and repair every policy.
   * In all other cases the statements decide.
   */
  judge(question: Question): Judgement {
    const judgement = this.#judgeByStatements(question);
    if (judgement.allowed || !this.#administers || !isAccessManagement(question)) return judgement;
    return { allowed: true, reason: 'systemAdmin', by: ADMINISTRATION[0] };
  }

  /** Precedence: an invalid policy denies everything, then deny overrides allow, then no match means deny. */
  #judgeByStatements(question: Question): Judgement {
    if (this.#deniesAll) return INVALID;
    if (question.tooLong) return UNMATCHED;
    const deny = firstMatch(this.#denies, question);
    if (deny) return { allowed: false, reason: 'explicitDeny', by: deny };
    const allow = firstMatch(this.#allows, question);
    return allow ? { allowed: true, reason: 'allowed', by: allow } : UNMATCHED;
  }

  /**
   * Whether an action may be allowed on any resource of a kind. False where no statement allows it, so that a list without entries takes no work;
   * true does not mean that it is allowed on one that exists.
   * @param action name of a known action
   */
  mayAllow(action: string, kind: SrnKind): boolean {
    if (this.#administers) return true;
    if (this.#deniesAll) return false;
    const key = `${kind} ${action}`;
    let possible = this.#possible.get(key);
    if (possible === undefined) {
      const asked = askAction(action);
      possible = this.#statements.allows.some(
        ({ actions, resources, conditions }) =>
          conditions === undefined &&
          includesAction(actions, asked) &&
          resources.some((pattern) => regionsOf(pattern).some((region) => region.kind === kind)),
      );
      this.#possible.set(key, possible);
    }
    return possible;
  }

  /**
   * The patterns of names of a kind on which statements allow an action, at most 20. They are for what is shown: denies are not subtracted.
   * @param action name of a known action
   */
  namePatterns(action: string, kind: SrnKind): readonly string[] {
    if (this.#administers) return [ANY_NAME];
    if (!this.mayAllow(action, kind)) return [];
    const asked = askAction(action);
    const found = new Set<string>();
    for (const { actions, resources, conditions } of this.#statements.allows) {
      if (conditions !== undefined || !includesAction(actions, asked)) continue;
      for (const region of resources.flatMap(regionsOf))
        if (region.kind === kind && found.size < MAX_NAME_PATTERNS) found.add(region.ids.at(-1)?.source ?? ANY_NAME);
      if (found.has(ANY_NAME)) return [ANY_NAME];
    }
    return [...found];
  }

  /**
   * The first grant of `gain` that is not held; undefined if all are.
   *
   * Sound: if it returns undefined, every gained action on every gained resource is allowed by this set, including actions that later versions
   * add. A part of a region that no single statement covers counts as missing.
   *
   * @throws {TooManyComparisons}
   */
  missingGrant(gain: Gain): MissingGrant | undefined {
    const { allows, denies } = this.#statements;
    return findMissingGrant({ allows: this.#deniesAll ? [] : allows, denies }, gain);
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

  #deciding(reason: DecisionReason, question: Question): Iterable<DecidingStatement> {
    switch (reason) {
      case 'allowed':
        return this.#matched(matches(this.#allows, question, MAX_MATCHED_STATEMENTS));
      case 'explicitDeny':
        return this.#matched(matches(this.#denies, question, MAX_MATCHED_STATEMENTS));
      case 'systemAdmin':
        return ADMINISTRATION.map(({ policy, index: statementIndex, effect }) => {
          return { role: SYSTEM_ADMIN, policy, statementIndex, effect };
        });
      case 'invalidPolicy':
        return this.#invalidStatements();
      case 'conditional':
      case 'implicitDeny':
        return [];
    }
  }

  *#matched(statements: Iterable<CompiledStatement>): Generator<DecidingStatement, undefined, void> {
    for (const { policy, index: statementIndex, effect } of statements) {
      for (const role of rolesOrNone(this.rolesWith(policy))) yield { role, policy, statementIndex, effect };
    }
  }

  /** The first invalid statement of each invalid policy. */
  *#invalidStatements(): Generator<DecidingStatement, undefined, void> {
    for (const { policy, roles } of this.#invalid) {
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
