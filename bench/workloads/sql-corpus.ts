const TABLES = ['orders', 'events', 'clicks', 'sessions', 'payments'];
const COLUMNS = ['city', 'status', 'country', 'device', 'campaign'];
const NUMBERS = ['amount', 'quantity', 'price'];

/** Queries of dashboards and of people, about 40 to 900 characters. All versions of Pinot accept them. */
const FORMS: readonly ((random: Pick) => string)[] = [
  ({ table, key, number }) => `SELECT ${key}, COUNT(*) FROM ${table} GROUP BY ${key} LIMIT ${number(1000)}`,
  ({ table, key, number }) => `SELECT * FROM ${table} WHERE ${key} = 'x${number(99)}' LIMIT ${number(100)}`,
  ({ table, key, measure, number }) =>
    `SELECT ${key}, SUM(${measure}) AS total, AVG(price) FROM ${table} WHERE ts BETWEEN ${number(1e9)} AND ${number(2e9)} ` +
    `AND ${key} IN ('a', 'b', 'c${number(9)}') GROUP BY ${key} HAVING SUM(${measure}) > ${number(500)} ORDER BY SUM(${measure}) DESC LIMIT 20`,
  ({ table, measure, number }) =>
    `SELECT DATETIMECONVERT(ts, '1:MILLISECONDS:EPOCH', '1:HOURS:EPOCH', '1:HOURS') AS h, DISTINCTCOUNTHLL(customerId), ` +
    `PERCENTILETDIGEST(${measure}, 95) FROM ${table} WHERE ts > ${number(1e9)} GROUP BY h ORDER BY h LIMIT 500`,
  ({ table, key, measure }) =>
    `SELECT ${key}, SUM(CASE WHEN ${measure} > 100 THEN 2 WHEN ${measure} > 10 THEN 1 ELSE 0 END), COUNT(*) ` +
    `FROM ${table} WHERE NOT (${key} LIKE 'test%' OR ${key} IS NULL) GROUP BY ${key} LIMIT 1000`,
  ({ table, key, number }) =>
    `SELECT "${key}", customerId FROM ${table} WHERE ${key} IN (${Array.from({ length: 40 }, () => `'${number(1e6)}'`).join(', ')}) ` +
    `AND (quantity * price + 3) / 2 >= ${number(50)} ORDER BY customerId LIMIT ${number(100)}, ${number(1000)}`,
];

interface Pick {
  readonly table: string;
  readonly key: string;
  readonly measure: string;
  readonly number: (limit: number) => number;
}

/** @param random repeatable, from 0 to 1 */
export function ordinaryTexts(count: number, random: () => number): string[] {
  const one = (values: readonly string[]): string => values[Math.floor(random() * values.length)]!;
  const number = (limit: number): number => 1 + Math.floor(random() * limit);
  return Array.from({ length: count }, (_, index) =>
    FORMS[index % FORMS.length]!({ table: one(TABLES), key: one(COLUMNS), measure: one(NUMBERS), number }),
  );
}

/** A query of about that many characters. */
export function longText(characters: number): string {
  const list: string[] = [];
  let length = 0;
  while (length < characters) {
    const value = `'value-${list.length}'`;
    list.push(value);
    length += value.length + 2;
  }
  return `SELECT city, COUNT(*) FROM orders WHERE status IN (${list.join(', ')}) GROUP BY city LIMIT 10`;
}
