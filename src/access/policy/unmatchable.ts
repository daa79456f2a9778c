import { NAME_MAX_LENGTH, NAME_PATTERN } from '../../resources/meta.ts';
import type { Statement } from '../../resources/policy.ts';
import type { ValidationError } from '../../resources/validation-message.ts';
import { isDefaultDatabase } from '../../pinot/table-name.ts';
import {
  ACTIONS_BY_KIND,
  isOnlyOnAllNames,
  kindBit,
  kindsIn,
  kindsOfActions,
  rareKindsOfActions,
  type KindBits,
  type KindWithActions,
} from './action-kinds.ts';
import { regionsOf } from './region.ts';
import { OUTER_KINDS, parseSrnPattern, type SrnKind, type SrnPattern } from './srn.ts';

/** What of the statements of a valid policy can never match a request, and what matches few. */
export interface Unmatchable {
  /** Paths as `statements[0].resources[1]`. A policy with one of them is not written; of a stored one they are shown. */
  readonly errors: readonly ValidationError[];
  readonly warnings: readonly ValidationError[];
}

/** A statement, stored or of a request. */
export type CheckedStatement = Pick<Statement, 'actions' | 'resources' | 'conditions'> &
  Partial<Pick<Statement, 'effect'>>;

/** More are not useful. */
const MAX_FOUND = 20;

/**
 * Resources and actions that nothing ever matches: levels in an impossible order, names that no resource can have, and actions that do not
 * exist on any resource of their statement. Linear in the size of the policy.
 * @param stored statements that are not examined, because the policy has them already
 */
export function unmatchable(
  statements: readonly CheckedStatement[],
  stored: readonly CheckedStatement[] = [],
): Unmatchable {
  const kept = new Set(stored.map(contentOf));
  const errors: ValidationError[] = [];
  const warnings: ValidationError[] = [];
  for (const [index, statement] of statements.entries()) {
    if (errors.length >= MAX_FOUND) break;
    if (kept.has(contentOf(statement))) continue;
    examine(statement, `statements[${index}]`, errors, warnings);
  }
  return { errors: errors.slice(0, MAX_FOUND), warnings: warnings.slice(0, MAX_FOUND) };
}

function contentOf({ effect, actions, resources }: CheckedStatement): string {
  return JSON.stringify([effect, actions, resources]);
}

interface Resource {
  readonly text: string;
  readonly path: string;
  readonly kinds: KindBits;
  readonly pattern: SrnPattern;
}

function examine(
  { effect = 'deny', actions = ['*'], resources }: CheckedStatement,
  at: string,
  errors: ValidationError[],
  warnings: ValidationError[],
): void {
  const possible = resources.flatMap((text, index) => possibleResource(text, `${at}.resources[${index}]`, errors));
  const named = possible.reduce((bits, { kinds }) => bits | kinds, 0);
  if (named === 0) {
    errors.push(...possible.map(({ text, path }) => ({ path, message: missingAction(text, 0) })));
    return;
  }
  const before = errors.length;
  let asked = 0;
  for (const [index, action] of actions.entries()) {
    asked |= kindsOfActions(action) | rareKindsOfActions(action, effect);
    const path = `${at}.actions[${index}]`;
    const error = problemOfAction(action, effect, named, possible);
    if (error !== undefined) errors.push({ path, message: error });
    else if ((kindsOfActions(action) & named) === 0) warnings.push({ path, message: rareKind(action, named, effect) });
  }
  // An action that matches none of the resources is the clearer message.
  if (errors.length > before) return;
  for (const { text, path, kinds } of possible)
    if ((kinds & asked) === 0) errors.push({ path, message: missingAction(text, kinds) });
}

/** A resource whose pattern can match something; one that cannot be parsed is refused as such. */
function possibleResource(text: string, path: string, errors: ValidationError[]): Resource[] {
  const parsed = parseSrnPattern(text);
  if (!parsed.ok) return [];
  const message = problemOfPattern(parsed.value);
  if (message === undefined) return [{ text, path, kinds: kindsOfPattern(parsed.value), pattern: parsed.value }];
  errors.push({ path, message });
  return [];
}

/** @param named the kinds of the resources */
function problemOfAction(
  action: string,
  effect: 'allow' | 'deny',
  named: KindBits,
  resources: readonly Resource[],
): string | undefined {
  const usual = kindsOfActions(action);
  if (((usual | rareKindsOfActions(action, effect)) & named) === 0) {
    return `\`${action}\` exists on ${wordsOf(usual)}, not on ${wordsOf(named)}, so the statement never matches it; did you mean ${examplesOf(usual)}?`;
  }
  if (!isOnlyOnAllNames(action) || resources.some(({ pattern }) => hasAllTokens(pattern))) return undefined;
  return `\`${action}\` has no name to compare yet: write it on \`srn2:service-token#*\``;
}

function kindsOfPattern(pattern: SrnPattern): KindBits {
  return regionsOf(pattern).reduce((bits, { kind }) => bits | kindBit(kind), 0);
}

function hasAllTokens(pattern: SrnPattern): boolean {
  return regionsOf(pattern).some(({ kind, ids }) => kind === 'service-token' && ids.at(-1)?.form === 'any');
}

const WORDS: Readonly<Record<SrnKind, string>> = {
  environment: 'an environment',
  cluster: 'the cluster',
  table: 'a table',
  role: 'a role',
  policy: 'a policy',
  'service-token': 'a service token',
  user: 'a user',
};

function wordsOf(bits: KindBits): string {
  return listed(kindsIn(bits).map((kind) => WORDS[kind]));
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function examplesOf(bits: KindBits): string {
  return listed(kindsIn(bits).map((kind) => `\`srn2:${kind}#*\``));
}

function rareKind(action: string, named: KindBits, effect: 'allow' | 'deny'): string {
  const calls =
    (named & kindBit('cluster')) !== 0
      ? `on the cluster only calls that name no table ask for \`${action}\``
      : `on a table \`${action}\` is only ${effect === 'deny' ? 'denied to' : 'asked by'} calls on the cluster that name the table`;
  return `${calls}; did you mean ${examplesOf(kindsOfActions(action))}?`;
}

function missingAction(text: string, kinds: KindBits): string {
  const found = kindsIn(kinds);
  if (found.length > 0)
    return `no action of the statement exists on ${wordsOf(kinds)}, such as \`${exampleAction(found[0]!)}\`, so \`${text}\` never matches`;
  const inner = /^srn2:environment#[^:]*$/.test(text) ? `; did you mean \`${text}:*#*\`, everything in it?` : '';
  return `no action exists on the resources of \`${text}\`, so it never matches${inner || '; kinds with actions are table, cluster, role, policy, service-token'}`;
}

function exampleAction(kind: KindWithActions): string {
  return kind === 'table' ? 'Query' : (ACTIONS_BY_KIND[kind].find((action) => action.startsWith('Get')) ?? '*');
}

/** Why no resource can have a name that the pattern matches; undefined if one can. */
function problemOfPattern(pattern: SrnPattern): string | undefined {
  const { source, last } = pattern;
  if (last === undefined) return undefined;
  if (source.includes('${'))
    return `\`${source}\` never matches: variables such as \`\${user}\` are not replaced; write the name, or a statement for each user`;
  if (regionsOf(pattern).length === 0) return problemOfLevels(pattern);
  const { kind, id } = last;
  if (kind.form !== 'exact') return undefined;
  const problem = kind.literal === 'table' ? problemOfTable(id.source) : problemOfName(kind.literal, id.source);
  if (problem === undefined) return undefined;
  const [why, meant] = problem;
  const hint = meant === undefined || meant === '' ? '' : `; did you mean \`${withLastId(source, meant)}\`?`;
  return `\`${source}\` never matches: ${why}${hint}`;
}

function withLastId(source: string, id: string): string {
  return `${source.slice(0, source.lastIndexOf('#') + 1)}${id}`;
}

/** Levels that no resource has in this order. */
function problemOfLevels({ source, levels }: SrnPattern): string {
  const last = levels.at(-1)!.kind.source as SrnKind;
  const outer: readonly string[] = OUTER_KINDS[last] ?? [];
  const inside =
    outer.length === 0
      ? 'in no other resource'
      : `only in ${outer.map((kind) => WORDS[kind as SrnKind]).join(' and ')}`;
  const reversed = levels.toReversed();
  const swapped = regionsOf({ source, levels: reversed, last: reversed.at(-1) }).length > 0;
  const meant = swapped
    ? reversed
    : levels.filter(({ kind }, at) => at === levels.length - 1 || outer[at] === kind.source);
  const text = `srn2:${meant.map(({ kind, id }) => `${kind.source}#${id.source}`).join(':')}`;
  return `\`${source}\` never matches: ${WORDS[last] ?? 'such a resource'} is ${inside}; did you mean \`${text}\`?`;
}

type Problem = readonly [why: string, meant: string | undefined];

const TYPE_SUFFIX = /_(?:OFFLINE|REALTIME)$/;

function problemOfTable(id: string): Problem | undefined {
  if (/["'`]/.test(id)) return ['the name of a table has no quotation marks', id.replaceAll(/["'`]/g, '')];
  if (/[,;]/.test(id)) return ['it is one name; list several resources one by one', undefined];
  if (TYPE_SUFFIX.test(id)) return ['a table has its name without the type', id.replace(TYPE_SUFFIX, '')];
  const dot = id.indexOf('.');
  const database = dot < 0 ? undefined : id.slice(0, dot);
  if (database !== undefined && isDefaultDatabase(database))
    return ['tables of the database `default` have no prefix', id.slice(dot + 1)];
  return undefined;
}

const NAME = new RegExp(NAME_PATTERN);

/** Roles, policies and service tokens have names of Kubernetes. */
function problemOfName(kind: string, id: string): Problem | undefined {
  if (kind !== 'role' && kind !== 'policy' && kind !== 'service-token') return undefined;
  if (id.replaceAll('*', '').length > NAME_MAX_LENGTH)
    return [`names have at most ${NAME_MAX_LENGTH} characters`, undefined];
  // A star can stand for whatever a name needs next to it.
  if (couldBeName(id)) return undefined;
  const meant = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9.*]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
  return ['names consist of lower-case letters, digits, `-` and `.`', couldBeName(meant) ? meant : undefined];
}

function couldBeName(id: string): boolean {
  return NAME.test(id.replaceAll(/\*+/g, '*').replaceAll('*', 'x'));
}
