// `make mutate`: changes one operator at a time and runs the unit tests that evaluate it. A mutant that no test fails on is a survivor: a rule without a test,
// or a change without an effect, which equivalent.yaml lists. COUNT= mutants chosen by SEED=; ONLY= a folder or file; WORKERS= mutants at once.
// The sources in the working tree are not changed. Exits with 1 if more than 5 % of the mutants that are not equivalent survive.
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { type Baseline, Judge, record, testsOf } from './judge.ts';
import { keyOf, type Mutant, mutantsOf, sample } from './mutants.ts';
import { type Equivalent, equivalentKey, line, summary, type Verdict } from './report.ts';

const FOLDERS = ['src/access', 'src/results', 'src/health/checks', 'src/operator'];
const DEFAULT_COUNT = 300;
/** The largest part of the test files that may fail without a mutant; others than a few mean that the result says nothing. */
const MAX_FAILED = 0.05;
const EXCLUDED = /generated/;

export const ROOT = resolve(import.meta.dirname, '../../..');

/** @returns the mutants of a file or of all files of a folder */
export function mutantsIn(path: string): Mutant[] {
  const files = path.endsWith('.ts') ? [path] : globSync(`${path}/**/*.ts`, { cwd: ROOT }).toSorted();
  return files
    .filter((file) => !EXCLUDED.test(file))
    .flatMap((file) => mutantsOf(file, readFileSync(join(ROOT, file), 'utf8')));
}

export function equivalents(): Equivalent[] {
  return (parse(readFileSync(join(import.meta.dirname, 'equivalent.yaml'), 'utf8')) as Equivalent[] | null) ?? [];
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** @returns what the test files do without a mutant; those that fail are not used */
async function baselineOf(mutants: readonly Mutant[], workers: number): Promise<Baseline> {
  const began = performance.now();
  const baseline = await record({ root: ROOT, mutants, record: workers }, ({ file, error }) => {
    if (error !== undefined) print(`not used, because it fails without a mutant: ${file}: ${error.slice(0, 300)}`);
  });
  const failed = [...baseline.values()].filter(({ error }) => error !== undefined).length;
  if (failed > baseline.size * MAX_FAILED)
    throw new Error(`${failed} of ${baseline.size} test files fail without a mutant; they must pass first`);
  print(`${baseline.size} test files without a mutant: ${((performance.now() - began) / 1000).toFixed(0)} s`);
  return baseline;
}

/** Lets each of the judges take one item after the other. */
async function share<T>(
  items: readonly T[],
  judges: readonly Judge[],
  work: (judge: Judge, item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  await Promise.all(
    judges.map(async (judge) => {
      for (const item of queue) await work(judge, item);
    }),
  );
}

async function judgeAll(mutants: readonly Mutant[], baseline: Baseline, workers: number): Promise<Verdict[]> {
  const listed = new Map(equivalents().map((entry) => [equivalentKey(entry), entry.reason]));
  const judges = Array.from({ length: workers }, () => new Judge({ root: ROOT, mutants }, baseline));
  const stop = (): void => judges.forEach((judge) => judge.close());
  process.once('exit', stop);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
  const verdicts: Verdict[] = [];
  try {
    const files = new Set(mutants.flatMap(({ file }, id) => testsOf(id, file, baseline).map((test) => test.file)));
    const parts = judges.map((_judge, index) => [...files].filter((_file, at) => at % workers === index));
    await share(parts, judges, async (judge, part) => {
      for (const file of await judge.control(part)) {
        baseline.delete(file);
        print(`not used, because it fails without a mutant after other files: ${file}`);
      }
    });
    await share([...mutants.entries()], judges, async (judge, [id, mutant]) => {
      const reason = listed.get(keyOf(mutant));
      const began = performance.now();
      const verdict: Verdict =
        reason === undefined ? await judge.judge(id, mutant) : { mutant, result: 'equivalent', by: reason };
      verdicts.push(verdict);
      print(
        `[${verdicts.length}/${mutants.length}] ${line(verdict)} ${((performance.now() - began) / 1000).toFixed(1)} s`,
      );
    });
  } finally {
    stop();
  }
  return verdicts;
}

async function main(): Promise<number> {
  const { env } = process;
  const seed = Number(env['SEED'] || 1);
  const workers = Number(env['WORKERS'] || availableParallelism());
  const folders = env['ONLY'] ? [env['ONLY'].replace(/\/$/, '')] : FOLDERS;
  const found = folders.map(mutantsIn);
  const all = found.flat();
  const mutants = sample(found, Math.min(Number(env['COUNT'] || DEFAULT_COUNT), all.length), seed);
  print(`${mutants.length} of ${all.length} operators, SEED=${seed}, ${workers} at once`);
  if (mutants.length === 0) return 1;
  const baseline = await baselineOf(mutants, workers);
  const { text, passed } = summary(await judgeAll(mutants, baseline, workers), folders);
  print(`\n${text}`);
  return passed ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main();
