import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readResults } from '../../../bench/frame/results.ts';
import { NO_GOAL, rowOf } from '../../../bench/frame/rows.ts';
import { contradicting, SIZING_RULES } from '../../../bench/sizing.ts';

const ROOT = join(import.meta.dirname, '../../..');
const document = await readFile(join(ROOT, 'docs/operations.md'), 'utf8');
const chapter = /\n## Sizing\n(.*?)\n## /s.exec(document)?.[1] ?? '';
const measured = (await readResults(join(ROOT, 'bench/results.json'))).flatMap(({ rows }) => rows);
const CLIENTS = SIZING_RULES.find(({ need }) => need.startsWith('1,000 clients'));

describe.each(SIZING_RULES)('the sizing of $need', (rule) => {
  it('is in docs/operations.md with its figure', () => {
    expect(chapter).toContain(`| ${rule.need} | ${rule.figure} |`);
    expect(Number.parseFloat(rule.figure)).toBe(rule.max);
  });

  it('is not contradicted by bench/results.json', () => {
    expect(contradicting(rule, measured)).toEqual([]);
  });
});

it('has a rule for each row of its table', () => {
  const rows = chapter.split('\n').filter((line) => /^\| .* of (CPU|memory|heap) \|$/.test(line));
  expect(rows).toHaveLength(SIZING_RULES.length);
});

it('is contradicted by a row above its figure, or in another unit', () => {
  const work = '1000 clients read pages of 100 rows: memory';
  const row = (ours: number, unit: string) => rowOf({ work, unit, better: 'less', ours, goal: NO_GOAL });
  expect(contradicting(CLIENTS!, [row(800, 'MB')])).toEqual([]);
  expect(contradicting(CLIENTS!, [row(801, 'MB')])).toHaveLength(1);
  expect(contradicting(CLIENTS!, [row(1, 'GB')])).toHaveLength(1);
});
