import fc from 'fast-check';

/** The marks of which JSON consists, besides its values. */
export const JSON_MARKS: readonly string[] = ['{', '}', '[', ']', '"', ':', ','];

const SHORT = 1_000;

/** `make fuzz-input` sets INPUTS=100000, the number for kinds that have 1,000 in every run of the tests; others have the same share of it. */
const inputs = (short: number): number => Math.ceil((Number(process.env['INPUTS'] || SHORT) * short) / SHORT);

/** CPU time of one input. It bounds how long the input can hold the event loop, also on a machine that is busy otherwise. */
const MAX_CPU_MS = 50;
/** Compilation and garbage collection are in the CPU time of some inputs, but not of each repetition. */
const REPETITIONS = 5;

/** Milliseconds of CPU time of this thread. */
function cpuMs(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1_000;
}

class TooSlow extends Error {
  constructor(ms: number, maxMs: number) {
    super(`the input takes ${ms.toFixed(0)} ms of CPU time; at most ${maxMs} ms are allowed`);
  }
}

/** `holds` for random values, each within the limit of CPU time. */
export function check<T>(arbitrary: fc.Arbitrary<T>, holds: (value: T) => void, short = SHORT): void {
  const measured = (value: T): void => {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < REPETITIONS && least > MAX_CPU_MS; i++) {
      const before = process.threadCpuUsage();
      holds(value);
      least = Math.min(least, cpuMs(before));
    }
    if (least > MAX_CPU_MS) throw new TooSlow(least, MAX_CPU_MS);
  };
  fc.assert(fc.property(arbitrary, measured), { numRuns: inputs(short) });
}

interface AsyncLimits {
  /** Inputs in every run of the tests. */
  readonly short: number;
  /** CPU time of one input where its callbacks are many. */
  readonly maxCpuMs?: number;
}

/** Like `check`. The CPU time of all callbacks together is limited, so also that of each. */
export async function checkAsync<T>(
  arbitrary: fc.Arbitrary<T>,
  holds: (value: T) => Promise<void>,
  limits: number | AsyncLimits,
): Promise<void> {
  const { short, maxCpuMs = MAX_CPU_MS } = typeof limits === 'number' ? { short: limits } : limits;
  const measured = async (value: T): Promise<void> => {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < REPETITIONS && least > maxCpuMs; i++) {
      const before = process.threadCpuUsage();
      await holds(value);
      least = Math.min(least, cpuMs(before));
    }
    if (least > maxCpuMs) throw new TooSlow(least, maxCpuMs);
  };
  await fc.assert(fc.asyncProperty(arbitrary, measured), { numRuns: inputs(short) });
}

/** Texts of these pieces and short random texts. */
export const pieces = (...texts: readonly string[]): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...texts) }, fc.string({ maxLength: 4 })), {
      maxLength: 40,
    })
    .map((parts) => parts.join(''));

/** A valid text with up to six changes: something removed, something inserted. Without changes it is the text itself. */
export function mutated(text: string, ...inserted: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.nat({ max: text.length }),
    removed: fc.oneof(fc.constant(0), fc.nat({ max: 12 }), fc.nat({ max: text.length })),
    insert: fc.oneof(fc.constantFrom('', ...inserted), fc.string({ maxLength: 6 })),
  });
  return fc.array(edit, { maxLength: 6 }).map((edits) =>
    // From the end, so that each place is that of the valid text.
    edits
      .toSorted((a, b) => b.at - a.at)
      .reduce((changed, { at, removed, insert }) => changed.slice(0, at) + insert + changed.slice(at + removed), text),
  );
}
