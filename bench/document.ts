import { join } from 'node:path';
import { format, formatSeconds } from './frame/format.ts';
import type { HotPath } from './frame/bench.ts';
import type { Row } from './frame/rows.ts';
import { readResults, type SuiteResult } from './frame/results.ts';
import { cell, cellsOf, COLUMNS } from './frame/table.ts';
import { reasonOfMiss } from './reasons.ts';
import { SUITES } from './suites.ts';
import { summaryFiles } from './summary.ts';

export const RESULTS = 'bench/results.json';
const DOCUMENT = 'bench/results.md';

/** The documents and the pictures of `bench/results.json`. @returns content by path from the root of the repository */
export async function performanceFiles(root: string): Promise<ReadonlyMap<string, string>> {
  return documentOf(await readResults(join(root, RESULTS)));
}

export function documentOf(results: readonly SuiteResult[]): ReadonlyMap<string, string> {
  const rows = results.flatMap((result) => result.rows);
  const missed = rows.filter(({ met }) => !met);
  const text = [HEAD, repeat(), machines(results), summary(rows.length, missed), ...results.map(chapter)].join('\n');
  return new Map([[DOCUMENT, text], ...summaryFiles(results)]);
}

const HEAD = `<!-- Generated from bench/results.json by \`make bench\` and \`make generate\`; do not edit. -->
# All figures

[docs/performance.md](../docs/performance.md) has the most important ones on a page, and the curves.

Each figure was measured together with a peer, in one run, on the same machine and the same data; the answers of both sides were compared. Machines differ, so goals are ratios where there is a peer. A ratio above 1 means that olap-warden is better, for rates and for costs; \`cost ≤ 1.3×\` holds from a ratio of 0.77 on. Figures are medians; CPU is user and system time of all threads of the serving process. Where the versions of a suite name \`NODE_OPTIONS\`, those of the image of olap-warden, its processes had them; peers never have them. A row that could not be measured counts as missed and says why.
`;

function repeat(): string {
  const lines = SUITES.map(
    ({ name, about, seconds, fullSeconds }) =>
      `| \`${name}\` | ${about} | ${formatSeconds(seconds)} | ${formatSeconds(fullSeconds)} |`,
  );
  return `## How to repeat

\`\`\`sh
make bench                       # all suites
make bench ONLY=decisions,sql    # some; the others keep their figures
make bench FULL=1                # the largest sizes: 100,000 roles, a result of 2 GB
make bench QUICK=1               # sizes that only show that the suites run; keeps no figures
make bench BENCH_CONTROLLER=URL  # cursors of this Pinot (1.3 or newer, with the sample table \`orders\`)
make bench PROFILE=1             # only the suite \`profiles\`: CPU and heap profiles, in build/profiles
\`\`\`

It runs on Linux and installs the peers itself. A suite that fails or takes more than four times its expected time is a row that could not be measured; the others run. The exit code is 0 only if every goal is met. Expected times on two cores without other load:

| suite | measures | time | with \`FULL=1\` |
|---|---|---|---|
${lines.join('\n')}
`;
}

function machines(results: readonly SuiteResult[]): string {
  if (results.length === 0) return '## Where it was measured\n\nNothing has been measured yet.\n';
  const lines = results.map(({ name, date, seconds, full, machine, versions }) =>
    [
      `\`${name}\``,
      date.slice(0, 16).replace('T', ' '),
      `${formatSeconds(seconds)}${full ? ' (`FULL=1`)' : ''}`,
      `${machine.cores} × ${machine.cpu}, ${machine.memoryGb} GB, ${machine.kernel}`,
      String(machine.loadBefore),
      Object.entries(versions)
        .map(([program, version]) => `${program} ${version}`)
        .join(', '),
    ].join(' | '),
  );
  return `## Where it was measured

The load is the average of the minute before the suite. Above 0.5 other programs disturbed its figures.

| suite | date (UTC) | time | machine | load | versions |
|---|---|---|---|---|---|
${lines.map((line) => `| ${line} |`).join('\n')}
`;
}

/** The committed document has no such line: a test holds that every missed row has a reason. */
const NO_REASON = '. Its reason is not known yet';

function summary(count: number, missed: readonly Row[]): string {
  if (missed.length === 0) return `## Missed goals\n\n${count === 0 ? 'No rows.' : `None of ${count} rows.`}\n`;
  const lines = missed.map((row) => {
    const [work = '', ours = '', peer = '', , ratio = '', goal = ''] = cellsOf(row).map(cell);
    const figures = row.ours === null ? 'could not be measured' : `${ours}; ${peer}: ${ratio}; goal ${goal}`;
    const reason = reasonOfMiss(row);
    return `- ${work}: ${figures}${reason === undefined ? NO_REASON : `. ${cell(reason)}`}`;
  });
  return `## Missed goals\n\n${missed.length} of ${count} rows:\n\n${lines.join('\n')}\n`;
}

function chapter({ name, rows, profiles }: SuiteResult): string {
  const about = SUITES.find((suite) => suite.name === name)?.about ?? name;
  const table = [
    `| ${COLUMNS.join(' | ')} |`,
    `|${'---|'.repeat(COLUMNS.length)}`,
    ...rows.map((row) => `| ${cellsOf(row).map(cell).join(' | ')} |`),
  ];
  const parts = [`## ${about}`, `\`make bench ONLY=${name}\``];
  if (rows.length > 0) parts.push(table.join('\n'));
  return `${[...parts, ...profiles.map(hotPath)].join('\n\n')}\n`;
}

function hotPath({ work, top, allocated }: HotPath): string {
  const lines = top.map(({ name, share }) => `| \`${cell(name)}\` | ${format(share * 100)} % |`);
  const heap = allocated === undefined ? '' : `\n\nIt allocates about ${format(allocated)} bytes a call.`;
  return `### ${work}\n\n| function | CPU time |\n|---|---|\n${lines.join('\n')}${heap}`;
}
