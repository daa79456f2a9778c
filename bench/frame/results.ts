import { readFile, writeFile } from 'node:fs/promises';
import type { Finding, HotPath } from './bench.ts';
import type { Curve } from './curve.ts';
import type { Machine } from './machine.ts';
import { missingRow, type Row } from './rows.ts';

/** One suite of `bench/results.json`. */
export interface SuiteResult {
  readonly name: string;
  /** When it began, RFC 3339. */
  readonly date: string;
  readonly seconds: number;
  /** Whether it ran with `FULL=1`. */
  readonly full: boolean;
  readonly machine: Machine;
  /** By program: Node and the peers. */
  readonly versions: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
  readonly curves: readonly Curve[];
  readonly profiles: readonly HotPath[];
}

/** Where and when a suite ran. */
export type SuiteRun = Pick<SuiteResult, 'name' | 'date' | 'seconds' | 'full' | 'machine'>;

/** @param failure why the suite ended early; becomes a row */
export function resultOf(run: SuiteRun, findings: readonly Finding[], failure?: string): SuiteResult {
  const rows = findings.flatMap((finding) => (finding.kind === 'row' ? [finding.row] : []));
  const failed = failure === undefined ? [] : [missingRow({ work: `the suite ${run.name}`, reason: failure })];
  const versions = findings.flatMap((finding) =>
    finding.kind === 'version' ? [[finding.program, finding.version]] : [],
  );
  return {
    ...run,
    versions: Object.fromEntries([['Node.js', process.version], ...versions]) as Record<string, string>,
    rows: [...rows, ...failed],
    curves: findings.flatMap((finding) => (finding.kind === 'curve' ? [finding.curve] : [])),
    profiles: findings.flatMap((finding) => (finding.kind === 'profile' ? [finding.profile] : [])),
  };
}

/** Replaces the suite of the same name; the others stay. @param order the names of all suites; others are dropped */
export function merge(results: readonly SuiteResult[], fresh: SuiteResult, order: readonly string[]): SuiteResult[] {
  const byName = new Map([...results, fresh].map((result) => [result.name, result]));
  return order.flatMap((name) => byName.get(name) ?? []);
}

/** Empty if the file does not exist. */
export async function readResults(path: string): Promise<SuiteResult[]> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as SuiteResult[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

export async function writeResults(path: string, results: readonly SuiteResult[]): Promise<void> {
  await writeFile(path, `${JSON.stringify(results, undefined, 2)}\n`);
}
