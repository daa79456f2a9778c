import { atOnce, type Slices } from '../../platform/long-work.ts';
import { TIME_UNITS, TYPES, CONSTANTS, BARE_FUNCTIONS, KEYWORDS, MARKS } from './keywords.ts';
import type { StringPrefix } from './lexer.ts';
import { SqlRefusal } from './refusal.ts';
import type { Databases } from './databases.ts';
import { scriptOf, type Hint, type HintOption, type Leaf, type Script, type TextLeaf } from './tree.ts';
import { Leaves, type Rewrite } from './walk.ts';

/** Texts of one part of the work; most leaves are one or two. */
const TEXTS_PER_PART = 16_384;

/**
 * Prints the canonical text of a script. Only this text may be sent to the engine.
 * @param databases the database of each name
 * @param maxLength of each text within a string: quotes are doubled at each level, so that a short text could print a long one
 * @param rewrite what is printed in place of a node, with conditions of tables
 * @throws {SqlRefusal} for a text within a string that is longer, and as `rewrite`
 */
export function print(script: Script, databases: Databases, maxLength: number, rewrite?: Rewrite): string {
  return atOnce(printing(script, databases, maxLength, rewrite));
}

/** `print` in parts. */
export function* printing(script: Script, databases: Databases, maxLength: number, rewrite?: Rewrite): Slices<string> {
  const parts: string[] = [];
  let before: string = '';
  let nextPart = TEXTS_PER_PART;
  const leaves = new Leaves(script, rewrite);
  for (let leaf = leaves.next(); leaf !== undefined; leaf = leaves.next()) {
    const text =
      leaf.kind === 'text' ? yield* printingText(leaf, databases, maxLength, rewrite) : printLeaf(leaf, databases);
    if (before !== '' && needsSpace(before, text, leaf)) parts.push(' ');
    parts.push(text);
    before = text;
    if (parts.length >= nextPart) {
      nextPart = parts.length + TEXTS_PER_PART;
      yield;
    }
  }
  return parts.join('');
}

const NO_SPACE_AFTER = new Set(['(', '[', '{', '.', '']);
const NO_SPACE_BEFORE = new Set([')', ']', ',', '.', ';']);

/** Operators are surrounded by blanks, so that two of them never form a comment. */
function needsSpace(before: string, text: string, leaf: Leaf): boolean {
  if (leaf.kind === 'mark' && NO_SPACE_BEFORE.has(text)) return false;
  return !NO_SPACE_AFTER.has(before);
}

const PRINTED_KEYWORDS: ReadonlySet<string> = new Set(KEYWORDS);
const PRINTED_MARKS: ReadonlySet<string> = new Set(MARKS);
const BARE_WORDS = [TIME_UNITS, TYPES, CONSTANTS, BARE_FUNCTIONS];
const NUMBER = /^(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function* printingText(
  leaf: TextLeaf,
  databases: Databases,
  maxLength: number,
  rewrite: Rewrite | undefined,
): Slices<string> {
  const text = quotedString(yield* printing(scriptOf(leaf), databases, maxLength, rewrite), '');
  if (text.length > maxLength)
    throw new SqlRefusal(
      `this query within a string is longer than ${maxLength} characters with its quotes doubled`,
      leaf.at,
    );
  return text;
}

function printLeaf(leaf: Exclude<Leaf, { kind: 'text' }>, databases: Databases): string {
  switch (leaf.kind) {
    case 'keyword':
      return requireKnown(leaf.text, PRINTED_KEYWORDS.has(leaf.text));
    case 'mark':
      return requireKnown(leaf.text, PRINTED_MARKS.has(leaf.text));
    case 'bare':
      return requireKnown(leaf.text, isBare(leaf.text));
    case 'number':
      return requireKnown(leaf.text, NUMBER.test(leaf.text));
    default:
      return printValue(leaf, databases);
  }
}

type Value = Exclude<Leaf, { kind: 'keyword' | 'mark' | 'bare' | 'number' | 'text' }>;

function printValue(leaf: Value, databases: Databases): string {
  switch (leaf.kind) {
    case 'name':
      return leaf.parts.map(quotedName).join('.');
    case 'column':
      return [...leaf.parts.map(quotedName), ...(leaf.isAll ? ['*'] : [])].join('.');
    case 'table':
      return databases.partsOf(leaf.table).map(quotedName).join('.');
    case 'common-table':
      return quotedName(`cte ${leaf.table.number}`);
    case 'lookup':
      return quotedString(databases.lookupOf(leaf.table), '');
    case 'string':
      return quotedString(leaf.text, leaf.prefix);
    case 'hints':
      return `/*+ ${leaf.hints.map(printHint).join(', ')} */`;
    case 'options':
      return `OPTION(${leaf.options.map(({ key, value }) => `${key}=${value}`).join(', ')})`;
  }
}

function isBare(text: string): boolean {
  return /^\w+$/.test(text) && BARE_WORDS.some((words) => words.has(text.toUpperCase()));
}

/** @throws {Error} on a parser defect: only words from the closed lists may be printed */
function requireKnown(text: string, known: boolean): string {
  if (!known) throw new Error(`\`${text}\` may not be printed without quotes`);
  return text;
}

function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function quotedString(text: string, prefix: StringPrefix): string {
  const doubled = text.replaceAll("'", "''");
  if (prefix !== 'U&') return `${prefix}'${doubled}'`;
  return `U&'${doubled.replaceAll('\\', '\\\\').replaceAll(/[^ -~]/g, escaped)}'`;
}

function escaped(unit: string): string {
  return `\\${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function printHint({ name, options }: Hint): string {
  const printed = quotedName(name);
  return options === undefined ? printed : `${printed}(${options.map(printOption).join(', ')})`;
}

function printOption({ key, value, kind }: HintOption): string {
  const printed = HINT_VALUE[kind](value);
  return key === undefined ? printed : `${quotedName(key)}=${printed}`;
}

const HINT_VALUE = {
  name: quotedName,
  string: (value: string) => quotedString(value, ''),
  number: (value: string) => requireKnown(value, NUMBER.test(value)),
};
