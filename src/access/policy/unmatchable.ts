import { NAME_MAX_LENGTH, NAME_PATTERN } from '../../resources/meta.ts';
import type { Statement } from '../../resources/policy.ts';
import type { ValidationError } from '../../resources/validation-message.ts';
import { isDefaultDatabase } from '../../pinot/table-name.ts';
import {
  isOnlyOnAllNames,
  kindBit,
  kindsIn,
  kindsOfActions,
  rareKindsOfActions,
  type KindBits,
} from './action-kinds.ts';
import { regionsOf } from './region.ts';
import { OUTER_KINDS, parseSrnPattern, type SrnKind, type SrnPattern } from './srn.ts';
import {
  actionElsewhere,
  actionWithoutName,
  exampleAction,
  examplesOf,
  hint,
  impossibleLevels,
  neverMatches,
  NO_ACTIONS,
  RARE,
  resourceElsewhere,
  WHY,
  wordsOf,
} from './unmatchable-texts.ts';

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
  // An action that does not exist makes the whole policy invalid, and its validation names it.
  if (actions.some((action) => kindsOfActions(action) === 0)) return;
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

function rareKind(action: string, named: KindBits, effect: 'allow' | 'deny'): string {
  const text = (named & kindBit('cluster')) !== 0 ? RARE.cluster : RARE[effect];
  return text(action, examplesOf(kindsOfActions(action)));
}

function missingAction(text: string, kinds: KindBits): string {
  const [first] = kindsIn(kinds);
  if (first !== undefined) return resourceElsewhere(text, wordsOf(kinds), exampleAction(first));
  return /^srn2:environment#[^:]*$/.test(text) ? NO_ACTIONS.environment(text) : NO_ACTIONS.other(text);
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
    return actionElsewhere(action, wordsOf(usual), wordsOf(named), examplesOf(usual));
  }
  if (!isOnlyOnAllNames(action) || resources.some(({ pattern }) => hasAllTokens(pattern))) return undefined;
  return actionWithoutName(action);
}

function kindsOfPattern(pattern: SrnPattern): KindBits {
  return regionsOf(pattern).reduce((bits, { kind }) => bits | kindBit(kind), 0);
}

function hasAllTokens(pattern: SrnPattern): boolean {
  return regionsOf(pattern).some(({ kind, ids }) => kind === 'service-token' && ids.at(-1)?.form === 'any');
}

/** Why no resource can have a name that the pattern matches; undefined if one can. */
function problemOfPattern(pattern: SrnPattern): string | undefined {
  const { source, last } = pattern;
  if (last === undefined) return undefined;
  if (source.includes('${')) return neverMatches(source, WHY.variable);
  if (regionsOf(pattern).length === 0) return problemOfLevels(pattern);
  const { kind, id } = last;
  if (kind.form !== 'exact') return undefined;
  const problem = kind.literal === 'table' ? problemOfTable(id.source) : problemOfName(kind.literal, id.source);
  if (problem === undefined) return undefined;
  const [why, meant] = problem;
  return neverMatches(source, why) + (meant === undefined || meant === '' ? '' : hint(withLastId(source, meant)));
}

function withLastId(source: string, id: string): string {
  return `${source.slice(0, source.lastIndexOf('#') + 1)}${id}`;
}

/** Levels that no resource has in this order. */
function problemOfLevels({ source, levels }: SrnPattern): string {
  const last = levels.at(-1)!.kind.source;
  const outer: readonly string[] = OUTER_KINDS[last as SrnKind] ?? [];
  const reversed = levels.toReversed();
  const swapped = regionsOf({ source, levels: reversed, last: reversed.at(-1) }).length > 0;
  const meant = swapped
    ? reversed
    : levels.filter(({ kind }, at) => at === levels.length - 1 || outer[at] === kind.source);
  const text = `srn2:${meant.map(({ kind, id }) => `${kind.source}#${id.source}`).join(':')}`;
  return neverMatches(source, impossibleLevels(last)) + hint(text);
}

type Problem = readonly [why: string, meant: string | undefined];

const TYPE_SUFFIX = /_(?:OFFLINE|REALTIME)$/;

function problemOfTable(id: string): Problem | undefined {
  if (/["'`]/.test(id)) return [WHY.quoted, id.replaceAll(/["'`]/g, '')];
  if (/[,;]/.test(id)) return [WHY.listed, undefined];
  if (TYPE_SUFFIX.test(id)) return [WHY.typed, id.replace(TYPE_SUFFIX, '')];
  const dot = id.indexOf('.');
  const database = dot < 0 ? undefined : id.slice(0, dot);
  if (database !== undefined && isDefaultDatabase(database)) return [WHY.defaultDatabase, id.slice(dot + 1)];
  return undefined;
}

const NAME = new RegExp(NAME_PATTERN);

/** Roles, policies and service tokens have names of Kubernetes. */
function problemOfName(kind: string, id: string): Problem | undefined {
  if (kind !== 'role' && kind !== 'policy' && kind !== 'service-token') return undefined;
  if (id.replaceAll('*', '').length > NAME_MAX_LENGTH) return [WHY.tooLong, undefined];
  // A star can stand for whatever a name needs next to it.
  if (couldBeName(id)) return undefined;
  const meant = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9.*]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
  return [WHY.noName, couldBeName(meant) ? meant : undefined];
}

function couldBeName(id: string): boolean {
  return NAME.test(id.replaceAll(/\*+/g, '*').replaceAll('*', 'x'));
}
