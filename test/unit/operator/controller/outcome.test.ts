import { describe, expect, it } from 'vitest';
import { conditionsFor, READY, type Outcome } from '../../../../src/operator/controller/outcome.ts';

const NOW = Date.parse('2026-01-01T12:00:00.987Z');
const LATER = Date.parse('2026-01-01T13:00:00Z');
const waiting: Outcome = { class: 'waiting', reason: 'PolicyNotFound', message: 'policy `a` not found' };
const stalled: Outcome = { class: 'stalled', reason: 'InvalidPolicy', message: 'no' };

function shape(outcome: Outcome): string[] {
  return conditionsFor({ outcome }, [], 1, NOW).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
}

describe('the conditions of a status', () => {
  it('follows kstatus', () => {
    expect(shape(READY)).toEqual(['Ready=True Ready']);
    expect(shape(waiting)).toEqual(['Ready=False PolicyNotFound', 'Reconciling=True PolicyNotFound']);
    expect(shape(stalled)).toEqual(['Ready=False InvalidPolicy', 'Stalled=True InvalidPolicy']);
  });

  it('changes lastTransitionTime only when the status changes', () => {
    const first = conditionsFor({ outcome: waiting }, [], 1, NOW);
    expect(first[0]).toMatchObject({ lastTransitionTime: '2026-01-01T12:00:00Z', observedGeneration: 1 });
    const other = conditionsFor({ outcome: { ...waiting, message: 'policy `b` not found' } }, first, 2, LATER);
    expect(other[0]).toMatchObject({
      lastTransitionTime: '2026-01-01T12:00:00Z',
      observedGeneration: 2,
      message: 'policy `b` not found',
    });
    const ready = conditionsFor({ outcome: READY }, other, 2, LATER);
    expect(ready).toHaveLength(1);
    expect(ready[0]).toMatchObject({ status: 'True', lastTransitionTime: '2026-01-01T13:00:00Z' });
  });

  it('keeps conditions of other types and truncates messages to the limit of the schema', () => {
    const foreign = { type: 'Healthy', status: 'True', lastTransitionTime: 'x', reason: 'Y', message: 'z' } as const;
    const conditions = conditionsFor(
      { outcome: { ...stalled, message: 'x'.repeat(40_000) } },
      [foreign],
      undefined,
      NOW,
    );
    expect(conditions).toContain(foreign);
    expect(conditions[0]?.message).toHaveLength(32_768);
    expect(conditions[0]).not.toHaveProperty('observedGeneration');
  });
});
