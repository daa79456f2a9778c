import type { PolicySpec } from '../resources/policy.ts';
import type { ValidationError } from '../resources/validation-message.ts';
import { compileActions, type ActionSet } from './action-set.ts';
import { validatePolicySpec } from './policy-document.ts';
import { matchesEverything, parseSrnPattern, type SrnPattern } from './srn.ts';

export interface CompiledStatement {
  /** Undefined for an unsaved policy under simulation. */
  readonly policy: string | undefined;
  /** Position in the policy's `statements`, from 0. */
  readonly index: number;
  readonly effect: 'allow' | 'deny';
  readonly actions: ActionSet;
  readonly resources: readonly SrnPattern[];
}

/** A policy as the decision engine holds it. One that cannot be read has `errors` and no statements. */
export interface CompiledPolicy {
  readonly name: string | undefined;
  readonly statements: readonly CompiledStatement[];
  readonly errors: readonly ValidationError[];
  /** Whether a statement allows everything on everything. */
  readonly allowsEverything: boolean;
}

/** @param spec as stored; it need not be valid */
export function compilePolicy(name: string | undefined, spec: unknown): CompiledPolicy {
  const checked = validatePolicySpec(spec);
  if (!checked.ok) return { name, statements: [], errors: checked.errors, allowsEverything: false };
  const statements = compileStatements(name, checked.spec);
  return { name, statements, errors: [], allowsEverything: statements.some(isAllOnAll) };
}

function compileStatements(policy: string | undefined, spec: PolicySpec): CompiledStatement[] {
  return spec.statements.map((statement, index) => ({
    policy,
    index,
    effect: statement.effect,
    actions: compileActions(statement.actions),
    resources: statement.resources.map((resource) => compiledPattern(resource)),
  }));
}

function compiledPattern(text: string): SrnPattern {
  const parsed = parseSrnPattern(text);
  // INVARIANT: validatePolicySpec has parsed every pattern before.
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.value;
}

function isAllOnAll(statement: CompiledStatement): boolean {
  return statement.effect === 'allow' && statement.actions.all && statement.resources.some(matchesEverything);
}
