// What `make mutate` prints, and when it fails.
import { keyOf, type Mutant } from './mutants.ts';

/** `timeout`: the tests did not end; counts as killed. `equivalent`: listed in equivalent.yaml, not run. */
export type Result = 'killed' | 'timeout' | 'survived' | 'equivalent';

export interface Verdict {
  readonly mutant: Mutant;
  readonly result: Result;
  /** The test file that failed, or why the result is what it is. */
  readonly by: string;
}

/** An entry of equivalent.yaml. */
export interface Equivalent {
  readonly file: string;
  readonly code: string;
  readonly change: string;
  /** From 1; default 1. */
  readonly occurrence?: number;
  readonly reason: string;
}

/** The largest part of the mutants that are not equivalent that may survive. */
const MAX_SURVIVORS = 0.05;

const RESULTS: readonly Result[] = ['killed', 'timeout', 'survived', 'equivalent'];

export function equivalentKey({ occurrence = 1, ...entry }: Equivalent): string {
  return keyOf({ ...entry, occurrence });
}

export function line({ mutant: { file, line, change }, result, by }: Verdict): string {
  return `${result.padEnd(10)} ${file}:${line} \`${change}\` (${by})`;
}

/** @returns the text after a run, and whether few enough mutants survived */
export function summary(verdicts: readonly Verdict[], folders: readonly string[]): { text: string; passed: boolean } {
  const count = (result: Result, folder = ''): number =>
    verdicts.filter((verdict) => verdict.result === result && verdict.mutant.file.startsWith(folder)).length;
  const row = (name: string, folder?: string): string =>
    `${name.padEnd(20)}${RESULTS.map((result) => String(count(result, folder)).padStart(11)).join('')}`;
  const counted = verdicts.length - count('equivalent');
  const survived = verdicts.filter(({ result }) => result === 'survived');
  const part = counted === 0 ? 0 : survived.length / counted;
  const lines = [
    `${'folder'.padEnd(20)}${RESULTS.map((result) => result.padStart(11)).join('')}`,
    ...folders.map((folder) => row(folder, folder)),
    row('all'),
    '',
    ...survived.flatMap(({ mutant, by }) => [
      `survived: ${mutant.file}:${mutant.line} \`${mutant.change}\`${mutant.occurrence > 1 ? `, occurrence ${mutant.occurrence}` : ''} (${by})`,
      `    ${mutant.code}`,
    ]),
    `${survived.length} of ${counted} mutants survived (${(100 * part).toFixed(1)} %; at most ${100 * MAX_SURVIVORS} % may)`,
  ];
  return { text: lines.join('\n'), passed: part <= MAX_SURVIVORS };
}
