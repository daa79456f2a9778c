// Runs the unit tests for `make mutate` in processes of their own.
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { Mutant } from './mutants.ts';
import type { Verdict } from './report.ts';
import type { FileResult, Job, Report, Start } from './runner.ts';

/** A test file of a job may take this long, plus a multiple of what it took without a mutant. */
const FILE_TIMEOUT_MS = 30_000;
const SLOWDOWN = 10;
/** The longest start of a runner, and the longest test file while the reached mutants are recorded. */
const START_TIMEOUT_MS = 300_000;

/** Evaluations that are allowed: a multiple of the evaluations without the mutant. */
const MAX_EVALUATIONS_FACTOR = 100;
const MIN_EVALUATIONS = 10_000;

/** What the test files do without a mutant, by file. */
export type Baseline = Map<string, FileResult>;

/** The test files that ended, and the error of the run. */
interface Run {
  readonly results: readonly FileResult[];
  readonly error?: string;
}

class TimeoutError extends Error {}

/** A process with Vitest; started when it is first used and after a timeout. */
class Runner {
  readonly #start: Start;
  #child: ChildProcess | undefined;

  constructor(start: Start) {
    this.#start = start;
  }

  /**
   * Runs one job, or the whole recording.
   * @param limitOf the longest wait for the n-th test file, in milliseconds
   * @throws {TimeoutError} the process was killed
   */
  async run(
    job: Job | undefined,
    limitOf: (ended: number) => number,
    onFile?: (result: FileResult) => void,
  ): Promise<Run> {
    const child = await this.#open(job !== undefined);
    if (job !== undefined) child.send(job);
    return this.#until(child, limitOf, onFile);
  }

  async #open(judges: boolean): Promise<ChildProcess> {
    if (this.#child !== undefined) return this.#child;
    // A group of its own, so that the test processes are killed with it.
    const child = fork(join(import.meta.dirname, 'runner.ts'), {
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child = child;
    child.send(this.#start);
    if (judges) await this.#until(child, () => START_TIMEOUT_MS);
    return child;
  }

  #until(child: ChildProcess, limitOf: (ended: number) => number, onFile?: (result: FileResult) => void): Promise<Run> {
    const { promise, resolve, reject } = Promise.withResolvers<Run>();
    const results: FileResult[] = [];
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        this.close();
        reject(new TimeoutError());
      }, limitOf(results.length));
    };
    const onMessage = (report: Report): void => {
      if (report.type === 'file') {
        results.push(report.result);
        onFile?.(report.result);
        wait();
      } else resolve({ results, ...(report.error !== undefined && { error: report.error }) });
    };
    const onExit = (code: number | null): void => reject(new Error(`the test process ended with ${code}`));
    child.on('message', onMessage).on('exit', onExit);
    wait();
    return promise.finally(() => {
      clearTimeout(timer);
      child.off('message', onMessage).off('exit', onExit);
    });
  }

  close(): void {
    const child = this.#child;
    this.#child = undefined;
    try {
      if (child?.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

/** Runs the test files that import a mutated file, and notes which mutants they reach. */
export async function record(start: Start, onFile: (result: FileResult) => void): Promise<Baseline> {
  const runner = new Runner(start);
  try {
    const { results } = await runner.run(undefined, () => START_TIMEOUT_MS, onFile);
    return new Map(results.map((result) => [result.file, result]));
  } finally {
    runner.close();
  }
}

/** The longest equal path: `src/access/policy/srn.ts` and `test/unit/access/policy/srn.test.ts` have three parts in common. */
function nearness(file: string, test: string): number {
  const [source, tests] = [file.replace(/^src\//, ''), test.replace(/^test\/[^/]+\//, '')].map((path) =>
    path.replace(/(\.(unit\.)?test)?\.ts$/, '').split('/'),
  ) as [string[], string[]];
  const different = source.findIndex((part, index) => part !== tests[index]);
  return different < 0 ? source.length : different;
}

/** @returns the test files that reach a mutant: those of the nearest folder first, then the fastest, because the first failure decides */
export function testsOf(id: number, file: string, baseline: Baseline): FileResult[] {
  return [...baseline.values()]
    .filter(({ error, reached }) => error === undefined && reached.some(([reachedId]) => reachedId === id))
    .toSorted((a, b) => nearness(file, b.file) - nearness(file, a.file) || a.ms - b.ms);
}

function limits(tests: readonly FileResult[]): (ended: number) => number {
  return (ended) => FILE_TIMEOUT_MS + SLOWDOWN * (tests[ended]?.ms ?? 0);
}

/** Judges one mutant at a time. */
export class Judge {
  readonly #runner: Runner;
  readonly #baseline: Baseline;

  constructor(start: Start, baseline: Baseline) {
    this.#runner = new Runner(start);
    this.#baseline = baseline;
  }

  async judge(id: number, mutant: Mutant): Promise<Verdict> {
    const tests = testsOf(id, mutant.file, this.#baseline);
    if (tests.length === 0) return { mutant, result: 'survived', by: 'no test evaluates it' };
    const counts = tests.flatMap(({ reached }) =>
      reached.filter(([reachedId]) => reachedId === id).map(([, count]) => count),
    );
    const limit = MIN_EVALUATIONS + MAX_EVALUATIONS_FACTOR * Math.max(...counts);
    const job: Job = { mutant: { id, limit }, files: tests.map(({ file }) => file) };
    try {
      const { results, error } = await this.#runner.run(job, limits(tests));
      const failed = results.find((result) => result.error !== undefined)?.file ?? error;
      if (failed !== undefined) return { mutant, result: 'killed', by: failed };
      return { mutant, result: 'survived', by: `${tests.length} test files` };
    } catch (error) {
      if (error instanceof TimeoutError) return { mutant, result: 'timeout', by: 'the tests did not end' };
      throw error;
    }
  }

  /** @returns the test files that fail without a mutant, when they run as they do with one */
  async control(files: readonly string[]): Promise<string[]> {
    const tests = files.flatMap((file) => this.#baseline.get(file) ?? []);
    if (tests.length === 0) return [];
    const { results } = await this.#runner.run({ mutant: { id: -1, limit: 0 }, files }, limits(tests));
    const failed = results.find(({ error }) => error !== undefined)?.file;
    if (failed === undefined) return [];
    // The run ends at the first failure.
    return [failed, ...(await this.control(files.slice(files.indexOf(failed) + 1)))];
  }

  close(): void {
    this.#runner.close();
  }
}
