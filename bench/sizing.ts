import type { Row } from './frame/rows.ts';

/** A rule of "Sizing" in `docs/operations.md`, and the rows of the benchmark on which it rests. */
export interface SizingRule {
  /** Beginning of its row in the table. */
  readonly need: string;
  /** The figure that the table gives. */
  readonly figure: string;
  /** Matches the work of the rows. */
  readonly work: RegExp;
  /** No measured row may be above, in the unit of the row. */
  readonly max: number;
  readonly unit: string;
}

export const SIZING_RULES: readonly SizingRule[] = [
  {
    need: 'a page of 100 rows',
    figure: '0.3 ms of CPU',
    work: /^a page of 100 rows .* from the file store$/,
    max: 0.3,
    unit: 'ms CPU',
  },
  {
    need: 'a page of 10,000 rows',
    figure: '2 ms of CPU',
    work: /^a page of 10000 rows .* from the file store$/,
    max: 2,
    unit: 'ms CPU',
  },
  {
    need: 'a query that passes through, many a second',
    figure: '0.5 ms of CPU',
    work: /^pass-through of POST \/query\/sql, 10 KB, /,
    max: 0.5,
    unit: 'ms CPU a query',
  },
  {
    need: 'a query that passes through, few a second',
    figure: '4 ms of CPU',
    work: /^a.* on Pinot .*: CPU of the gateway$/,
    max: 4,
    unit: 'ms a query',
  },
  {
    need: '1,000 clients that read pages without a pause',
    figure: '800 MB of memory',
    work: /^1000 clients read pages of 100 rows: memory$/,
    max: 800,
    unit: 'MB',
  },
  {
    need: 'a result of 1 GB that is stored, in `file`, `s3` or `gcs`',
    figure: '80 MB of memory',
    work: /^growth of resident memory, a result of 1\d+ MB, /,
    max: 80,
    unit: 'MB',
  },
  {
    need: '10,000 roles with assignments, in the gateway',
    figure: '100 MB of heap',
    work: /^start of a gateway, 10000 roles .*: heap$/,
    max: 100,
    unit: 'MB',
  },
  {
    need: 'creating, changing or deleting a role, policy, assignment or service token with kubectl among 10,000 roles, in the API server',
    figure: '25 ms of CPU',
    work: /^(creation|change|deletion) of .*, 10000 roles and assignments$/,
    max: 25,
    unit: 'ms CPU of the API server',
  },
  {
    need: 'the first health run on 500 tables with 1,000,000 segments',
    figure: '12 s of CPU',
    work: /^health run, 500 tables × 2000 segments, 50 servers: CPU$/,
    max: 12,
    unit: 's CPU',
  },
  {
    need: 'the runs after it, on the unchanged cluster',
    figure: '1.5 s of CPU',
    work: /^health run, 500 tables .*: CPU of a second run$/,
    max: 1.5,
    unit: 's CPU',
  },
  {
    need: 'these health runs',
    figure: '500 MB of memory',
    work: /^health run, 500 tables .*: memory$/,
    max: 500,
    unit: 'MB',
  },
];

/** The rows that contradict a rule. */
export function contradicting(rule: SizingRule, rows: readonly Row[]): readonly Row[] {
  return rows.filter(
    ({ work, ours, unit }) => rule.work.test(work) && ours !== null && (unit !== rule.unit || ours > rule.max),
  );
}
