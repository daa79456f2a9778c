/**
 * The response to `EXPLAIN` leaves `tablesQueried` empty, but its plan names the tables: `table=[[default, orders]]` of the planner,
 * `table=[orders]` of servers that were asked, `TABLE SCAN (orders)` of an implementation plan. `AS JSON` has `"table": ["default", "orders"]` and
 * `"table": "orders"`, `AS XML` has `<Property name="table">[default, orders]</Property>`, and `AS DOT` has `table = [default, orders]`.
 */
const TABLE_IN_PLAN = new RegExp(
  [
    String.raw`(?:\b|\\n)table ?= ?\[\[?([^[\]]*)\]`,
    String.raw`\bTABLE SCAN \(([^()]*)\)`,
    String.raw`"table"\s*:\s*(\[[^[\]]*\]|"[^"\\]*")`,
    String.raw`\bname="table">([^<>]*)<`,
  ].join('|'),
  'g',
);

/** Brackets of lists, quotes of JSON, and the line breaks that labels of DOT have anywhere, as a backslash and a letter. */
const NOT_IN_NAMES = /[[\]"]|\\n/g;

/** Longer plans are not passed on, because they could not be checked. */
export const MAX_PLAN_BYTES = 2 * 1024 * 1024;

/** A text names fewer tables (`max-sql-tables`), so a plan with more names is rejected whatever the others are. */
const MAX_NAMES = 10_000;

/** The column that repeats the text of the query; what it quotes is not a part of the plan. */
const TEXT_COLUMN = 'SQL';

/** The tables that the plans in a complete response name, as `table` or `database.table`; empty where it has none, such as an error. */
export function planTables(body: Buffer): readonly string[] {
  const names = new Set<string>();
  for (const plan of plansIn(resultOf(body))) {
    for (const [, ...paths] of plan.matchAll(TABLE_IN_PLAN)) {
      names.add(nameOf(paths.find((path) => path !== undefined) ?? ''));
      if (names.size > MAX_NAMES) return [...names];
    }
  }
  return [...names];
}

function plansIn({ columns, rows }: Result): readonly string[] {
  const cells = rows.flatMap((row) => listOf(row).filter((_, index) => columns[index] !== TEXT_COLUMN));
  return cells.filter((cell) => typeof cell === 'string');
}

/** Database and table are the last two parts of `default, orders` and of `sales.orders`. */
function nameOf(path: string): string {
  return path
    .replaceAll(NOT_IN_NAMES, '')
    .split(/[.,]/)
    .map((part) => part.trim())
    .slice(-2)
    .join('.');
}

interface Result {
  readonly columns: readonly unknown[];
  readonly rows: readonly unknown[];
}

function resultOf(body: Buffer): Result {
  try {
    const { resultTable } = JSON.parse(body.toString()) as {
      readonly resultTable?: { readonly dataSchema?: { readonly columnNames?: unknown }; readonly rows?: unknown };
    };
    return { columns: listOf(resultTable?.dataSchema?.columnNames), rows: listOf(resultTable?.rows) };
  } catch {
    // Not JSON: an error of something in between, without a plan.
    return { columns: [], rows: [] };
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}
