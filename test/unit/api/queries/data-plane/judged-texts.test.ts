import { describe, expect, it } from 'vitest';
import { judgeSql } from '../../../../../src/access/sql/judge.ts';
import { SQL_LIMITS } from '../../../../../src/access/sql/limits.ts';
import { JudgedTexts } from '../../../../../src/api/queries/data-plane/judge-query.ts';

const noTurn = (): Promise<void> => Promise.reject(new Error('a short text needs no turn'));

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
  ])('%s', async (_, sql, remembered) => {
    const texts = new JudgedTexts();
    const judged = await texts.judge(sql, {}, noTurn);
    expect(judged).toMatchObject({ ok: true });
    expect((await texts.judge(sql, {}, noTurn)) === judged).toBe(remembered);
  });
});

describe('a long text', () => {
  const columns = (count: number): string =>
    `SELECT ${Array.from({ length: count }, (_, index) => `c${index}`).join(', ')} FROM t`;
  const many = columns(SQL_LIMITS.tokens / 2 - 10);

  it.each([
    ['with the most tokens', many, 10],
    ['with a mistake at its end', `${many} WHERE`, 6],
    ['with too many tokens', `SELECT ${'1,'.repeat(SQL_LIMITS.tokens / 2)}1 FROM t`, 6],
    ['with few tokens', `SELECT a FROM t WHERE b = '${'x'.repeat(10_000)}'`, 0],
  ])('%s is judged in parts, with the same result', async (_, sql, least) => {
    let turns = 0;
    const judged = await new JudgedTexts().judge(sql, { database: 'd' }, () => {
      turns++;
      return Promise.resolve();
    });
    expect(judged).toEqual(judgeSql(sql, { database: 'd' }));
    expect(turns).toBeGreaterThanOrEqual(least);
    expect(turns).toBeLessThanOrEqual(least + 3);
  });

  it('is not judged further after a turn was refused', async () => {
    const refused = new Error('the client has disconnected');
    await expect(new JudgedTexts().judge(many, {}, () => Promise.reject(refused))).rejects.toBe(refused);
  });
});
