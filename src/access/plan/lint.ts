import { ANY_CALLER } from '../policy/conditions/caller-values.ts';
import { compilePolicy } from '../policy/compiled-policy.ts';
import { policyWarnings, type KnownNames } from '../policy/policy-warnings.ts';
import { regionsIntersect, regionsOf } from '../policy/region.ts';
import { unmatchable } from '../policy/unmatchable.ts';
import { partsOf } from '../../store/manifests/manifest-set.ts';
import { compareHeld } from './cells.ts';
import { TooMuchToCompare } from './effort.ts';
import type { Held, HeldStatement, PolicySet } from './policy-set.ts';

/** Something in a policy that has no effect, or another one than it seems. */
export interface LintFinding {
  readonly policy: string;
  /** In the object, such as `spec`, `statements`, 0. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** What can be known of the clusters without a server. */
export type KnownClusters = Pick<KnownNames, 'otherClusters' | 'anyCluster'>;

/** What of all policies can never match, never decides or contradicts. The warnings are those of the gateway and of the status of the policy. */
export function lint(set: PolicySet, clusters: KnownClusters): LintFinding[] {
  const names: KnownNames = {
    deployment: set.directory.deployment,
    tables: undefined,
    ...clusters,
    namesOf: set.namesOf,
  };
  return set.policies.flatMap(({ metadata: { name: policy }, spec }): LintFinding[] => {
    const errors = set.directory.engine.compiledPolicy(policy)?.errors ?? [];
    if (errors.length > 0)
      return errors.map(({ path, message }) => ({
        policy,
        path: ['spec', ...partsOf(path)],
        message: `${message}; the policy is invalid, and denies everything to its roles`,
      }));
    const warnings = policyWarnings(spec, names).map((warning): LintFinding => {
      const [, path = '', message = warning] = /^`([^`]+)`: ([^]*)$/u.exec(warning) ?? [];
      return { policy, path: ['spec', ...partsOf(path)], message };
    });
    // A statement that never matches decides nothing either: the first message says why.
    const never = new Set(unmatchable(spec.statements).errors.map(({ path }) => partsOf(path)[1]));
    const matching = set.statementsOf(policy).filter(({ statement }) => !never.has(statement.index));
    const effectless = withoutEffect(matching).map(({ index, message }) => {
      return { policy, path: ['spec', 'statements', index], message };
    });
    return [...warnings, ...effectless];
  });
}

/** Statements without which the policy would give and take the same. Of equal statements the first one stays. */
function withoutEffect(statements: readonly HeldStatement[]): { readonly index: number; readonly message: string }[] {
  const kept = [...statements];
  const found: { index: number; message: string }[] = [];
  for (const held of statements.toReversed()) {
    const others = kept.filter((other) => other !== held);
    const { message, isEffectless } = judged(held, others);
    if (message === undefined) continue;
    if (isEffectless) kept.splice(kept.indexOf(held), 1);
    found.unshift({ index: held.statement.index, message });
  }
  return found;
}

interface Judgement {
  /** Undefined if the statement has an effect. */
  readonly message: string | undefined;
  readonly isEffectless: boolean;
}

function judged(held: HeldStatement, others: readonly HeldStatement[]): Judgement {
  try {
    const message = messageOf(held, others);
    return { message, isEffectless: message !== undefined };
  } catch (error) {
    if (!(error instanceof TooMuchToCompare)) throw error;
    return {
      message: `statement ${held.statement.index} could not be compared with the others: ${error.message}`,
      isEffectless: false,
    };
  }
}

function messageOf(held: HeldStatement, others: readonly HeldStatement[]): string | undefined {
  const allows = others.filter(({ statement }) => statement.effect === 'allow');
  const denies = others.filter(({ statement }) => statement.effect === 'deny');
  // A deny has no effect in a policy alone: it takes away what any other policy allows.
  if (held.statement.effect === 'deny')
    return makesDifference(held, [EVERYTHING, ...denies]) ? undefined : coveredBy(held, denies);
  if (!makesDifference(held, allows)) return coveredBy(held, allows);
  if (makesDifference(held, others)) return undefined;
  return `statement ${held.statement.index} never decides: ${listOf(meeting(held, denies))} of the policy denies all of it`;
}

const [allowAll] = compilePolicy(undefined, {
  statements: [{ effect: 'allow', actions: ['*'], resources: ['*'] }],
}).statements;
const EVERYTHING: HeldStatement = { statement: allowAll!, policy: '', key: '' };

function makesDifference(held: HeldStatement, others: readonly HeldStatement[]): boolean {
  return compareHeld(holding(others), holding([...others, held]), ANY_CALLER).length > 0;
}

function holding(statements: readonly HeldStatement[]): Held {
  return { roles: [], statements, invalid: [], administers: false, rolesWith: new Map() };
}

function coveredBy(held: HeldStatement, others: readonly HeldStatement[]): string {
  const verb = held.statement.effect === 'allow' ? 'allows' : 'denies';
  return `statement ${held.statement.index} never decides: ${listOf(meeting(held, others))} of the policy ${verb} all of it`;
}

/** Those with a resource in common. */
function meeting(held: HeldStatement, others: readonly HeldStatement[]): readonly HeldStatement[] {
  const regions = held.statement.resources.flatMap(regionsOf);
  return others.filter(({ statement }) =>
    statement.resources.flatMap(regionsOf).some((region) => regions.some((other) => regionsIntersect(region, other))),
  );
}

const MAX_LISTED = 3;

function listOf(statements: readonly HeldStatement[]): string {
  const indexes = statements.map(({ statement }) => statement.index).sort((a, b) => a - b);
  const shown = indexes.slice(0, MAX_LISTED).join(', ');
  const more = indexes.length - MAX_LISTED;
  return `statement ${shown}${more > 0 ? ` and ${more} more` : ''}`;
}
