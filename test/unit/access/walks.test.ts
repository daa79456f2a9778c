// @module-tag slow
import { afterEach, describe, expect, it, vi } from 'vitest';
import { EscalationGuard } from '../../../src/access/manager/escalation.ts';
import { SEED } from '../../support/seed.ts';
import { memoryWorld } from '../../support/walks/memory-world.ts';
import { walks } from '../../support/walks/report.ts';

describe('random changes by random administrators', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('give no subject more than the administrators could grant at the start', async () => {
    const { violations, outcomes } = await walks([memoryWorld()], { seed: SEED, count: 200 });
    expect(violations).toEqual([]);
    const least = ['create policy', 'update policy', 'attach', 'detach', 'assign', 'unassign'];
    for (const change of least) {
      expect([change, outcomes.get(`${change}: ok`)]).toEqual([change, expect.any(Number)]);
      expect([change, outcomes.get(`${change}: forbidden`)]).toEqual([change, expect.any(Number)]);
    }
  });

  it.each([
    'requireMayWritePolicy',
    'requireMayAttach',
    'requireMayDetach',
    'requireMayAssign',
    'requireMayUnassign',
  ] as const)('would give more without %s()', async (method) => {
    vi.spyOn(EscalationGuard.prototype, method).mockImplementation(() => undefined as never);
    expect((await walks([memoryWorld()], { seed: SEED, count: 500 })).violations).toHaveLength(1);
  });
});
