import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readResults } from '../../../bench/frame/results.ts';
import { atMost, rowOf } from '../../../bench/frame/rows.ts';
import { unexplained } from '../../../bench/reasons.ts';

const ROOT = join(import.meta.dirname, '../../..');
const measured = (await readResults(join(ROOT, 'bench/results.json'))).flatMap(({ rows }) => rows);

const rowAt = (ours: number, ifMissed?: string) =>
  rowOf({
    work: 'a work that nobody knows',
    unit: 'ms',
    better: 'less',
    ours,
    goal: atMost(10, 'ms'),
    ...(ifMissed !== undefined && { ifMissed }),
  });

describe('the reasons of missed goals', () => {
  it('explain each missed row of bench/results.json', () => {
    expect(unexplained(measured).map(({ work, peer }) => `${work}; ${peer}`)).toEqual([]);
  });

  it('are wanted for a missed row only, and not where the suite gives one', () => {
    expect(unexplained([rowAt(11), rowAt(10), rowAt(11, 'just so')])).toEqual([rowAt(11)]);
  });

  it.each(['page', 'growth of resident memory', 'event loop held'])('know each row by its own work: %s', (work) => {
    expect(unexplained([{ ...rowAt(11), work }])).toHaveLength(1);
  });
});
