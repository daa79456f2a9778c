import { describe, expect, it } from 'vitest';
import type { CheckDefinition, CheckEntry } from '../../../web/src/lib/types.ts';
import type { Running } from '../../../web/src/lib/types.ts';
import { checksOfRun, progressText } from '../../../web/src/pages/health/run-progress.ts';

const running = (checks: Running['checks'], checksTotal = 3): Running => ({
  taskId: 'r',
  step: '',
  checks,
  checksTotal,
});
const definition = (name: string): CheckDefinition => ({
  name,
  title: `Title of ${name}`,
  description: '',
  origin: 'specification',
  category: 'tables',
  severity: 'warning',
  defaultThresholds: {},
});
const entry = (name: string): CheckEntry => ({
  name,
  title: `Title of ${name}`,
  origin: 'specification',
  category: 'tables',
  severity: 'warning',
  status: 'FAIL',
  message: '',
  findings: [],
  findingCount: 0,
  remediation: '',
  durationMs: 0,
});
const ALL = ['A', 'B', 'C'].map(definition);

describe('the checks of a run', () => {
  it('keep their positions while they complete in another order', () => {
    const decided = running([
      { name: 'C', status: 'FAIL' },
      { name: 'A', status: 'PASS' },
    ]);
    expect(checksOfRun(decided, [], ALL)).toEqual([
      { name: 'A', title: 'Title of A', status: 'PASS' },
      { name: 'B', title: 'Title of B', status: undefined },
      { name: 'C', title: 'Title of C', status: 'FAIL' },
    ]);
  });

  it('are those of the report if the number is equal: others are disabled', () => {
    const names = checksOfRun(running([], 2), [entry('A'), entry('C')], ALL).map(({ name }) => name);
    expect(names).toEqual(['A', 'C']);
  });

  it('include checks without a definition, by their names', () => {
    expect(checksOfRun(running([{ name: 'NEW', status: 'PASS' }]), [], [])).toEqual([
      { name: 'NEW', title: 'NEW', status: 'PASS' },
    ]);
  });
});

describe('the text about a run', () => {
  it.each<[Running['checks'], string]>([
    [[], 'no checks completed yet'],
    [[{ name: 'A', status: 'PASS' }], '1 of 3 checks completed, none failed'],
    [[{ name: 'A', status: 'FAIL' }], '1 of 3 checks completed, 1 failed'],
    [
      [
        { name: 'A', status: 'FAIL' },
        { name: 'B', status: 'FAIL' },
      ],
      '2 of 3 checks completed, 2 failed',
    ],
  ])('%j is `%s`', (checks, said) => {
    expect(progressText(running(checks))).toBe(said);
  });
});
