import { preparsePolicySet, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs';
import type { PolicySpec, Statement } from '../../src/resources/policy.ts';
import {
  completeSrn,
  parseSrnPattern,
  type Deployment,
  type Srn,
  type SrnPatternLevel,
} from '../../src/access/policy/srn.ts';
import { MAX_DEPTH, placements } from './placements.ts';

/** A statement as a Cedar policy over a context with the action and the levels of the resource. */
export function toCedarPolicy(statement: Statement): string {
  const actions = (statement.actions ?? ['*']).map((action) => textCondition('context.action', action.toLowerCase()));
  const resources = statement.resources.map(resourceCondition);
  const effect = statement.effect === 'allow' ? 'permit' : 'forbid';
  return `${effect} (principal, action, resource) when { (${actions.join(' || ')}) && (${resources.join(' || ')}) };`;
}

/** Parses the statements once, for `askCedar` with the same id. */
export function prepareCedar(id: string, specs: readonly PolicySpec[]): void {
  const policies = specs.flatMap((spec) => spec.statements).map(toCedarPolicy);
  const answer = preparsePolicySet(id, {
    staticPolicies: Object.fromEntries(policies.map((policy, index) => [`p${index}`, policy])),
  });
  if (answer.type === 'failure') throw new Error(`cedar: ${answer.errors.map(({ message }) => message).join('; ')}`);
}

export function askCedar(id: string, action: string, resource: Srn, deployment: Deployment): boolean {
  return askPrepared(id, cedarContext(action, resource, deployment));
}

export type CedarContext = Record<string, string | number>;

export function cedarContext(action: string, resource: Srn, deployment: Deployment): CedarContext {
  const levels = completeSrn(resource, deployment);
  const context: CedarContext = { action: action.toLowerCase(), depth: levels.length };
  for (const [index, level] of levels.entries()) {
    context[`kind${index}`] = level.kind;
    context[`id${index}`] = level.id;
  }
  return context;
}

export function askPrepared(id: string, context: CedarContext): boolean {
  const answer = statefulIsAuthorized({
    principal: { type: 'User', id: 'somebody' },
    action: { type: 'Action', id: 'any' },
    resource: { type: 'Resource', id: 'any' },
    context,
    preparsedPolicySetId: id,
    entities: [],
  });
  if (answer.type === 'failure') throw new Error(`cedar: ${answer.errors.map(({ message }) => message).join('; ')}`);
  return answer.response.decision === 'allow';
}

function textCondition(name: string, pattern: string): string {
  const text = pattern.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  return pattern.includes('*') ? `${name} like "${text}"` : `${name} == "${text}"`;
}

/** The rule as a condition: the levels of the pattern occur in those of the resource in order, and the last ones match. */
function resourceCondition(text: string): string {
  const pattern = parseSrnPattern(text);
  if (!pattern.ok) throw new Error(pattern.message);
  const { levels } = pattern.value;
  if (levels.length === 0) return 'true';
  const alternatives: string[] = [];
  for (let depth = levels.length; depth <= MAX_DEPTH; depth++) {
    for (const places of placements(levels.length - 1, depth - 1)) {
      const conditions = [...places, depth - 1].map((place, index) => levelCondition(levels[index]!, place));
      alternatives.push(`(context.depth == ${depth} && ${conditions.join(' && ')})`);
    }
  }
  return alternatives.join(' || ') || 'false';
}

function levelCondition(level: SrnPatternLevel, place: number): string {
  return `${textCondition(`context.kind${place}`, level.kind.source)} && ${textCondition(`context.id${place}`, level.id.source)}`;
}
