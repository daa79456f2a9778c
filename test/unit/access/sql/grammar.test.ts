import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { judgeSql } from '../../../../src/access/sql/judge.ts';

interface Text {
  readonly sql: string;
  readonly printed?: string;
  /** Default: `t`. */
  readonly tables?: readonly string[];
  readonly limit?: number;
  readonly refused?: string;
}

interface Group {
  readonly group: string;
  readonly texts: readonly Text[];
}

const groups = parse(readFileSync(join(import.meta.dirname, 'grammar.yaml'), 'utf8')) as Group[];

function judged({ sql }: Text): Text {
  const found = judgeSql(sql);
  if (!found.ok) return { sql, refused: found.reason };
  const { text, tables, limit } = found;
  return { sql, printed: text, tables: [...tables], ...(limit !== undefined && { limit }) };
}

describe.each(groups)('$group', ({ texts }) => {
  it.each(texts)('$sql', (text) => {
    expect(judged(text)).toEqual(text.refused === undefined ? { tables: ['t'], ...text } : text);
  });

  it.each(texts.filter(({ printed }) => printed !== undefined))('printed again in the same words: $sql', (text) => {
    const { printed = '', tables = ['t'] } = text;
    expect(judged({ sql: printed })).toMatchObject({ printed, tables });
  });
});

it('no text is there twice', () => {
  const texts = groups.flatMap((group) => group.texts.map(({ sql }) => sql));
  expect(new Set(texts).size).toBe(texts.length);
});
