import { afterEach, describe, expect, it, vi } from 'vitest';
import { EscalationGuard } from '../../../src/access/manager/escalation.ts';
import { memoryWorld } from '../../support/walks/memory-world.ts';
import { walk } from '../../support/walks/walk.ts';

const SEED = Number(process.env['FAST_CHECK_SEED'] ?? 1);

async function walks(count: number): Promise<{ violations: string[]; outcomes: Map<string, number> }> {
  const violations: string[] = [];
  const outcomes = new Map<string, number>();
  for (let index = 0; index < count && violations.length === 0; index++) {
    const report = await walk(memoryWorld(), SEED + index);
    violations.push(...report.violations);
    for (const [outcome, times] of report.outcomes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + times);
  }
  return { violations, outcomes };
}

describe('random changes by random administrators', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('give no subject more than the administrators could grant at the start', async () => {
    const { violations, outcomes } = await walks(200);
    expect(violations).toEqual([]);
    const least = ['create policy', 'update policy', 'attach', 'detach', 'assign', 'unassign'];
    for (const change of least) {
      expect([change, outcomes.get(`${change}: ok`)]).toEqual([change, expect.any(Number)]);
      expect([change, outcomes.get(`${change}: forbidden`)]).toEqual([change, expect.any(Number)]);
    }
    expect(outcomes.get('walks')).toBeGreaterThan(100);
  });

  it.each([
    'requireMayWritePolicy',
    'requireMayAttach',
    'requireMayDetach',
    'requireMayAssign',
    'requireMayUnassign',
  ] as const)('would give more without %s()', async (method) => {
    vi.spyOn(EscalationGuard.prototype, method).mockImplementation(() => undefined as never);
    expect((await walks(300)).violations).toHaveLength(1);
  });
});
