import { describe, expect, it } from 'vitest';
import { updateConditions, type NewCondition } from '../../../src/resources/conditions.ts';
import { kubernetesMicroTime, kubernetesTime } from '../../../src/resources/time.ts';

const NOW = Date.parse('2026-01-01T12:00:00.987Z');
const LATER = Date.parse('2026-01-01T13:00:00Z');
const OWNED = new Set(['Ready', 'Stalled']);
const ready = (status: 'True' | 'False', message = ''): NewCondition => ({
  type: 'Ready',
  status,
  reason: 'Because',
  message,
});

describe('updateConditions', () => {
  it('keeps lastTransitionTime while the status is the same', () => {
    const first = updateConditions(undefined, { conditions: [ready('False')], owned: OWNED, generation: 1, now: NOW });
    expect(first).toEqual([{ ...ready('False'), observedGeneration: 1, lastTransitionTime: '2026-01-01T12:00:00Z' }]);
    const second = updateConditions(first, {
      conditions: [ready('False', 'b')],
      owned: OWNED,
      generation: 2,
      now: LATER,
    });
    expect(second).toMatchObject([{ message: 'b', observedGeneration: 2, lastTransitionTime: '2026-01-01T12:00:00Z' }]);
    const third = updateConditions(second, { conditions: [ready('True')], owned: OWNED, generation: 2, now: LATER });
    expect(third).toMatchObject([{ status: 'True', lastTransitionTime: '2026-01-01T13:00:00Z' }]);
  });

  it('removes owned conditions that are not given, and keeps conditions of other types', () => {
    const other = { ...ready('True'), type: 'Healthy', lastTransitionTime: '2026-01-01T11:00:00Z' };
    const stalled = { ...other, type: 'Stalled' };
    const update = { conditions: [], owned: OWNED, generation: undefined, now: NOW };
    expect(updateConditions([stalled, other], update)).toEqual([other]);
  });
});

it('writes metav1.Time and metav1.MicroTime', () => {
  expect(kubernetesTime(NOW)).toBe('2026-01-01T12:00:00Z');
  expect(kubernetesMicroTime(NOW)).toBe('2026-01-01T12:00:00.987000Z');
});
