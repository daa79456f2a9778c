import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseMask } from '../../../src/access/sql/row-filter.ts';
import { ROOT } from '../../support/documents/pages.ts';
import { sharedPinot } from '../../support/pinot.ts';
import { printedExpression } from '../../unit/access/sql/printed-expression.ts';

const PAGE = readFileSync(join(ROOT, 'docs/rbac.md'), 'utf8');
const [, ROWS = ''] = /\n\| mask \| shows \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(PAGE) ?? [];

/** The masks of the table, with columns that exist. */
const MASKS = ROWS.split('\n').flatMap((row) => {
  const [, cell = ''] = row.split('|');
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, mask = '']) =>
    mask.replaceAll('mail', 'city').replaceAll('price', 'orderId'),
  );
});

it('each documented mask works in the clauses of a query', async () => {
  expect(MASKS.length).toBeGreaterThanOrEqual(5);
  const pinot = await sharedPinot();
  for (const mask of MASKS) {
    const parsed = parseMask(mask, mask.includes('orderId') ? 'orderId' : 'city');
    if (!parsed.ok) throw new Error(parsed.reason);
    const printed = printedExpression(parsed.expression);
    for (const sql of [
      `SELECT ${printed}, city FROM orders LIMIT 3`,
      `SELECT ${printed}, count(*) FROM orders GROUP BY ${printed} ORDER BY ${printed} LIMIT 3`,
    ]) {
      const { exceptions, resultTable } = JSON.parse(await pinot.query(sql)) as {
        exceptions: unknown[];
        resultTable?: { rows: unknown[] };
      };
      expect([sql, exceptions]).toEqual([sql, []]);
      expect(resultTable?.rows.length, sql).toBeGreaterThanOrEqual(1);
    }
  }
});
