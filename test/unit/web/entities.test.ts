import { describe, expect, it } from 'vitest';
import { entitiesIn, entityOf, partsOf } from '../../../web/src/lib/entities.ts';

describe('the names in a message', () => {
  it('are those of instances, also in backticks, and of tables behind their kind', () => {
    const text = 'table `orders_OFFLINE` has no replica on `Server_10.0.0.1_8098`, nor on Server_b-1.pinot_8098.';
    expect(partsOf(text)).toEqual([
      'table ',
      { kind: 'table', name: 'orders_OFFLINE' },
      ' has no replica on ',
      { kind: 'instance', name: 'Server_10.0.0.1_8098' },
      ', nor on ',
      { kind: 'instance', name: 'Server_b-1.pinot_8098' },
      '.',
    ]);
    expect(entitiesIn('the setting `a` of the tenant DefaultTenant_OFFLINE')).toEqual([]);
  });
});

it('a finding is about its table or its instance, and other findings about neither', () => {
  expect(entityOf({ entityType: 'TABLE', entity: 'orders_OFFLINE' })).toEqual({
    kind: 'table',
    name: 'orders_OFFLINE',
  });
  expect(entityOf({ entityType: 'minion', entity: 'Minion_a' })).toEqual({ kind: 'instance', name: 'Minion_a' });
  expect(entityOf({ entityType: 'segment', entity: 'orders_0' })).toBeUndefined();
});
