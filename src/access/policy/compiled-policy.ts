import type { PolicySpec } from '../../resources/policy.ts';
import type { ValidationError } from '../../resources/validation-message.ts';
import { compileActions, coversEveryAction, type ActionSet } from './action-set.ts';
import { globMatches } from './glob.ts';
import { validatePolicySpec } from './policy-document.ts';
import { matchesEverything, parseSrnPattern, SRN_KINDS, type SrnPattern } from './srn.ts';

export interface CompiledStatement {
  /** Undefined for an unsaved policy under simulation. */
  readonly policy: string | undefined;
  /** Position in the policy's `statements`, from 0. */
  readonly index: number;
  readonly effect: 'allow' | 'deny';
  readonly actions: ActionSet;
  readonly resources: readonly SrnPattern[];
}

/** A policy in compiled form. An invalid policy has `errors` and no statements. */
export interface CompiledPolicy {
  readonly name: string | undefined;
  readonly statements: readonly CompiledStatement[];
  readonly errors: readonly ValidationError[];
  /** Whether a statement allows everything on everything by stars. */
  readonly allowsEverything: boolean;
  /** Like `allowsEverything`, or a statement that lists every action on every kind of resource. */
  readonly amountsToEverything: boolean;
}

/** @param spec as stored; may be invalid */
export function compilePolicy(name: string | undefined, spec: unknown): CompiledPolicy {
  const checked = validatePolicySpec(spec);
  if (!checked.ok) return { name, statements: [], errors: checked.errors, ...NOTHING };
  const statements = compileStatements(name, checked.spec);
  return {
    name,
    statements,
    errors: [],
    allowsEverything: statements.some(isAllOnAll),
    amountsToEverything: statements.some(coversAllOnAll),
  };
}

const NOTHING = { allowsEverything: false, amountsToEverything: false } as const;

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
  // INVARIANT: validatePolicySpec has already parsed every pattern.
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.value;
}

function isAllOnAll(statement: CompiledStatement): boolean {
  return statement.effect === 'allow' && statement.actions.all && statement.resources.some(matchesEverything);
}

function coversAllOnAll(statement: CompiledStatement): boolean {
  if (statement.effect !== 'allow' || !coversEveryAction(statement.actions)) return false;
  return SRN_KINDS.every((kind) => statement.resources.some((pattern) => coversKind(pattern, kind)));
}

/** Whether the pattern matches every resource of a kind. */
function coversKind({ levels, last }: SrnPattern, kind: string): boolean {
  if (!last) return true;
  return levels.length === 1 && last.id.form === 'any' && globMatches(last.kind, kind);
}
