import { expect, it } from 'vitest';
import { topOf } from '../../../bench/frame/profile.ts';

const node = (id: number, functionName: string, url = '') => ({ id, callFrame: { functionName, url, lineNumber: 1 } });

it('lists functions by their own CPU time, without waiting and without the profiler', () => {
  const profile = {
    nodes: [
      node(1, '(root)'),
      node(2, '(idle)'),
      node(3, 'decide', 'file:///src/decision.ts'),
      node(4, '', 'file:///src/a.ts'),
      node(5, 'decide', 'file:///src/decision.ts'),
      node(6, 'post', 'node:inspector'),
    ],
    samples: [2, 3, 4, 5, 6],
    timeDeltas: [1000, 20, 10, 10, 500],
  };
  expect(topOf(profile, 5)).toEqual([
    { name: 'decide (decision.ts)', share: 0.75 },
    { name: 'anonymous (a.ts)', share: 0.25 },
  ]);
  expect(topOf(profile, 1)).toHaveLength(1);
  expect(topOf({ nodes: [] }, 3)).toEqual([]);
});
