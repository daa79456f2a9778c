import { readFile, writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';

/** One line of `bench/results.json`: ours and a peer, measured in one run on one machine. */
export interface Row {
  readonly work: string;
  readonly unit: string;
  readonly ours: number;
  /** The peer; empty for a figure without one. */
  readonly peer: string;
  /** Null without a peer. */
  readonly theirs: number | null;
  /** Ratio to the peer: above 1 is better, for rates and for costs. */
  readonly ratio: number | null;
  readonly goal: string;
  readonly met: boolean;
}

export interface Measurement<T> {
  /** Medians over the rounds, in milliseconds. CPU is that of this process, all of its threads, user and system. */
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly rounds: number;
  /** The result of the last round, to compare the answers of both sides. */
  readonly answer: T;
}

export interface MeasureOptions {
  readonly rounds?: number;
  /** Rounds before the measured ones, to warm up the JIT and caches. */
  readonly warmup?: number;
}

/** Runs `work` several times. @returns the medians */
export async function measure<T>(work: () => T | Promise<T>, options: MeasureOptions = {}): Promise<Measurement<T>> {
  const [measured] = await measureInTurn([work], options);
  return measured;
}

/** The same for several works in turn, so that other load of the machine affects all of them. */
export async function measureInTurn<Works extends readonly [Work, ...Work[]]>(
  works: Works,
  { rounds = 5, warmup = 1 }: MeasureOptions = {},
): Promise<{ readonly [At in keyof Works]: Measurement<Awaited<ReturnType<Works[At]>>> }> {
  const sides = works.map((work) => ({
    work,
    wall: [] as number[],
    cpu: [] as number[],
    answer: undefined as unknown,
  }));
  for (const { work } of sides) for (let round = 0; round < warmup; round++) await work();
  for (let round = 0; round < rounds; round++) {
    for (const side of sides) {
      const cpuBefore = process.cpuUsage();
      const wallBefore = performance.now();
      side.answer = await side.work();
      side.wall.push(performance.now() - wallBefore);
      const used = process.cpuUsage(cpuBefore);
      side.cpu.push((used.user + used.system) / 1000);
    }
  }
  const measured = sides.map(({ wall, cpu, answer }) => ({ wallMs: median(wall), cpuMs: median(cpu), rounds, answer }));
  return measured as unknown as { readonly [At in keyof Works]: Measurement<Awaited<ReturnType<Works[At]>>> };
}

type Work = () => unknown;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >>> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export interface Goal {
  /** Printed form, such as `≥ 10× cedar-wasm`. */
  readonly text: string;
  readonly holds: (row: { ours: number; theirs: number | null; ratio: number | null }) => boolean;
}

export interface Comparison {
  readonly work: string;
  /** Such as `decisions/s` or `ms CPU`. */
  readonly unit: string;
  /** Whether more is better (a rate) or less (a cost). */
  readonly better: 'more' | 'less';
  readonly ours: number;
  readonly peer?: string;
  readonly theirs?: number;
  /** The answers of both sides. Different answers cannot be compared and end the run. */
  readonly answers?: readonly [ours: unknown, theirs: unknown];
  readonly goal: Goal;
}

/** A goal: ours at least `times` as good as the peer. */
export function atLeastTimes(times: number): Goal {
  return { text: `≥ ${times}×`, holds: ({ ratio }) => ratio !== null && ratio >= times };
}

/** A goal: a cost of at most `times` that of the peer. */
export function atMostTimes(times: number): Goal {
  return { text: `≤ ${times}×`, holds: ({ ratio }) => ratio !== null && ratio >= 1 / times };
}

export function atLeast(value: number, unit: string): Goal {
  return { text: `≥ ${format(value)} ${unit}`, holds: ({ ours }) => ours >= value };
}

export function atMost(value: number, unit: string): Goal {
  return { text: `≤ ${format(value)} ${unit}`, holds: ({ ours }) => ours <= value };
}

/** For a peer without a goal. */
export const NO_GOAL: Goal = { text: '–', holds: () => true };

/** Collects the rows of a run. */
export class Bench {
  readonly rows: Row[] = [];
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** Prints progress, for long runs. */
  note(text: string): void {
    this.#print(`  … ${text}`);
  }

  /** @throws {Error} if the answers of both sides differ */
  add(comparison: Comparison): Row {
    const { work, unit, ours, answers, goal, better, peer = '', theirs = null } = comparison;
    if (answers && !isDeepStrictEqual(answers[0], answers[1])) {
      throw new Error(`${work}: the answers of ours and ${peer} differ, so their times cannot be compared`);
    }
    const ratio = theirs === null ? null : better === 'more' ? ours / theirs : theirs / ours;
    const row: Row = {
      work,
      unit,
      ours,
      peer,
      theirs,
      ratio,
      goal: goal.text,
      met: goal.holds({ ours, theirs, ratio }),
    };
    this.rows.push(row);
    return row;
  }
}

/** Keeps the rows of suites that were not run. */
export async function writeResults(path: string, rows: readonly Row[]): Promise<void> {
  const key = (row: Row): string => `${row.work}\n${row.peer}`;
  const fresh = new Set(rows.map(key));
  const kept = (await readResults(path)).filter((row) => !fresh.has(key(row)));
  await writeFile(path, `${JSON.stringify([...kept, ...rows], undefined, 2)}\n`);
}

async function readResults(path: string): Promise<Row[]> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Row[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const COLUMNS = ['work', 'ours', 'peer', 'theirs', 'ratio', 'goal', 'met'] as const;

/** The rows as a table. */
export function formatTable(rows: readonly Row[]): string {
  const lines = [
    [...COLUMNS],
    ...rows.map((row) => [
      row.work,
      `${format(row.ours)} ${row.unit}`,
      row.peer || '–',
      row.theirs === null ? '–' : format(row.theirs),
      row.ratio === null ? '–' : `${format(row.ratio)}×`,
      row.goal,
      row.met ? 'yes' : 'NO',
    ]),
  ];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Three significant digits; thousands with k, M. */
export function format(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${significant(value / 1e6)} M`;
  if (size >= 1e4) return `${significant(value / 1e3)} k`;
  return significant(value);
}

function significant(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** A repeatable source of randomness (mulberry32), from 0 (inclusive) to 1 (exclusive). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
