import { ResponseScanner } from '../../src/results/scanner/response-scanner.ts';
import type { Bench } from '../frame/bench.ts';
import { measure } from '../frame/measure.ts';
import { atLeastTimes } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { answer, keptAnswer } from './result.ts';

export const ROWS = sized({ quick: 50_000, normal: 1_000_000 });
const MB = 1024 * 1024;
/** Rows of about 106 bytes: 2 MB, which is twice the largest page of the benchmark, 10 MB, 106 MB, 1 GB and 2 GB. */
export const SIZES = sized<readonly number[]>({
  quick: [20_000, ROWS],
  normal: [20_000, 100_000, ROWS, 9_700_000],
  full: [20_000, 100_000, ROWS, 9_700_000, 19_400_000],
});

/** Finding and checking every row of a response in memory, CPU of all threads. */
export async function benchIndexing(bench: Bench): Promise<void> {
  const chunks = [...answer(ROWS)];
  const whole = Buffer.concat(chunks);
  const megabytes = whole.length / MB;
  const scan = (): number => {
    const scanner = new ResponseScanner();
    for (const chunk of chunks) scanner.push(chunk);
    return scanner.end().rowCount;
  };
  const ours = await measure(scan, sized({ quick: { warmup: 1, rounds: 1 }, normal: { warmup: 6, rounds: 9 } }));
  // Last, because the collection of its garbage would count for the others.
  const parsed = await measure(
    () => (JSON.parse(whole.toString('utf8')) as { resultTable: { rows: unknown[] } }).resultTable.rows.length,
    { rounds: 5 },
  );
  const rate = (cpuMs: number): number => (megabytes / cpuMs) * 1000;
  bench.add({
    work: `indexing 1 M rows × 8 columns (${Math.round(megabytes)} MB)`,
    unit: 'MB per CPU second',
    better: 'more',
    ours: rate(ours.cpuMs),
    peer: 'JSON.parse',
    theirs: rate(parsed.cpuMs),
    answers: [ours.answer, parsed.answer],
    goal: atLeastTimes(3),
  });
}

/** CPU per megabyte by size: the scanner keeps an index of the rows, whose cost must not grow. */
export async function indexCurve(bench: Bench): Promise<void> {
  const points: [number, number][] = [];
  for (const rows of SIZES) {
    const chunks = keptAnswer(rows);
    const scan = (): number => {
      const scanner = new ResponseScanner();
      for (const chunk of chunks) scanner.push(chunk);
      return scanner.end().rowCount;
    };
    const { cpuMs, answer: found } = await measure(scan, { warmup: 1, rounds: rows > 1_000_000 ? 1 : 3 });
    if (found !== rows) throw new Error(`${found} of ${rows} rows were found`);
    const size = chunks.reduce((sum, { length }) => sum + length, 0) / MB;
    points.push([size, (size / cpuMs) * 1000]);
  }
  bench.curve({
    id: 'index-by-result',
    title: 'Indexing a response by its size',
    x: { label: 'response', unit: 'MB', scale: 'log' },
    y: { label: 'rate', unit: 'MB per CPU second', scale: 'linear' },
    series: [{ name: 'row scanner', points }],
    note: 'Beyond 100,000 rows the rows of the response repeat.',
  });
}
