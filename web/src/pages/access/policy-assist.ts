import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { Diagnostic } from '@codemirror/lint';
import { ACTIONS_BY_KIND } from '../../lib/action-kinds.ts';

/** Characters before and after the cursor that are examined. */
const NEAR = 2000;
/** Completions in a policy document: field names, and common values of fields. */
const KEYS = [
  'version',
  'statements',
  'description',
  'effect',
  'actions',
  'resources',
  'conditions',
  'rowFilters',
  'columns',
  'allow',
  'deny',
  'mask',
];
const EFFECTS = ['allow', 'deny'];
/** Lists whose content nothing here knows. */
const FILTER_FIELDS = new Set(['rowFilters', 'allow', 'deny']);
/** All actions, the most common ones first. */
export const COMMON_ACTIONS = [
  ...new Set(
    ['Query', 'Get*', '*', 'GetHealth', 'GetTableConfig', 'GetSchema', 'UploadSegment'].concat(
      Object.values(ACTIONS_BY_KIND).flat(),
    ),
  ),
];
export const RESOURCES = [
  'srn2:table#',
  'srn2:cluster#*:table#*',
  'srn2:cluster#*',
  'srn2:role#*',
  'srn2:policy#*',
  'srn2:service-token#*',
  '*',
];

/** The actions that exist on the resources of a statement; all while it has none. @param text of the statement, as far as it is written */
function actionsFor(text: string): readonly string[] {
  return possibleActions([...text.matchAll(/"srn2:(?:[^"]*:)?([a-z-]+)#[^":]*"/g)].map((match) => match[1] ?? ''));
}

/** The actions that exist on resources of these kinds, the most common ones first; all for no kind and for one that is not known. */
export function possibleActions(kinds: readonly string[]): readonly string[] {
  if (kinds.length === 0 || kinds.some((kind) => !(kind in ACTIONS_BY_KIND))) return COMMON_ACTIONS;
  const known = new Set(kinds.flatMap((kind) => ACTIONS_BY_KIND[kind] ?? []));
  const isPossible = (action: string): boolean =>
    action.endsWith('*') ? [...known].some((name) => name.startsWith(action.slice(0, -1))) : known.has(action);
  return COMMON_ACTIONS.filter(isPossible);
}

/** The text of the statement around a position, as far as it is near. */
function statementAt({ state }: CompletionContext, at: number): string {
  const before = state.sliceDoc(Math.max(0, at - NEAR), at);
  const [after = ''] = state.sliceDoc(at, at + NEAR).split('}', 1);
  return before.slice(before.lastIndexOf('{') + 1) + after;
}

/** Completes a text in quotes, depending on the preceding field. @param tables known tables */
export function completePolicy(
  context: CompletionContext,
  tables: ReadonlySet<string> = new Set(),
): CompletionResult | null {
  const word = context.matchBefore(/"[^"\n]*/);
  if (!word) return null;
  const before = context.state.sliceDoc(Math.max(0, word.from - NEAR), word.from);
  // After an odd number of quotes on the line, this quote closes a text.
  const onLine = before.slice(before.lastIndexOf('\n') + 1);
  if ((onLine.replace(/\\./g, '').split('"').length - 1) % 2 === 1) return null;
  const fields = [...before.matchAll(/"(version|effect|actions|resources|description|rowFilters|allow|deny)"\s*:/g)];
  const last = fields.at(-1);
  const between = last ? before.slice((last.index ?? 0) + last[0].length) : '';
  const inList = last !== undefined && /^\s*(\[[^\]]*)?$/.test(between);
  const field = inList ? last[1] : undefined;
  const choices =
    field === 'effect'
      ? EFFECTS
      : field === 'actions'
        ? actionsFor(statementAt(context, word.from))
        : field === 'resources'
          ? [...RESOURCES, ...[...tables].map((name) => `srn2:table#${name}`)]
          : field === 'version'
            ? ['v1']
            : FILTER_FIELDS.has(field ?? '')
              ? []
              : KEYS;
  return { from: word.from + 1, options: choices.map((label) => ({ label })), validFor: /^[^"\n]*$/ };
}

/** A table of the own cluster by its name, without a pattern. */
const TABLE = /"srn2:table#([^"*?:#]+)"/g;
/** Maximum warnings in a text. */
const MAX_WARNINGS = 20;

/**
 * Warnings for names of tables that are not in `tables`. They are no errors: a statement matches as soon as the table exists.
 * @param tables the tables that the caller may see; empty while they are not known: no warnings then
 */
export function unknownTables(text: string, tables: ReadonlySet<string>): Diagnostic[] {
  if (tables.size === 0) return [];
  const found: Diagnostic[] = [];
  for (const match of text.matchAll(TABLE)) {
    const [resource, name = ''] = match;
    if (tables.has(name.replace(/_(?:OFFLINE|REALTIME)$/, ''))) continue;
    const from = match.index;
    const message = `You can see no table \`${name}\`.`;
    found.push({ from, to: from + resource.length, severity: 'warning', message });
    if (found.length === MAX_WARNINGS) break;
  }
  return found;
}

const STRING_OR_BRACKET = /"(?:[^"\\]|\\.)*"|[{}[\]]/g;

/** Where each statement opens: an object in a list of the document. */
function statementStarts(text: string): number[] {
  const starts: number[] = [];
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(STRING_OR_BRACKET)) {
    if (token === '{' || token === '[') {
      if (token === '{' && depth === 2) starts.push(index);
      depth++;
    } else if (token === '}' || token === ']') depth--;
  }
  return starts;
}

/**
 * Converts an error message of the gateway with a path, such as `statements[1].actions[0]`, to an error marker in the text.
 * @returns an empty list when the path is not found in the text
 */
export function locate(text: string, message: string): Diagnostic[] {
  const path = /statements\[(\d+)\](?:\.(\w+))?/.exec(message);
  if (!path) return [];
  const start = statementStarts(text)[Number(path[1])];
  if (start === undefined) return [];
  const field = path[2] === undefined ? -1 : text.indexOf(`"${path[2]}"`, start);
  const from = field < 0 ? start : field;
  const end = text.indexOf('\n', from);
  return [{ from, to: end < 0 ? text.length : end, severity: 'error', message }];
}
