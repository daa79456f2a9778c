import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Directory } from '../../../../src/access/directory.ts';
import { simulate, type SimulatedRequest } from '../../../../src/access/policy/simulate.ts';

const question = { action: 'Query', resource: { kind: 'table' } } as unknown as SimulatedRequest;

/** A directory whose unsaved policy has that many patterns, and the number of decisions so far. */
function counting(patternCount: number) {
  const counted = { decisions: 0 };
  const engine = {
    simulatedGrants: () => ({ patternCount, searchedPatternCount: patternCount }),
    decideWith: () => {
      counted.decisions += 1;
      return { allowed: false };
    },
  };
  return { counted, directory: { engine } as unknown as Directory };
}

it('yields between reading a long policy and the first decision, and between decisions', async () => {
  const { counted, directory } = counting(2048);
  const simulated = simulate(directory, [], {}, [question, question]);
  await Promise.resolve();
  expect(counted.decisions).toBe(0);
  await setImmediate();
  expect(counted.decisions).toBe(1);
  expect((await simulated).decisions).toHaveLength(2);
});
