import type { PolicySpec } from '../../resources/policy.ts';
import type { ValidationError } from '../../resources/validation-message.ts';
import { compileActions, type ActionSet } from './action-set.ts';
import { compileConditions, type CompiledConditions } from './conditions/compiled-conditions.ts';
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
  /** Undefined if it allows its actions on all of its resources. */
  readonly conditions?: CompiledConditions | undefined;
}

/** A policy in compiled form. An invalid policy has `errors` and no statements. */
export interface CompiledPolicy {
  readonly name: string | undefined;
  readonly statements: readonly CompiledStatement[];
  readonly errors: readonly ValidationError[];
}

/** Statements by effect. */
export interface StatementsByEffect {
  readonly allows: readonly CompiledStatement[];
  readonly denies: readonly CompiledStatement[];
}

export function byEffect(statements: readonly CompiledStatement[]): StatementsByEffect {
  return {
    allows: statements.filter(({ effect }) => effect === 'allow'),
    denies: statements.filter(({ effect }) => effect === 'deny'),
  };
}

/** Whether a policy cannot be read. Such a policy denies everything to those who have it. */
export function isInvalid({ errors }: CompiledPolicy): boolean {
  return errors.length > 0;
}

/** Whether a policy takes something away from those who have it. */
export function isDenying(policy: CompiledPolicy): boolean {
  return isInvalid(policy) || policy.statements.some(({ effect }) => effect === 'deny');
}

/** @param spec as stored; may be invalid */
export function compilePolicy(name: string | undefined, spec: unknown): CompiledPolicy {
  const checked = validatePolicySpec(spec);
  if (!checked.ok) return { name, statements: [], errors: checked.errors };
  return { name, statements: compileStatements(name, checked.spec), errors: [] };
}

function compileStatements(policy: string | undefined, spec: PolicySpec): CompiledStatement[] {
  return spec.statements.map(({ effect, actions, resources, conditions }, index) => {
    const patterns = resources.map((resource) => compiledPattern(resource));
    const statement = { policy, index, effect, actions: actionsOf(effect, actions, patterns), resources: patterns };
    return conditions === undefined ? statement : { ...statement, conditions: compileConditions(conditions) };
  });
}

/** Of an allow with globs, only all actions on all resources grant the delegation rights. A deny also denies them by globs. */
function actionsOf(
  effect: 'allow' | 'deny',
  actions: readonly string[] | undefined,
  resources: readonly SrnPattern[],
): ActionSet {
  if (effect === 'deny') return compileActions(actions);
  const set = compileActions(actions, false);
  return set.all && resources.some(matchesEverything) ? compileActions(actions) : set;
}

function compiledPattern(text: string): SrnPattern {
  const parsed = parseSrnPattern(text);
  // INVARIANT: validatePolicySpec has already parsed every pattern.
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.value;
}
