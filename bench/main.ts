// Runs the suites one after the other: `node bench/main.ts [suite,suite]`. Writes bench/results.json and the files that are made from it.
// Exits with 1 if a goal was missed or a suite failed.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { performanceFiles, RESULTS } from './document.ts';
import type { Finding } from './frame/bench.ts';
import { formatSeconds } from './frame/format.ts';
import { thisMachine } from './frame/machine.ts';
import { merge, readResults, resultOf, writeResults, type SuiteResult } from './frame/results.ts';
import { EXTENT } from './frame/sizes.ts';
import { formatTable, lineOf } from './frame/table.ts';
import { unexplained } from './reasons.ts';
import { chooseSuites, LIMIT_TIMES, SUITES, type SuitePlan } from './suites.ts';
import { runSuite } from './suite-process.ts';

const ROOT = join(import.meta.dirname, '..');
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const expected = ({ seconds, fullSeconds }: SuitePlan): number => (EXTENT === 'full' ? fullSeconds : seconds);

function choose(): readonly SuitePlan[] {
  try {
    return chooseSuites(process.argv[2] || process.env['ONLY'] || (process.env['PROFILE'] ? 'profiles' : ''));
  } catch (error) {
    print((error as Error).message);
    process.exit(2);
  }
}

function printFinding(finding: Finding): void {
  if (finding.kind === 'note') print(`  … ${finding.text}`);
  if (finding.kind === 'row') print(`  ${finding.row.met ? ' ' : '!'} ${lineOf(finding.row)}`);
  if (finding.kind === 'profile') {
    const top = finding.profile.top.slice(0, 3).map(({ name, share }) => `${name} ${Math.round(share * 100)} %`);
    print(`  # ${finding.profile.work}: ${top.join(', ')}`);
  }
  if (finding.kind === 'curve') print(`  ~ curve: ${finding.curve.title}`);
}

/** After each suite, so that an interrupted run keeps what it measured. */
async function keep(result: SuiteResult): Promise<void> {
  const path = join(ROOT, RESULTS);
  const names = SUITES.map(({ name }) => name);
  await writeResults(path, merge(await readResults(path), result, names));
  for (const [file, content] of await performanceFiles(ROOT)) {
    await mkdir(dirname(join(ROOT, file)), { recursive: true });
    await writeFile(join(ROOT, file), content);
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const chosen = choose();
const total = chosen.reduce((sum, plan) => sum + expected(plan), 0);
print(`${chosen.length} suites; expected ${formatSeconds(total)} on two quiet cores with all parts installed`);
const results: SuiteResult[] = [];
const began = performance.now();
for (const [index, plan] of chosen.entries()) {
  const elapsed = formatSeconds((performance.now() - began) / 1000);
  print(
    `${plan.name} (${index + 1} of ${chosen.length}): expected ${formatSeconds(expected(plan))}; ${elapsed} elapsed`,
  );
  const run = { name: plan.name, date: new Date().toISOString(), full: EXTENT === 'full', machine: thisMachine() };
  const limitSeconds = expected(plan) * LIMIT_TIMES;
  const { findings, seconds, failure } = await runSuite(plan.name, { limitSeconds, onFinding: printFinding });
  if (failure !== undefined) print(`  ! ${plan.name} failed: ${failure}`);
  print(`  ${plan.name} took ${formatSeconds(seconds)}`);
  const result = resultOf({ ...run, seconds: Math.round(seconds) }, findings, failure);
  results.push(result);
  if (EXTENT !== 'quick') await keep(result);
}
const rows = results.flatMap((result) => result.rows);
print('');
print(formatTable(rows));
const missed = rows.filter(({ met }) => !met);
print(
  `\n${formatSeconds((performance.now() - began) / 1000)}; ${missed.length} of ${rows.length} rows miss their goal`,
);
for (const { work, peer } of unexplained(rows)) {
  print(
    `no reason is known for \`${work}${peer === '' ? '' : `; ${peer}`}\`: add it to bench/reasons.ts before the results are committed`,
  );
}
if (EXTENT === 'quick') print('QUICK=1: the figures were not kept');
if (missed.length > 0) process.exitCode = 1;
