import { describe, expect, it } from 'vitest';
import {
  afterBrackets,
  afterLiteral,
  afterSpace,
  afterString,
  afterValue,
  textAt,
  textOf,
} from '../../../../src/platform/json/valid-json.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text);

/** The part of a text that a function passes over, from its beginning. */
const passed = (text: string, after: (bytes: Uint8Array, from: number) => number): string =>
  text.slice(0, after(bytesOf(text), 0));

describe('white space', () => {
  it.each([
    [' \t\r\n1', ' \t\r\n'],
    ['1 ', ''],
    ['! ', ''],
    ['  ', '  '],
    ['', ''],
  ])('of %j is %j', (text, space) => {
    expect(passed(text, afterSpace)).toBe(space);
  });

  it('is passed over from the given byte', () => {
    expect(afterSpace(bytesOf('1  2'), 1)).toBe(3);
  });
});

describe('a literal', () => {
  it.each(['1', '-1.5E+3', 'true', 'null', '!', '{'])(
    'ends before white space, a comma, a bracket, and the end: %s',
    (literal) => {
      for (const next of [' ', '\n', '\t', ',', ']', '']) {
        expect(passed(`${literal}${next}${next}`, afterLiteral)).toBe(literal);
        expect(afterLiteral(bytesOf(`[${literal}${next}`), 1)).toBe(1 + literal.length);
      }
    },
  );

  it.each([',1', ']', ' 1', ''])('is empty at %j', (text) => {
    expect(passed(text, afterLiteral)).toBe('');
  });
});

describe('a text', () => {
  it.each([
    ['""', '"'],
    ['"a,]["', '"'],
    [String.raw`"\""`, '"'],
    [String.raw`"a\\"`, '"'],
    [String.raw`"\\\"b"`, ',"'],
  ])('ends with its closing quote: %s', (text, next) => {
    expect(passed(text + next, afterString)).toBe(text);
    expect(afterString(bytesOf(`["${text}`), 2)).toBe(2 + text.length);
  });

  it.each(['"', '"a', String.raw`"a\"`])('without a closing quote ends behind the bytes: %s', (text) => {
    expect(afterString(bytesOf(text), 0)).toBe(text.length + 1);
  });
});

describe('an array or object', () => {
  it.each([
    '[]',
    '{}',
    '[1,[2]]',
    '[[],[]]',
    '{"a":{"b":[1]}}',
    '[{},{}]',
    '["]"]',
    '[" ]["]',
    String.raw`["\"]"]`,
    '{"}":"{"}',
    '["",""]',
  ])('ends with the bracket that closes it: %s', (text) => {
    for (const next of ['', ']', '}', ',[1]', '"']) expect(passed(text + next, afterBrackets), next).toBe(text);
    expect(afterBrackets(bytesOf(`[[${text}]]`), 2)).toBe(2 + text.length);
  });

  it.each(['[', '[1', '[[1]', '["]', '{"a":1'])('without its closing bracket ends with the bytes: %s', (text) => {
    expect(passed(text, afterBrackets)).toBe(text);
  });
});

it.each(['"a]"', '[1,"]"]', '{"a":[1]}', '12', 'null'])('the value %s ends where its kind ends', (value) => {
  for (const next of [',1', ']', ' ,"']) expect(passed(value + next, afterValue)).toBe(value);
});

describe('a text of bytes', () => {
  it('is a part of the view, not of the memory around it', () => {
    const memory = bytesOf('xxxx["é",12]yy');
    const view = new Uint8Array(memory.buffer, memory.byteOffset + 4, 9);
    expect(textAt(view, 1, 5)).toBe('"é"');
    expect(textAt(view, 6, 8)).toBe('12');
    expect(textAt(view, 0, 9)).toBe('["é",12]');
  });

  it.each([
    ['"a"', 'a'],
    ['""', ''],
    [String.raw`"a\"b\u00e9"`, 'a"bé'],
    ['1.50', '1.50'],
    ['null', 'null'],
    [String.raw`["\n"]`, String.raw`["\n"]`],
  ])('of %s is %s', (raw, text) => {
    expect(textOf(raw)).toBe(text);
  });
});
