import { describe, expect, it } from 'vitest';
import { JudgedTexts } from '../../../../../src/api/queries/data-plane/judged-texts.ts';

describe('the cache of checked texts', () => {
  const names = Array.from({ length: 900 }, (_, index) => `t${index}`).join(',');

  it.each([
    ['are remembered', 'SELECT a FROM t', true],
    [
      'are not where a short one names many long tables',
      `SET useMultistageEngine=true; SET database='${'d'.repeat(120)}'; SELECT 1 FROM ${names}`,
      false,
    ],
    ['are not where a short one prints a long one', `SELECT U&'${'é'.repeat(4_000)}' FROM t`, false],
  ])('%s', (_, sql, remembered) => {
    const texts = new JudgedTexts();
    const judged = texts.judge(sql, {});
    expect(judged).toMatchObject({ ok: true });
    expect(texts.judge(sql, {}) === judged).toBe(remembered);
  });
});
