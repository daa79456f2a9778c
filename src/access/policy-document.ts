import type { PolicySpec, Statement } from '../resources/policy.ts';
import { API_VERSION } from '../resources/meta.ts';
import { validateResource } from '../resources/validate.ts';
import type { ValidationError } from '../resources/validation-message.ts';
import { actionProblem } from './actions.ts';
import { parseSrnPattern } from './srn.ts';

export const DOCUMENT_VERSION = 'v1';

/** The JSON document of a policy, as REST speaks it. */
export interface PolicyDocument {
  readonly version: typeof DOCUMENT_VERSION;
  readonly statements: readonly Statement[];
}

export type PolicyCheck =
  | { readonly ok: true; readonly spec: PolicySpec }
  | { readonly ok: false; readonly errors: readonly ValidationError[] };

/**
 * Whether a policy can be enforced as it is written: the CRD's rules, and that each action and each resource can match something.
 * What this refuses is never stored by REST, is not ready for kubectl, and denies everything where it is enforced.
 *
 * @returns the spec with defaults filled in, or everything that is wrong; paths begin at the spec, as `statements[0].actions[1]`
 */
export function validatePolicySpec(spec: unknown): PolicyCheck {
  const checked = validateResource('Policy', {
    apiVersion: API_VERSION,
    kind: 'Policy',
    metadata: { name: 'policy' },
    spec,
  });
  if (!checked.ok) {
    return {
      ok: false,
      errors: checked.errors.map(({ path, message }) => ({ path: path.replace(/^spec\.?/, ''), message })),
    };
  }
  const errors = checked.value.spec.statements.flatMap((statement, index) => statementProblems(statement, index));
  return errors.length > 0 ? { ok: false, errors } : { ok: true, spec: checked.value.spec };
}

/**
 * Reads a policy document of a REST call.
 * @param document the JSON text, or the object itself
 * @returns the spec (without description), or everything that is wrong with the document
 */
export function parsePolicyDocument(document: unknown): PolicyCheck {
  let value = document;
  if (typeof document === 'string') {
    try {
      value = JSON.parse(document);
    } catch (error) {
      return refuse('', `is no JSON: ${(error as Error).message}`);
    }
  }
  if (!isObject(value)) return refuse('', 'must be an object with `version` and `statements`');
  const { version = DOCUMENT_VERSION, statements, ...unknown } = value;
  if (version !== DOCUMENT_VERSION) {
    return refuse('version', `\`${short(version)}\` is not known: it must be \`${DOCUMENT_VERSION}\``);
  }
  const extra = Object.keys(unknown)[0];
  if (extra !== undefined) return refuse(extra, 'is not a known field; known fields are version, statements');
  if (!Array.isArray(statements)) return refuse('statements', 'must be a list of statements');
  const conditional = statements.findIndex((statement) => isObject(statement) && 'conditions' in statement);
  if (conditional >= 0) {
    return refuse(
      `statements[${conditional}].conditions`,
      'is not supported: conditions are not enforced, and what would not be enforced is not stored',
    );
  }
  return validatePolicySpec({ statements: statements.map(normaliseStatement) });
}

/** The document of a stored policy, with every list written as a list. */
export function toPolicyDocument(spec: PolicySpec): PolicyDocument {
  return { version: DOCUMENT_VERSION, statements: spec.statements };
}

function statementProblems(statement: Statement, index: number): ValidationError[] {
  const at = `statements[${index}]`;
  const errors: ValidationError[] = [];
  for (const [i, action] of (statement.actions ?? []).entries()) {
    const problem = actionProblem(action);
    if (problem) errors.push({ path: `${at}.actions[${i}]`, message: problem });
  }
  for (const [i, resource] of statement.resources.entries()) {
    const parsed = parseSrnPattern(resource);
    if (!parsed.ok) errors.push({ path: `${at}.resources[${i}]`, message: parsed.message });
  }
  return errors;
}

/** `"actions": "Query"` is the same as `"actions": ["Query"]`. */
function normaliseStatement(statement: unknown): unknown {
  if (!isObject(statement)) return statement;
  const result = { ...statement };
  for (const field of ['actions', 'resources']) {
    if (typeof result[field] === 'string') result[field] = [result[field]];
  }
  return result;
}

function refuse(path: string, message: string): PolicyCheck {
  return { ok: false, errors: [{ path, message }] };
}

function short(value: unknown): string {
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, 80);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
