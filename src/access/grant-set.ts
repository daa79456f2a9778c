import type { Decision, DecisionReason, MatchedStatement } from './authorizer.ts';
import type { CompiledPolicy, CompiledStatement } from './compiled-policy.ts';
import { indexStatements, type Question, type StatementIndex } from './statement-index.ts';

/** A policy and the roles through which a caller has it. */
export interface HeldPolicy {
  readonly policy: CompiledPolicy;
  /** Empty for an unsaved policy under simulation. */
  readonly roles: readonly string[];
}

/** Everything that a set of roles grants, ready to be asked. Callers with the same roles share one. */
export class GrantSet {
  readonly key: string;
  readonly roles: readonly string[];
  /** True once something that it was made from has changed: make a new one. */
  stale = false;
  readonly statementCount: number;
  /** Whether a statement allows everything on everything (whatever else is denied). */
  readonly allowsEverything: boolean;
  readonly #held: readonly HeldPolicy[];
  readonly #unreadable: readonly HeldPolicy[];
  readonly #denies: StatementIndex;
  readonly #allows: StatementIndex;

  constructor(key: string, roles: readonly string[], held: readonly HeldPolicy[]) {
    this.key = key;
    this.roles = roles;
    this.#held = held;
    this.#unreadable = held.filter(({ policy }) => policy.errors.length > 0);
    const statements = held.flatMap(({ policy }) => policy.statements);
    this.statementCount = statements.length;
    this.allowsEverything = held.some(({ policy }) => policy.allowsEverything);
    this.#denies = indexStatements(statements.filter(({ effect }) => effect === 'deny'));
    this.#allows = indexStatements(statements.filter(({ effect }) => effect === 'allow'));
  }

  get policies(): readonly HeldPolicy[] {
    return this.#held;
  }

  isAllowed(question: Question): boolean {
    return this.#reason(question) === 'allowed';
  }

  decide(question: Question): Decision {
    const found = new Set<CompiledStatement>();
    const reason = this.#reason(question, found);
    const matchedStatements =
      reason === 'invalidPolicy'
        ? this.#unreadableStatements()
        : [...found].flatMap((statement) => this.#matched(statement));
    return { allowed: reason === 'allowed', reason, matchedStatements };
  }

  /** The order of the rules: what cannot be read denies all, then one deny beats every allow, then nothing matched is a deny. */
  #reason(question: Question, found?: Set<CompiledStatement>): DecisionReason {
    if (this.#unreadable.length > 0) return 'invalidPolicy';
    // Where no reasons are asked for, what nothing allows need not be held against the denies: most questions end here.
    if (!found && !this.#allows.matches(question)) return 'implicitDeny';
    if (this.#denies.matches(question, found)) return 'explicitDeny';
    return !found || this.#allows.matches(question, found) ? 'allowed' : 'implicitDeny';
  }

  #matched(statement: CompiledStatement): MatchedStatement[] {
    const { policy, index: statementIndex, effect } = statement;
    const roles = this.#held.find((held) => held.policy.name === policy)?.roles ?? [];
    return rolesOrNone(roles).map((role) => ({ role, policy, statementIndex, effect }));
  }

  /** For each policy that cannot be read: the first statement that cannot. */
  #unreadableStatements(): MatchedStatement[] {
    return this.#unreadable.flatMap(({ policy, roles }) => {
      const statementIndex = Number(/^statements\[(\d+)\]/.exec(policy.errors[0]?.path ?? '')?.[1] ?? 0);
      return rolesOrNone(roles).map((role) => ({ role, policy: policy.name, statementIndex, effect: 'deny' as const }));
    });
  }
}

function rolesOrNone(roles: readonly string[]): readonly (string | undefined)[] {
  return roles.length > 0 ? roles : [undefined];
}
