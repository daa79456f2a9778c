import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { tablesOfSql } from '../../../../src/access/sql-tables.ts';

interface Group {
  readonly group: string;
  readonly tables?: readonly string[];
  readonly refused?: boolean;
  readonly texts: readonly string[];
}

const groups = parse(readFileSync(join(import.meta.dirname, 'corpus.yaml'), 'utf8')) as Group[];
const texts = groups.flatMap((group) => group.texts.map((text) => ({ ...group, text })));

describe('the corpus', () => {
  it('holds at least 300 texts, none twice', () => {
    expect(new Set(texts.map(({ text }) => text)).size).toBe(texts.length);
    expect(texts.length).toBeGreaterThanOrEqual(300);
  });

  it.each(texts.filter(({ refused }) => !refused))('$group: $text', ({ text, tables = [] }) => {
    const found = tablesOfSql(text);
    expect(found).toMatchObject({ ok: true });
    expect(found.ok && found.tables.toSorted()).toEqual(tables.toSorted());
  });

  it.each(texts.filter(({ refused }) => refused))('refused, $group: $text', ({ text }) => {
    const found = tablesOfSql(text);
    expect(found).toMatchObject({ ok: false });
    expect(found.ok ? '' : found.reason).not.toBe('');
  });
});
