import { expect, it } from 'vitest';
import type { Reading, TableConditions } from '../../../../src/access/conditions.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import { Trail } from '../../../../src/platform/trail.ts';
import { conditionsId, isSameReading, requireReading } from '../../../../src/api/server/reading.ts';
import type { RequestContext } from '../../../../src/api/server/context.ts';
import { ALICE, allowAll } from '../../../support/app.ts';

const DEALS = tableNameOf('deals');

function conditionsOf(key: string): TableConditions {
  return { rows: undefined, columns: undefined, masks: new Map(), key };
}

function requestOf(reading: Reading, trail?: Trail): RequestContext {
  const authorizer = { ...allowAll, reading: () => reading };
  return { principal: ALICE, server: { authorizer }, trail } as unknown as RequestContext;
}

it.each([
  ['the same conditions', { allowed: true, conditions: conditionsOf('mine') }, true],
  ['other conditions', { allowed: true, conditions: conditionsOf('others') }, false],
  ['no conditions', { allowed: true, conditions: undefined }, false],
  ['no right', { allowed: false }, false],
] as const)('a query goes on without its caller while that has %s', (_, reading, goesOn) => {
  const query = { tables: [DEALS], conditions: [{ table: DEALS, id: conditionsId(conditionsOf('mine')) }] };
  expect(isSameReading(requestOf(reading), query)).toBe(goesOn);
});

it('a query of whole tables ends when its caller may read a part only', () => {
  const query = { tables: [DEALS], conditions: [] };
  expect(isSameReading(requestOf({ allowed: true, conditions: undefined }), query)).toBe(true);
  expect(isSameReading(requestOf({ allowed: true, conditions: conditionsOf('mine') }), query)).toBe(false);
});

it('a query of a logical table ends when its caller may read a part only of one of its tables', () => {
  const [view, offers] = [tableNameOf('view'), tableNameOf('offers')];
  const limited = (...tables: string[]): RequestContext => {
    const reading = (_: unknown, { levels }: { levels: readonly { id: string }[] }): Reading => ({
      allowed: true,
      conditions: tables.includes(levels[0]?.id ?? '') ? conditionsOf('mine') : undefined,
    });
    const authorizer = { ...allowAll, hasConditions: () => tables.length > 0, reading };
    return { principal: ALICE, server: { authorizer } } as unknown as RequestContext;
  };
  const query = { tables: [view], conditions: [], logicalTables: [{ table: view, tables: [offers, DEALS] }] };
  expect(isSameReading(limited(), query)).toBe(true);
  expect(isSameReading(limited('others'), query)).toBe(true);
  expect(isSameReading(limited('deals'), query)).toBe(false);
  const unknown = { ...query, logicalTables: [{ table: view }] };
  expect([isSameReading(limited(), unknown), isSameReading(limited('others'), unknown)]).toEqual([true, false]);
  // As at its submission: conditions of the logical table itself are enough.
  const own = { ...query, conditions: [{ table: view, id: conditionsId(conditionsOf('mine')) }] };
  expect(isSameReading(limited('view', 'deals'), own)).toBe(true);
});

it('the record of a request names the conditions without their values', () => {
  const trail = new Trail();
  requireReading(requestOf({ allowed: true, conditions: conditionsOf(`owner = 'alice'`) }, trail), DEALS);
  expect(trail.conditions).toEqual([`deals ${conditionsId(conditionsOf(`owner = 'alice'`))}`]);
  expect(trail.conditions?.join('')).not.toContain('alice');
});
