import { atOnce, type Parts } from '../../platform/long-work.ts';
import { TIME_UNITS, TYPES, CONSTANTS, BARE_FUNCTIONS, KEYWORDS, MARKS } from './keywords.ts';
import type { StringPrefix } from './lexer.ts';
import { SqlRefusal } from './refusal.ts';
import type { Databases } from './databases.ts';
import { scriptOf, type Hint, type HintOption, type Piece, type Script, type TextPiece } from './tree.ts';

/** Texts of one part of the work; most pieces are one or two. */
const TEXTS_PER_PART = 16_384;

/**
 * Prints the canonical text of a script. Only this text may be sent to the engine.
 * @param databases the database of each name
 * @param maxLength of each text within a string: quotes are doubled at each level, so that a short text could print a long one
 * @throws {SqlRefusal} for a text within a string that is longer
 */
export function print(script: Script, databases: Databases, maxLength: number): string {
  return atOnce(printing(script, databases, maxLength));
}

/** `print` in parts. */
export function* printing(script: Script, databases: Databases, maxLength: number): Parts<string> {
  const parts: string[] = [];
  let before: string = '';
  let nextPart = TEXTS_PER_PART;
  for (const piece of script.pieces) {
    const text =
      piece.kind === 'text' ? yield* printingText(piece, databases, maxLength) : printPiece(piece, databases);
    if (before !== '' && needsSpace(before, text, piece)) parts.push(' ');
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
function needsSpace(before: string, text: string, piece: Piece): boolean {
  if (piece.kind === 'mark' && NO_SPACE_BEFORE.has(text)) return false;
  return !NO_SPACE_AFTER.has(before);
}

const PRINTED_KEYWORDS: ReadonlySet<string> = new Set(KEYWORDS);
const PRINTED_MARKS: ReadonlySet<string> = new Set(MARKS);
const BARE_WORDS = [TIME_UNITS, TYPES, CONSTANTS, BARE_FUNCTIONS];
const NUMBER = /^(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function* printingText(piece: TextPiece, databases: Databases, maxLength: number): Parts<string> {
  const text = quotedString(yield* printing(scriptOf(piece), databases, maxLength), '');
  if (text.length > maxLength)
    throw new SqlRefusal(
      `this query within a string is longer than ${maxLength} characters with its quotes doubled`,
      piece.at,
    );
  return text;
}

function printPiece(piece: Exclude<Piece, { kind: 'text' }>, databases: Databases): string {
  switch (piece.kind) {
    case 'keyword':
      return requireKnown(piece.text, PRINTED_KEYWORDS.has(piece.text));
    case 'mark':
      return requireKnown(piece.text, PRINTED_MARKS.has(piece.text));
    case 'bare':
      return requireKnown(piece.text, isBare(piece.text));
    case 'number':
      return requireKnown(piece.text, NUMBER.test(piece.text));
    default:
      return printValue(piece, databases);
  }
}

type Value = Exclude<Piece, { kind: 'keyword' | 'mark' | 'bare' | 'number' | 'text' }>;

function printValue(piece: Value, databases: Databases): string {
  switch (piece.kind) {
    case 'name':
      return piece.parts.map(quotedName).join('.');
    case 'table':
      return databases.partsOf(piece.table).map(quotedName).join('.');
    case 'common-table':
      return quotedName(`cte ${piece.table.number}`);
    case 'lookup':
      return quotedString(databases.lookupOf(piece.table), '');
    case 'string':
      return quotedString(piece.text, piece.prefix);
    case 'hints':
      return `/*+ ${piece.hints.map(printHint).join(', ')} */`;
    case 'options':
      return `OPTION(${piece.options.map(({ key, value }) => `${key}=${value}`).join(', ')})`;
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
