import { COLUMNS, FIRST_TIME } from './tables.ts';

/** Texts of one table, with its columns. */
export interface Source {
  readonly table: string;
  /** Columns that may be read. */
  readonly names: readonly string[];
  readonly random: () => number;
}

/** All rows: without a limit the single-stage engine returns ten. */
const ALL = 'LIMIT 100000';

/** Random queries of a table, with all clauses of the single-stage engine. Those with a limit below all rows have a complete order. */
export function randomQueries({ table, names, random }: Source): () => string {
  const one = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const texts = names.filter((name) => COLUMNS[name] === 'STRING');
  const numbers = names.filter((name) => ['INT', 'LONG', 'DOUBLE'].includes(COLUMNS[name] ?? ''));
  const single = [...texts, ...numbers];
  const column = (name: string): string => one([name, `"${name}"`, `${table}.${name}`]);
  const text = (): string => one(['eu', 'us', 'it', 'jp', 'Bob', 'ADA', 'outside', 'outside-7', "d''Arc", '', 'zz']);
  // Also values that are no values of the column: these become constants, or errors.
  const number = (): string =>
    one([
      String(Math.floor(random() * 9)),
      '3.5',
      '-1',
      '2147483648',
      '99999999999999',
      '1e30',
      '0.125',
      `${FIRST_TIME}`,
    ]);
  const comparison = (): string => one(['=', '<>', '!=', '>', '<=', '<', '>=']);
  const predicate = (depth: number): string =>
    one([
      () => `${column(one(texts))} ${comparison()} '${text()}'`,
      () => `${column(one(numbers))} ${comparison()} ${number()}`,
      () => `${column(one(texts))} ${one(['IN', 'NOT IN'])} ('eu', '${text()}', 'BOB', 'outside-9')`,
      () => `${column(one(numbers))} ${one(['IN', 'NOT IN'])} (1, 3, ${Math.floor(random() * 9)})`,
      () => `${column(one(numbers))} ${one(['', 'NOT '])}BETWEEN 2 AND ${Math.floor(random() * 300)}`,
      () => `tags ${one(['=', '<>'])} '${one(['x', 'y', 'z'])}'`,
      () => `${column(one(texts))} ${one(['', 'NOT '])}LIKE '%${one(['a', 'o', 'u'])}%'`,
      () => `regexp_like(${column(one(texts))}, '${one(['^e', 'u$', 'i.', '.*'])}')`,
      () => `${column(one(single))} IS ${one(['', 'NOT '])}NULL`,
      () => `NOT ${predicate(depth)}`,
      () => (depth > 2 ? '1 = 1' : `(${predicate(depth + 1)} ${one(['OR', 'AND'])} ${predicate(depth + 1)})`),
      () => `lower(${column(one(texts))}) = 'ada'`,
      () => `${one(numbers)} + 1 > ${one(numbers)}`,
    ])();
  const aggregate = (): string =>
    one([
      () => 'count(*)',
      () => `${one(['sum', 'min', 'max', 'avg', 'distinctcount'])}(${column(one(numbers))})`,
      () => `distinctcount(${column(one(texts))})`,
      () => `minmaxrange(${column(one(numbers))})`,
      () => `percentile(${column(one(numbers))}, ${one([50, 95, 99])})`,
      () => `sum(CASE WHEN ${predicate(2)} THEN 1 ELSE 0 END)`,
      () => `count(*) FILTER (WHERE ${predicate(2)})`,
    ])();
  const where = (): string => (random() < 0.7 ? ` WHERE ${predicate(0)}` : '');
  const distinct = (count: number): string[] => single.toSorted(() => random() - 0.5).slice(0, count);
  const from = (): string => ` FROM ${table}${where()} `;
  const query = (): string =>
    one([
      () => `SELECT ${Array.from({ length: 1 + Math.floor(random() * 3) }, aggregate).join(', ')}${from()}`,
      () => {
        const group = distinct(1 + Math.floor(random() * 2));
        const having = random() < 0.3 ? ' HAVING count(*) > 2' : '';
        return `SELECT ${[...group, aggregate()].join(', ')}${from()}GROUP BY ${group.join(', ')}${having} ${ALL}`;
      },
      () => {
        const group = distinct(2);
        const order = one([group.join(', '), '1, 2', `${group[0]} DESC, ${group[1]}`]);
        return `SELECT ${[...group, 'count(*)'].join(', ')}${from()}GROUP BY ${group.join(', ')} ORDER BY ${order} LIMIT ${1 + Math.floor(random() * 20)}`;
      },
      () => `SELECT DISTINCT ${distinct(2).join(', ')}${from()}${ALL}`,
      () => `SELECT *${from()}${ALL}`,
      () => {
        const offset = random() < 0.3 ? ` OFFSET ${Math.floor(random() * 50)}` : '';
        return `SELECT id, ${distinct(2).join(', ')}${from()}ORDER BY id ${one(['ASC', 'DESC'])} LIMIT ${1 + Math.floor(random() * 30)}${offset}`;
      },
      () => `SELECT tags, count(*)${from()}GROUP BY tags ${ALL}`,
      () => {
        const name = one(texts);
        return `SELECT ${name} AS shown, count(*) AS number${from()}GROUP BY ${name} ORDER BY number DESC, shown ${ALL}`;
      },
    ])();
  // With both, 0.11 counts rows that the NOT excludes.
  const isDefect = (sql: string): boolean => sql.includes('FILTER') && sql.includes('NOT');
  return () => {
    let sql = query();
    while (isDefect(sql)) sql = query();
    return sql;
  };
}

/**
 * What Superset, Tableau, Grafana, Looker, Metabase and pinotdb send for charts, filters and previews, on the columns that may be read. All have a complete order, or
 * all rows.
 */
export function ordinaryQueries(table: string, names: readonly string[]): readonly string[] {
  const day = "DATETIMECONVERT(at, '1:MILLISECONDS:EPOCH', '1:MILLISECONDS:EPOCH', '1:DAYS')";
  const hour = "DATETRUNC('HOUR', at, 'MILLISECONDS')";
  const range = `at >= ${FIRST_TIME} AND at < ${FIRST_TIME + 5 * 86_400_000}`;
  const hidden = names.includes('secret')
    ? [`SELECT secret, count(*) AS n FROM @t GROUP BY secret ORDER BY n DESC, secret ${ALL}`]
    : [];
  return [
    ...hidden,
    // Charts over time.
    `SELECT ${day} AS "day", count(*) AS "count" FROM @t WHERE ${range} GROUP BY ${day} ORDER BY ${day} ${ALL}`,
    `SELECT ${hour} AS "time", avg("amount") AS "metric" FROM "@t" WHERE ${range} GROUP BY ${hour} ORDER BY "time" DESC ${ALL}`,
    `SELECT ${hour} AS "time", "region", sum("amount") AS "metric" FROM "@t" GROUP BY ${hour}, "region" ORDER BY "time", "region" ${ALL}`,
    `SELECT ${day}, sum(CASE WHEN region = 'eu' THEN amount ELSE 0 END) FROM @t GROUP BY ${day} ORDER BY ${day} ${ALL}`,
    // Top N.
    'SELECT region, COUNT(*) AS "count" FROM @t GROUP BY region ORDER BY "count" DESC, region LIMIT 100',
    'SELECT name AS name, sum(amount) AS "SUM(amount)" FROM @t GROUP BY name ORDER BY "SUM(amount)" DESC, name LIMIT 3',
    'SELECT level, count(*) FROM @t GROUP BY level ORDER BY count(*) DESC, level LIMIT 5',
    'SELECT "@t"."region" AS "region", SUM("@t"."amount") AS "sum_amount_ok" FROM "@t" GROUP BY 1 ORDER BY 1 LIMIT 1000',
    'SELECT @t.region AS "@t.region", COUNT(*) AS "@t.count" FROM @t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 500',
    'SELECT "@t"."region" AS "region", COUNT(*) AS "count" FROM "@t" GROUP BY "@t"."region" ORDER BY "@t"."region" ASC LIMIT 2000',
    // Figures, and values for filters.
    'SELECT COUNT(*) FROM @t',
    'SELECT COUNT(1) AS n, MIN(at) AS first, MAX(at) AS last FROM @t',
    'SELECT percentile(amount, 50), percentile(amount, 95), percentile(level, 99) FROM @t',
    'SELECT DISTINCTCOUNT(region), DISTINCTCOUNTHLL(id), DISTINCTCOUNTBITMAP(level) FROM @t',
    'SELECT COUNT(DISTINCT region), COUNT(DISTINCT level) FROM @t',
    'SELECT DISTINCT region FROM @t ORDER BY region LIMIT 1000',
    'SELECT DISTINCT region, level FROM @t ORDER BY region, level LIMIT 1000',
    'SELECT MIN(level), MAX(level), AVG(amount), SUM(amount) FROM @t HAVING COUNT(1) > 0 LIMIT 1',
    'SELECT region, count(*) FROM @t GROUP BY region HAVING count(*) > 10 AND sum(level) > 20 ORDER BY region LIMIT 100',
    'SELECT region, count(*) AS n FROM @t GROUP BY region HAVING n > 10 ORDER BY n DESC, region LIMIT 100',
    "SELECT CASE WHEN level < 3 THEN 'low' WHEN level < 6 THEN 'middle' ELSE 'high' END AS band, count(*) FROM @t GROUP BY CASE WHEN level < 3 THEN 'low' WHEN level < 6 THEN 'middle' ELSE 'high' END ORDER BY band LIMIT 10",
    "SELECT concat(region, name, '-') AS label, count(*) FROM @t GROUP BY label ORDER BY label LIMIT 1000",
    // Previews of rows.
    'SELECT * FROM @t ORDER BY id LIMIT 50',
    `SELECT * FROM @t ${ALL}`,
    'SELECT id, region, level, amount, name FROM @t ORDER BY amount DESC, id ASC LIMIT 20 OFFSET 40',
    "SELECT id, name FROM @t WHERE region IN ('eu', 'it', 'us') AND name LIKE '%a%' AND level BETWEEN 1 AND 5 ORDER BY id LIMIT 100",
    "SELECT id FROM @t WHERE (region = 'eu' OR level > 2) AND NOT (name = 'Bob') ORDER BY 1 DESC LIMIT 100",
    'SELECT id, amount * 2 AS doubled, round(amount, 1) FROM @t ORDER BY doubled DESC, id LIMIT 25',
    `SELECT lower(region) AS r, upper(name) AS n, length(name) FROM @t ORDER BY id ${ALL}`,
    // More than one query.
    'SELECT region, n FROM (SELECT region, count(*) AS n FROM @t GROUP BY region) x WHERE n > 10 ORDER BY region LIMIT 100',
    'SELECT sum(n) FROM (SELECT region, level, count(*) AS n FROM @t GROUP BY region, level) AS virtual_table',
    'WITH totals AS (SELECT region, sum(amount) AS total FROM @t GROUP BY region) SELECT region, total FROM totals ORDER BY total DESC LIMIT 10',
    'SELECT a.id, b.id FROM @t a JOIN @t b ON a.id = b.id WHERE a.level = 2 ORDER BY a.id LIMIT 500',
    'SELECT a.region, count(*) FROM @t AS a INNER JOIN @t AS b ON a.id = b.id AND a.level = b.level GROUP BY a.region ORDER BY a.region LIMIT 500',
    'SELECT a.id FROM @t a LEFT JOIN (SELECT id, amount FROM @t WHERE level = 1) b ON a.id = b.id WHERE a.level < 3 ORDER BY a.id LIMIT 500',
    "SELECT id FROM @t WHERE level IN (SELECT level FROM @t WHERE region = 'eu') ORDER BY id LIMIT 500",
    'SELECT id FROM @t WHERE amount > (SELECT avg(amount) FROM @t) ORDER BY id LIMIT 500',
    'SELECT id, row_number() OVER (PARTITION BY region ORDER BY id) FROM @t ORDER BY id LIMIT 500',
    'SELECT region, sum(amount) OVER (PARTITION BY region), id FROM @t ORDER BY id LIMIT 500',
    'SELECT id FROM @t WHERE level = 1 UNION ALL SELECT id FROM @t WHERE level = 2',
    'SELECT region FROM @t UNION SELECT name FROM @t',
    'SELECT id FROM @t EXCEPT SELECT id FROM @t WHERE level = 2',
    'SELECT id FROM @t INTERSECT SELECT id FROM @t WHERE level = 2',
  ].map((text) => text.replaceAll('@t', table));
}
