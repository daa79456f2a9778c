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

/** @throws {Error} if there is none */
export function lastOf<T>(values: readonly T[]): T {
  const last = values.at(-1);
  if (last === undefined) throw new Error('nothing was measured');
  return last;
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
