import { expect, it } from 'vitest';
import { fuzzHttp } from '../../fuzz/http/run.ts';

// A part of `make fuzz-http`, the same in every run; another seed explores other cases: FUZZ_SEED=$RANDOM.
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_122);

it('raw requests of every kind get complete responses or errors, and the engine gets canonical requests', async () => {
  const { violations, statuses } = await fuzzHttp({ seed: SEED, from: 0, count: 1_500 });
  expect(violations).toEqual([]);
  // Both accepted and rejected cases.
  expect(statuses.get(200)).toBeGreaterThan(1_000);
  expect(statuses.get(400)).toBeGreaterThan(100);
});
