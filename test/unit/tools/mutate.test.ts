import { expect, it } from 'vitest';
import { testsOf } from '../../../tools/dev/mutate/judge.ts';
import { equivalents, mutantsIn } from '../../../tools/dev/mutate/main.ts';
import { instrument, keyOf, type Mutant, mutantsOf, sample } from '../../../tools/dev/mutate/mutants.ts';
import { equivalentKey, summary, type Verdict } from '../../../tools/dev/mutate/report.ts';

const SOURCE = `// a < b && c
const text = 'a === b' + \`\${a} || b\`;
const found = list.filter((one: Map<string, number>) => one.size > 1 && !/ && /.test(text));
function last(values: number[]): boolean {
  for (let at = 0; at < values.length; at++) total += values[at]! - 1;
  return false;
}
`;

function mutant(file: string, change = '&& → ||'): Mutant {
  return {
    file,
    line: 1,
    code: `a && b; // ${file}`,
    change,
    occurrence: 1,
    start: 0,
    end: 6,
    replacement: '(a) || (b)',
  };
}

it('mutates operators, but not comments, texts, regular expressions and types', () => {
  const mutants = mutantsOf('src/x.ts', SOURCE);
  expect(mutants.map(({ line, change }) => `${line} ${change}`)).toEqual([
    '3 && → ||',
    '3 > → >=',
    '3 ! → nothing',
    '5 < → <=',
    '5 ++ → --',
    '5 += → -=',
    '5 - → +',
    '6 false → true',
  ]);
  expect(mutants[0]).toMatchObject({
    code: SOURCE.split('\n')[2],
    replacement: '(one.size > 1) || (!/ && /.test(text))',
  });
});

it('counts the same change on the same text, so that each mutant has its own key', () => {
  const mutants = mutantsOf('src/x.ts', 'f(a && b, c && d);\nf(a && b, c && d);\n');
  expect(mutants.map(({ occurrence }) => occurrence)).toEqual([1, 2, 3, 4]);
  expect(new Set(mutants.map(keyOf)).size).toBe(4);
});

it('instruments nested expressions so that exactly the selected mutant applies', () => {
  const source =
    'let n = 2; const r = [!(a && b) || a.length === b, n--, n++, -n * 2 - 1, n <= 1 ? a && b && 3 : 4, (n += 2)];';
  const mutants = mutantsOf('src/x.ts', source);
  expect(mutants).toHaveLength(12);
  const ids = new Map(mutants.entries());
  const evaluate = (text: string, active: number): unknown =>
    // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- the code of the test itself
    new Function('a', 'b', '__mutant', `${text} return r;`)('x', 1, (id: number) => id === active);
  expect(evaluate(instrument(source, ids), -1)).toEqual(evaluate(source, -1));
  for (const [id, { start, end, replacement }] of ids) {
    const changed = `${source.slice(0, start)}${replacement}${source.slice(end)}`;
    expect(evaluate(instrument(source, ids), id)).toEqual(evaluate(changed, -1));
  }
});

it('samples by seed, in proportion to the folders, without being disturbed by other mutants', () => {
  const many = Array.from({ length: 300 }, (_, index) => mutant(`src/a/${index}.ts`));
  const few = Array.from({ length: 100 }, (_, index) => mutant(`src/b/${index}.ts`));
  const chosen = sample([many, few], 40, 1);
  expect([chosen.length, chosen.filter(({ file }) => file.startsWith('src/a')).length]).toEqual([40, 30]);
  expect(sample([many, few], 40, 1)).toEqual(chosen);
  expect(sample([many, few], 40, 2)).not.toEqual(chosen);
  const without = sample([many.filter((one) => one !== chosen[0]), few], 40, 1);
  expect(chosen.slice(1).filter((one) => !without.includes(one))).toEqual([]);
});

it('runs the tests that evaluate a mutant: the nearest folder first, then the fastest', () => {
  const result = (file: string, ms: number, error?: string, id = 7) => ({
    file,
    ms,
    reached: [[id, 1]] as const,
    ...(error !== undefined && { error }),
  });
  const results = [
    result('test/unit/api/other.test.ts', 5),
    result('test/unit/access/policy/srn.test.ts', 90),
    result('test/unit/access/policy/glob.test.ts', 20),
    result('test/unit/access/policy/fast.test.ts', 10),
    result('test/unit/access/policy/broken.test.ts', 1, 'failed'),
    result('test/unit/access/policy/apart.test.ts', 1, undefined, 8),
  ];
  const baseline = new Map(results.map((one) => [one.file, one]));
  expect(testsOf(7, 'src/access/policy/srn.ts', baseline).map(({ file }) => file)).toEqual([
    'test/unit/access/policy/srn.test.ts',
    'test/unit/access/policy/fast.test.ts',
    'test/unit/access/policy/glob.test.ts',
    'test/unit/api/other.test.ts',
  ]);
});

it('fails above 5 % of survivors; equivalent mutants do not count', () => {
  const verdicts = (survived: number): Verdict[] =>
    Array.from({ length: 25 }, (_, index) => ({
      mutant: mutant(`src/a/${index}.ts`),
      result: index < survived ? 'survived' : index < 5 ? 'equivalent' : index < 6 ? 'timeout' : 'killed',
      by: 'why',
    }));
  const one = summary(verdicts(1), ['src/a']);
  expect(one.text).toContain('1 of 21 mutants survived (4.8 %; at most 5 % may)');
  expect(one.text).toContain('survived: src/a/0.ts:1 `&& → ||` (why)\n    a && b; // src/a/0.ts');
  expect(one.passed).toBe(true);
  expect(summary(verdicts(2), ['src/a']).passed).toBe(false);
});

it('lists as equivalent only mutants that exist, once and with a reason', () => {
  const listed = equivalents();
  const existing = new Set([...new Set(listed.map(({ file }) => file))].flatMap((file) => mutantsIn(file).map(keyOf)));
  expect(listed.filter((entry) => !existing.has(equivalentKey(entry)) || entry.reason.trim() === '')).toEqual([]);
  expect(new Set(listed.map(equivalentKey)).size).toBe(listed.length);
});
