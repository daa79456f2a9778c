import { NAME_MAX_LENGTH } from '../../resources/meta.ts';
import { ACTIONS_BY_KIND, kindsIn, type KindBits, type KindWithActions } from './action-kinds.ts';
import { OUTER_KINDS, type SrnKind } from './srn.ts';

// Why a part of a policy never matches, in words. The REST API and the status get these texts from `unmatchable()`, kubectl from the CEL that
// tools/generate/never-matching.ts makes of them: the arguments are then expressions, so a text only puts them together.

const WORDS: Readonly<Record<SrnKind, string>> = {
  environment: 'an environment',
  cluster: 'the cluster',
  table: 'a table',
  role: 'a role',
  policy: 'a policy',
  'service-token': 'a service token',
  user: 'a user',
};

export function wordsOf(bits: KindBits): string {
  return listed(kindsIn(bits).map((kind) => WORDS[kind]));
}

/** Resource names on which actions of these kinds exist. */
export function examplesOf(bits: KindBits): string {
  return listed(kindsIn(bits).map((kind) => `\`srn2:${kind}#*\``));
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

/** An action that exists on resources of a kind, such as those of a statement. */
export function exampleAction(kind: KindWithActions): string {
  return kind === 'table' ? 'Query' : (ACTIONS_BY_KIND[kind].find((action) => action.startsWith('Get')) ?? '*');
}

/** @param usual words of the kinds on which the action exists, with examples; `named` those of the statement */
export function actionElsewhere(action: string, usual: string, named: string, examples: string): string {
  return `\`${action}\` exists on ${usual}, not on ${named}, so the statement never matches it; did you mean ${examples}?`;
}

export function actionWithoutName(action: string): string {
  return `\`${action}\` has no name to compare yet: write it on \`srn2:service-token#*\``;
}

/** Few requests ask for the action. @param examples the usual resources */
export const RARE = {
  cluster: (action: string, examples: string) =>
    `on the cluster only calls that name no table ask for \`${action}\`; did you mean ${examples}?`,
  deny: (action: string, examples: string) =>
    `on a table \`${action}\` is only denied to calls on the cluster that name the table; did you mean ${examples}?`,
  allow: (action: string, examples: string) =>
    `on a table \`${action}\` is only asked by calls on the cluster that name the table; did you mean ${examples}?`,
} as const;

/** @param kinds words of the kinds of the resource */
export function resourceElsewhere(resource: string, kinds: string, example: string): string {
  return `no action of the statement exists on ${kinds}, such as \`${example}\`, so \`${resource}\` never matches`;
}

/** A resource of a kind without actions. */
export const NO_ACTIONS = {
  environment: (resource: string) =>
    `no action exists on the resources of \`${resource}\`, so it never matches; did you mean \`${resource}:*#*\`, everything in it?`,
  other: (resource: string) =>
    `no action exists on the resources of \`${resource}\`, so it never matches; kinds with actions are table, cluster, role, policy, service-token`,
} as const;

/** Why no resource has a name that a pattern matches. */
export function neverMatches(resource: string, why: string): string {
  return `\`${resource}\` never matches: ${why}`;
}

export const WHY = {
  variable: 'variables such as `${user}` are not replaced; write the name, or a statement for each user',
  quoted: 'the name of a table has no quotation marks',
  listed: 'it is one name; list several resources one by one',
  typed: 'a table has its name without the type',
  defaultDatabase: 'tables of the database `default` have no prefix',
  tooLong: `names have at most ${NAME_MAX_LENGTH} characters`,
  noName: 'names consist of lower-case letters, digits, `-` and `.`',
} as const;

/** Levels in an order that no resource has. @param last the kind of the innermost level, or a pattern */
export function impossibleLevels(last: string): string {
  const outer: readonly SrnKind[] = OUTER_KINDS[last as SrnKind] ?? [];
  const inside =
    outer.length === 0 ? 'in no other resource' : `only in ${outer.map((kind) => WORDS[kind]).join(' and ')}`;
  return `${WORDS[last as SrnKind] ?? 'such a resource'} is ${inside}`;
}

/** What was probably meant. */
export function hint(meant: string): string {
  return `; did you mean \`${meant}\`?`;
}
