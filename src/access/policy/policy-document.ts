import type { PolicySpec, Statement } from '../../resources/policy.ts';
import { API_VERSION } from '../../resources/meta.ts';
import { validateResource } from '../../resources/validate.ts';
import type { ValidationError } from '../../resources/validation-message.ts';
import { parseStrictJson, StrictJsonError } from '../../platform/strict-json.ts';
import { actionProblem } from './actions.ts';
import { conditionProblems } from './conditions/compiled-conditions.ts';
import { parseSrnPattern, type SrnPattern } from './srn.ts';
import { withoutLineBreaks } from './wrapped-strings.ts';

export const DOCUMENT_VERSION = 'v1';
/** Validating a larger document would block other requests for more than 50 ms. */
const MAX_DOCUMENT_BYTES = 512 * 1024;

/** The JSON document of a policy in the REST API. */
export interface PolicyDocument {
  readonly version: typeof DOCUMENT_VERSION;
  readonly statements: readonly Statement[];
}

export type PolicyCheck =
  | { readonly ok: true; readonly spec: PolicySpec }
  | { readonly ok: false; readonly errors: readonly ValidationError[] };

/**
 * Whether a policy can be enforced: the CRD's rules apply, and each action and each resource must be able to match something.
 * REST does not store an invalid policy. If kubectl creates one, it is not ready and denies everything.
 *
 * @returns the spec with defaults, or all errors; paths are relative to the spec, as `statements[0].actions[1]`
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
  const errors = [...problemsOf(checked.value.spec).take(MAX_PROBLEMS)];
  return errors.length > 0 ? { ok: false, errors } : { ok: true, spec: checked.value.spec };
}

/**
 * Parses a policy document from a REST request.
 * @param document the JSON text, or the object itself
 * @returns the spec (without description), or all errors in the document
 */
export function parsePolicyDocument(document: unknown): PolicyCheck {
  if (typeof document !== 'string') return fromValue(document);
  try {
    return fromValue(parseStrictJson(Buffer.from(withoutLineBreaks(document)), { maxBytes: MAX_DOCUMENT_BYTES }));
  } catch (error) {
    if (error instanceof StrictJsonError) return refuse('', error.message);
    throw error;
  }
}

function fromValue(value: unknown): PolicyCheck {
  if (!isObject(value)) return refuse('', 'must be an object with `version` and `statements`');
  const { version = DOCUMENT_VERSION, statements, ...unknown } = value;
  if (version !== DOCUMENT_VERSION) {
    return refuse('version', `\`${short(version)}\` is not known: it must be \`${DOCUMENT_VERSION}\``);
  }
  const extra = Object.keys(unknown)[0];
  if (extra !== undefined) return refuse(extra, 'is not a known field; known fields are version, statements');
  if (!Array.isArray(statements)) return refuse('statements', 'must be a list of statements');
  return validatePolicySpec({ statements: statements.map(normaliseStatement) });
}

/** The document of a stored policy; every list is an array. */
export function toPolicyDocument(spec: PolicySpec): PolicyDocument {
  return { version: DOCUMENT_VERSION, statements: spec.statements };
}

/** More errors are not useful, and each requires a search for a suggestion. */
const MAX_PROBLEMS = 20;

function* problemsOf({ statements }: PolicySpec): Generator<ValidationError, undefined, void> {
  for (const [index, { actions = [], resources, conditions }] of statements.entries()) {
    const at = `statements[${index}]`;
    for (const [i, action] of actions.entries()) {
      const problem = actionProblem(action);
      if (problem) yield { path: `${at}.actions[${i}]`, message: problem };
    }
    for (const [i, resource] of resources.entries()) {
      const parsed = parseSrnPattern(resource);
      if (!parsed.ok) yield { path: `${at}.resources[${i}]`, message: parsed.message };
      else if (conditions !== undefined && !isTablePattern(parsed.value))
        yield {
          path: `${at}.resources[${i}]`,
          message: 'a statement with `conditions` is for tables, such as `srn2:table#events`',
        };
    }
    if (conditions === undefined) continue;
    for (const { path, message } of conditionProblems(conditions)) yield { path: `${at}.conditions.${path}`, message };
  }
}

function isTablePattern({ last }: SrnPattern): boolean {
  return last?.kind.form === 'exact' && last.kind.literal === 'table';
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
