import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { judgeSql } from '../../../../src/access/sql/judge.ts';

interface Group {
  readonly group: string;
  readonly tables?: readonly string[];
  readonly refused?: boolean;
  readonly texts: readonly string[];
}

function read(file: string): (Group & { readonly text: string })[] {
  const groups = parse(readFileSync(join(import.meta.dirname, file), 'utf8')) as Group[];
  return groups.flatMap((group) => group.texts.map((text) => ({ ...group, text })));
}

const texts = read('corpus.yaml');
const ordinary = read('ordinary.yaml');

/** The printed text has other names for common table expressions. */
function withoutNames<T extends object>(found: T): T {
  return { ...found, commonTables: undefined };
}

describe('the corpus', () => {
  it('has at least 300 texts that are not rejected, without duplicates', () => {
    expect(new Set(texts.map(({ text }) => text)).size).toBe(texts.length);
    expect(new Set(ordinary.map(({ text }) => text)).size).toBe(ordinary.length);
    expect([...texts, ...ordinary].filter(({ refused }) => !refused).length).toBeGreaterThanOrEqual(400);
  });

  it.each(texts.filter(({ refused }) => !refused))('$group: $text', ({ text, tables = [] }) => {
    const found = judgeSql(text);
    expect(found).toMatchObject({ ok: true });
    expect(found.ok && found.tables.toSorted()).toEqual(tables.toSorted());
  });

  it.each(ordinary)('$group: $text', ({ text }) => {
    expect(judgeSql(text)).toMatchObject({ ok: true });
  });

  it.each([...texts, ...ordinary].filter(({ refused }) => !refused))(
    'printed again in the same words: $text',
    ({ text }) => {
      const found = judgeSql(text);
      const again = found.ok ? judgeSql(found.text) : found;
      expect(withoutNames(again)).toEqual(withoutNames(found));
    },
  );

  it.each(texts.filter(({ refused }) => refused))('rejected, $group: $text', ({ text }) => {
    const found = judgeSql(text);
    expect(found).toMatchObject({ ok: false, reason: expect.stringMatching(/^line \d+, column \d+: ./) });
  });
});
