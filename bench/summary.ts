import { describeCurve, drawCurve } from './frame/svg.ts';
import { format } from './frame/format.ts';
import type { Curve } from './frame/curve.ts';
import type { Row } from './frame/rows.ts';
import type { SuiteResult } from './frame/results.ts';
import { cell } from './frame/table.ts';

const DOCUMENT = 'docs/performance.md';
const PICTURES = 'images/performance';

/** A row of the page for users: what it says, and the row of the results that has its figure. */
interface Highlight {
  readonly text: string;
  readonly work: string;
  readonly peer?: string;
}

/** Those that a user asks about first. A row that was not measured is left out. */
export const HIGHLIGHTS: readonly Highlight[] = [
  { text: 'access decision among 100,000 roles', work: 'policy decision, 100000 roles' },
  { text: 'access decision among 1,000 roles', work: 'policy decision, 1,000 roles × 10 statements', peer: 'OPA' },
  { text: 'SQL check of an ordinary query', work: 'SQL check of an ordinary query: parse, decide, print' },
  {
    text: 'a response of 1 MB that passes through, with all checks',
    work: 'pass-through of POST /query/sql, 1024 KB, all checks on',
    peer: 'nginx',
  },
  {
    text: 'a small query, gateway alone',
    work: 'a query for 10 rows on Pinot 0.11, 1 client: CPU of the gateway',
    peer: 'CPU of Pinot for it',
  },
  {
    text: 'a page of 100 rows',
    work: 'a page of 100 rows (11 KB) from the file store',
    peer: 'parse, slice, stringify',
  },
  { text: 'the last page of a result of 2 GB', work: 'the same at its end', peer: 'the same at the front of 11 MB' },
  {
    text: 'storing 500,000 rows while they arrive',
    work: 'storing 500,000 rows (53 MB), file store',
    peer: 'the same query straight from the broker',
  },
  { text: 'memory for storing 1 GB in S3', work: 'growth of resident memory, a result of 1006 MB, s3 store' },
  {
    text: 'a million rows as a DataFrame, by Arrow',
    work: 'a query of 1 M rows as a DataFrame, Arrow',
    peer: 'pinotdb',
  },
  {
    text: 'a page of 10,000 rows',
    work: 'a result of 500000 rows in pages of 10000: a page',
    peer: "Pinot's own cursors",
  },
  {
    text: 'first health run, 500 tables with a million segments',
    work: 'health run, 500 tables × 2000 segments, 50 servers: CPU',
    peer: 'JSON.parse of the same bytes',
  },
  {
    text: 'the following runs, if nothing changed',
    work: 'health run, 500 tables × 2000 segments, 50 servers: CPU of a second run',
    peer: 'the first run',
  },
  {
    text: 'a role applied with kubectl → decided by three gateways, 99th percentile',
    work: 'a role applied → decided by 3 gateways, 99th percentile',
  },
  {
    text: 'start of a gateway with 10,000 roles',
    work: 'start of a gateway, 10000 roles and assignments: ready',
    peer: '`kubectl get -o json` of the same objects, one kind after the other',
  },
  {
    text: '1,000 clients that page as fast as they can, 99th percentile',
    work: '1000 clients read pages of 100 rows: p99',
  },
];

const HEAD = `<!-- Generated from bench/results.json by \`make bench\` and \`make generate\`; do not edit. -->
# Performance

Figures of a machine with two cores, which also ran the clients and Pinot. Each was measured together with a peer, in one run and on the same data. A factor above 1 means that olap-warden is better: it is faster, or costs less. Absolute figures of your machines differ; the factors are similar. [bench/results.md](../bench/results.md) has all rows, machines and versions, missed goals with their reasons, and how to repeat them.
`;

/** The page of results and curves for users, and its pictures. @returns content by path from the root of the repository */
export function summaryFiles(results: readonly SuiteResult[]): ReadonlyMap<string, string> {
  const rows = results.flatMap((result) => result.rows);
  const curves = results.flatMap((result) => result.curves);
  const missed = rows.filter(({ met }) => !met).length;
  const lines = HIGHLIGHTS.flatMap((highlight) => {
    const row = rows.find((one) => isOf(highlight, one));
    return row === undefined || row.ours === null ? [] : [lineOf(highlight.text, row)];
  });
  const text = [
    HEAD,
    `## What it costs\n\n| work | olap-warden | compared with | factor |\n|---|---|---|---|\n${lines.join('\n')}\n`,
    `${rows.length - missed} of ${rows.length} rows meet their goal; [the others](../bench/results.md#missed-goals) have a reason each. [Sizing](operations.md#sizing) says what to give to gateways and operators.\n`,
    `## Curves\n\n${curves.map(picture).join('\n\n')}\n`,
  ].join('\n');
  const pictures = curves.map((curve) => [`docs/${pictureOf(curve)}`, drawCurve(curve)] as const);
  return new Map([[DOCUMENT, text], ...pictures]);
}

function isOf({ work, peer = '' }: Highlight, row: Row): boolean {
  return row.work === work && (peer === '' || row.peer === peer);
}

function lineOf(text: string, { ours, unit, peer, ratio }: Row): string {
  const factor = ratio === null ? '–' : `${format(ratio)}×`;
  return `| ${[text, `${format(ours ?? 0)} ${unit}`, peer || '–', factor].map(cell).join(' | ')} |`;
}

const pictureOf = ({ id }: Curve): string => `${PICTURES}/${id}.svg`;

/** The picture; its alternative text has all values. */
function picture(curve: Curve): string {
  const alternative = `${curve.title}. ${describeCurve(curve)}`.replaceAll(/[[\]]/g, '');
  const note = curve.note === undefined ? '' : `\n\n${curve.note}`;
  return `### ${curve.title}\n\n![${alternative}](${pictureOf(curve)})${note}`;
}
