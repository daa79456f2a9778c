import { tokenize, type Token } from '../lexer.ts';
import type { Hint, HintOption, Hints } from '../tree.ts';
import type { Reader } from './reader.ts';

/** Versions parse hints differently, so names and values must be plain. */
const PLAIN = /^[\w .:/$-]*$/;

/** The hint before the next token. Called only where hints are valid: after `SELECT` and after a table; elsewhere a hint is a comment. */
export function hints(at: Reader): Hints | undefined {
  const { hint, at: offset } = at.peek();
  if (hint === undefined) return undefined;
  const read = readHints(tokenize(hint, at.budget));
  if (read === undefined)
    throw at.refusal("the hint before this word does not have the form `name(key='value', …)`", offset);
  return { kind: 'hints', hints: read };
}

function readHints(tokens: readonly Token[]): Hint[] | undefined {
  const found: Hint[] = [];
  let index = 0;
  for (;;) {
    const name = tokens[index++];
    if (name === undefined || !isName(name)) return undefined;
    const end = tokens[index]?.key === '(' ? closing(tokens, index) : index;
    const options = end > index ? readOptions(tokens.slice(index + 1, end - 1)) : undefined;
    if (end > index && options === undefined) return undefined;
    found.push({ name: name.text, options });
    index = end;
    if (tokens[index]?.kind === 'end') return found;
    if (tokens[index]?.key === ',') index++;
  }
}

/** Index after the next `)`, or after the last token. */
function closing(tokens: readonly Token[], from: number): number {
  let index = from;
  while (tokens[index]?.key !== ')' && tokens[index]?.kind !== 'end') index++;
  return index + 1;
}

function isName({ kind, text }: Token): boolean {
  return (kind === 'word' || kind === 'quoted') && isPlain(text);
}

function isPlain(text: string): boolean {
  return PLAIN.test(text) && !text.includes('--') && !text.includes('//');
}

function readOptions(tokens: readonly Token[]): HintOption[] | undefined {
  const options: HintOption[] = [];
  for (let index = 0; index < tokens.length;) {
    const keyed = tokens[index + 1]?.key === '=';
    const option = keyed ? readOption(tokens[index], tokens[index + 2]) : readOption(undefined, tokens[index]);
    if (option === undefined) return undefined;
    options.push(option);
    index += keyed ? 3 : 1;
    if (index < tokens.length && tokens[index]?.key !== ',') return undefined;
    index++;
  }
  return options;
}

function readOption(key: Token | undefined, value: Token | undefined): HintOption | undefined {
  if (value === undefined || value.prefix !== '' || !isPlain(value.text)) return undefined;
  if (key !== undefined && !isName(key)) return undefined;
  const kind = HINT_KINDS[value.kind];
  return kind === undefined ? undefined : { key: key?.text, value: value.text, kind };
}

const HINT_KINDS: Readonly<Partial<Record<Token['kind'], HintOption['kind']>>> = {
  word: 'name',
  quoted: 'name',
  string: 'string',
  number: 'number',
};
