import { describe, expect, it } from 'vitest';
import { readM3ql } from '../../../../src/access/sql/m3ql.ts';

const FETCH =
  'fetch{table="orders",filter="status = \'PAID\' AND amount > 10",ts_column="ts",ts_unit="MILLISECONDS",value="amount * 2"}';

const printed = (text: string): string => readM3ql(text).print('sales.orders');

describe('a query of time series', () => {
  it('is printed with the name of its table, in one form', () => {
    const text =
      'fetch { ts_column = "ts" ,\n table="orders_OFFLINE", value="1", ts_unit="SECONDS" } |sum{ city , status}\n| transformNull{0.5}|keepLastValue{}';
    expect(readM3ql(text).table).toBe('orders_OFFLINE');
    expect(printed(text)).toBe(
      'fetch{table="sales.orders",ts_column="ts",ts_unit="SECONDS",value="1"} | sum{city,status} | transformNull{0.5} | keepLastValue{}',
    );
    const again = printed(FETCH);
    expect(again).toBe(FETCH.replace('"orders"', '"sales.orders"'));
    expect(printed(again)).toBe(again);
  });

  it.each([
    ['', 'not a list of commands'],
    ['up', 'not a list of commands'],
    ['sum{a}', 'must begin with `fetch'],
    ['fetch table=orders', 'not a list of commands'],
    ['fetch{}', 'the arguments of `fetch` must be'],
    ['fetch{value="1"}', 'must name one table'],
    // Two tables, of which a reader may take either.
    [`${FETCH} | fetch{table="secret",value="1"}`, 'after `fetch`'],
    ['fetch{table="orders",table="secret"}', '`fetch` has `table` twice'],
    ['fetch{table="orders",Table="secret"}', 'the arguments of `fetch` must be'],
    ['fetch{table="orders"} fetch{table="secret"}', '`|` or the end of the text'],
    ['fetch{table="orders"}|', 'not a list of commands'],
    // Quotes, escapes and brackets within values, where the readers of versions end them in different places.
    ['fetch{table="orders\\",value="x",table="secret"}', 'the arguments of `fetch` must be'],
    ['fetch{table="orders"value="1"}', '`,` or `}` was expected'],
    ['fetch{table="a}|fetch{table=secret"}', 'the arguments of `fetch` must be'],
    ['fetch{table="orders",filter="a = \'|\'"}', 'not a list of commands'],
    ['fetch{table="orders",filter="a = \'ſ\'"}', 'the arguments of `fetch` must be'],
    [
      `fetch{table="orders",ts_column="lookUp('secret', 'a', 'id', id)"}`,
      '`ts_column` of `fetch` must be a plain name',
    ],
    ['fetch{table="or ders"}', 'must name one table'],
    ['fetch{table="orders,secret"}', 'must name one table'],
    // Other tables within the expressions.
    ["fetch{table=\"orders\",value=\"lookUp('secret', 'a', 'id', id)\"}", 'must not read another table'],
    ['fetch{table="orders",filter="id IN (SELECT id FROM secret)"}', 'must not read another table'],
    [
      'fetch{table="orders",filter="in_subquery(id, \'SELECT id_set(a) FROM secret\') = 1"}',
      'must not read another table',
    ],
    ['fetch{table="orders",value="1) FROM secret WHERE (1 = 1"}', 'cannot be read'],
    ['fetch{table="orders",value="1 /* ",filter=" */ = 1"}', 'must not have comments'],
    ['fetch{table="orders",value="1 -- x"}', 'must not have comments'],
    ['fetch{table="orders",value="groovy(\'x\')"}', 'cannot be read'],
    // Functions of another version or plugin could read other tables.
    [`${FETCH} | union{secret}`, 'after `fetch`'],
    [`${FETCH} | sum{table="secret"}`, '`sum` may have columns or a number'],
    [`${FETCH}${' | sum{a}'.repeat(40)}`, 'more than 32 commands'],
    [`fetch{table="orders",filter="a = '${'x'.repeat(17_000)}'"}`, 'longer than 16384 characters'],
  ])('%s is refused', (text, reason) => {
    expect(() => readM3ql(text)).toThrow(reason);
  });
});
