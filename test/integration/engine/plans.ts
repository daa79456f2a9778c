import { judgeSql, type JudgedSql, type SqlContext } from '../../../src/access/sql/judge.ts';
import { tableNames } from '../../../src/access/sql/table-names.ts';
import type { Plan, Planned, Planner, Refused } from './planner.ts';

/** A text that the SQL check accepted. */
export interface Case {
  readonly text: string;
  readonly context: SqlContext;
  readonly byCase: boolean;
  readonly judged: JudgedSql;
}

/** What a caller would see if the printed text were executed. */
export type Difference =
  /** The check takes a name for a common table expression, and the engine for a table: the printed text fails. */
  | 'common table expression not visible'
  /** The check takes a name for a table, and the engine for a common table expression: the printed text reads the table, which was checked. */
  | 'common table expression visible to the engine only'
  | 'reads other tables than were checked'
  | 'no longer plans'
  | 'other tables'
  | 'other columns'
  | 'other plan';

export interface Finding {
  readonly planner: Planner;
  readonly found: Case;
  readonly difference: Difference;
  readonly detail: string;
}

export interface Figures {
  /** Texts whose printed form some version plans. */
  readonly planned: ReadonlySet<number>;
  readonly findings: readonly Finding[];
}

export function judged(text: string, context: SqlContext, byCase: boolean): Case | undefined {
  const found = judgeSql(text, context);
  return found.ok ? { text, context, byCase, judged: found } : undefined;
}

/** Plans each text as it is and as it is printed, with all planners at once. @param onPlan is called for each planned text */
export async function compare(
  cases: readonly Case[],
  planners: readonly Planner[],
  onPlan: (version: string, index: number) => void = () => {},
): Promise<Figures> {
  const planned = new Set<number>();
  const findings: Finding[] = [];
  const compareWith = async (planner: Planner): Promise<void> => {
    let original: Plan | Refused = { error: '' };
    await planner.plan(cases.flatMap(bothOf), (index, plan) => {
      if (index % 2 === 0) {
        original = plan;
        return;
      }
      const found = cases[index >> 1] as Case;
      if (!('error' in plan)) planned.add(index >> 1);
      const [difference, detail] = differenceOf(found, original, plan) ?? [];
      if (difference !== undefined) findings.push({ planner, found, difference, detail: detail ?? '' });
      onPlan(planner.version, index >> 1);
    });
  };
  // Two at a time: with a few texts the start of Java takes most of the time, and a machine for tests has two cores or more.
  const waiting = [...planners];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await compareWith(next);
  };
  await Promise.all([lane(), lane()]);
  return { planned, findings };
}

/** Most rounds in which a text is made shorter; each starts a planner. */
const MAX_ROUNDS = 8;

/** A shorter text with the same difference in the same version, to be read by people. */
export async function reduced({ found, difference, planner }: Finding): Promise<string> {
  let text = found.text;
  let span = 1 << Math.floor(Math.log2(Math.max(tokensOf(text).length, 1)));
  for (let round = 0; round < MAX_ROUNDS && span >= 1; round++) {
    const tokens = tokensOf(text);
    const shorter = tokens.map((_, at) => [...tokens.slice(0, at), ...tokens.slice(at + span)].join(''));
    const cases = shorter.flatMap((one) => judged(one, found.context, found.byCase) ?? []);
    const { findings } = await compare(cases, [planner]);
    const next = findings
      .filter((one) => one.difference === difference)
      .toSorted((a, b) => a.found.text.length - b.found.text.length)[0];
    if (next === undefined) span >>= 1;
    else text = next.found.text;
  }
  return text;
}

/** Strings, names in quotes, words with the blanks behind them, and other signs. */
function tokensOf(text: string): string[] {
  return text.match(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[\p{L}\p{N}_$]+\s*|[^\p{L}\p{N}_$]/gu) ?? [];
}

function bothOf({ text, context, byCase, judged: { text: printed, database } }: Case): readonly Planned[] {
  return [
    { text, database: context.database, byCase },
    { text: printed, database, byCase },
  ];
}

function differenceOf(
  found: Case,
  original: Plan | Refused,
  printed: Plan | Refused,
): [Difference, string] | undefined {
  if (!('error' in printed)) {
    const excess = printed.tables.find((name) => !isJudged(found, name));
    if (excess !== undefined) return ['reads other tables than were checked', excess];
  }
  // Versions split `1ASC` differently. The check takes it for a name, as the newer ones do.
  if ('error' in original || /\b\d+[A-Za-z_]/.test(found.text)) return undefined;
  // The engine reads the table of that name, because the position is outside of its WITH.
  if ('error' in printed && /Object 'cte \d+' not found/.test(printed.error))
    return ['common table expression not visible', printed.error];
  const difference = lostBy(original, printed);
  return difference !== undefined && namesTableLikeCommonTable(found)
    ? ['common table expression visible to the engine only', difference.join(': ')]
    : difference;
}

function lostBy(original: Plan, printed: Plan | Refused): [Difference, string] | undefined {
  if ('error' in printed) return ['no longer plans', printed.error];
  for (const [difference, before, after] of [
    ['other tables', original.tables.join(), printed.tables.join()],
    ['other columns', original.columns.join(), printed.columns.join()],
    ['other plan', original.tree, printed.tree],
  ] as const)
    if (before !== after) return [difference, `${after} instead of ${before}`];
  return undefined;
}

/** Calcite ignores the parentheses around a query with WITH, so that what follows them is within its scope: it can take the name of a table for the other. */
function namesTableLikeCommonTable({ text, judged: { commonTables, tables }, byCase }: Case): boolean {
  const spelled = (name: string): string => (byCase ? name : name.toLowerCase());
  const names = new Set(tables.map((table) => spelled(table.slice(table.lastIndexOf('.') + 1))));
  return /\(\s*WITH\b/i.test(text) && commonTables.some((name) => names.has(spelled(name)));
}

/** Whether all meanings of a table's name were checked. */
function isJudged({ judged: { tables }, byCase }: Case, scanned: string): boolean {
  const same = (name: string): string => (byCase ? name : name.toLowerCase());
  const known = new Set(tables.map(same));
  const name = scanned.startsWith('lookup:') ? scanned.slice('lookup:'.length) : scanned;
  return (tableNames(name) ?? [name]).every((meaning) => known.has(same(meaning)));
}
