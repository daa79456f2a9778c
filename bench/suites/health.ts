import { NODE_OPTIONS } from '../../tools/image/node-options.ts';
import type { Bench } from '../frame/bench.ts';
import { atLeastTimes, atMost, atMostTimes, NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import type { Parsed } from '../workloads/parsing-endpoint.ts';
import { runProgram } from '../workloads/program.ts';

/** A run in the output of `bench/workloads/health-run.ts`. */
interface Figures {
  readonly calls: number;
  readonly queries: number;
  readonly bytes: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly checksMs: number;
  readonly maxRssBytes: number;
  readonly unread: readonly string[];
}

const MB = 1_000_000;
const SIZES = sized<readonly number[]>({ quick: [5, 10], normal: [10, 100, 500], full: [10, 100, 500, 1000] });
const SEGMENTS = 2_000;
const SERVERS = 50;
/** The size for the goals: 500 tables with 1,000,000 segments on 50 servers. */
const GOAL_SIZE = sized({ quick: 10, normal: 500 });

/** A health run on clusters of 10 to 1,000 tables; the engine is a stub in a separate process. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  const points: HealthPoint[] = [];
  for (const tables of SIZES) {
    const { first: figures, second, parsed } = await healthRun(tables);
    const unread = [...figures.unread, ...second.unread];
    if (unread.length > 0) throw new Error(`the stub has no responses for: ${unread.join('; ')}`);
    const read = Math.round(figures.bytes / MB);
    bench.note(
      `${tables} tables: ${figures.calls} calls, ${read} MB read, ${Math.round(figures.cpuMs)} ms CPU, ${Math.round(figures.wallMs)} ms wall, ${Math.round(figures.maxRssBytes / MB)} MB resident; JSON.parse of ${Math.round(parsed.bytes / MB)} MB: ${Math.round(parsed.cpuMs)} ms CPU`,
    );
    const isGoal = tables === GOAL_SIZE;
    const work = `health run, ${tables} tables × ${SEGMENTS} segments, ${SERVERS} servers`;
    bench.add({
      work: `${work}: CPU`,
      unit: 's CPU',
      better: 'less',
      ours: figures.cpuMs / 1_000,
      peer: 'JSON.parse of the same bytes',
      theirs: parsed.cpuMs / 1_000,
      goal: isGoal ? atMostTimes(1.2) : NO_GOAL,
    });
    bench.add({
      work: `${work}: memory`,
      unit: 'MB',
      better: 'less',
      ours: figures.maxRssBytes / MB,
      goal: isGoal ? atMost(400, 'MB') : NO_GOAL,
    });
    bench.add({
      work: `${work}: calls`,
      unit: 'calls a table',
      better: 'less',
      ours: figures.calls / tables,
      goal: isGoal ? atMost(10, 'calls a table') : NO_GOAL,
    });
    addSecondRun(bench, work, figures, second, isGoal);
    points.push({ tables, first: figures, second });
  }
  addCurves(bench, points);
}

interface HealthPoint {
  readonly tables: number;
  readonly first: Figures;
  readonly second: Figures;
}

function addCurves(bench: Bench, points: readonly HealthPoint[]): void {
  const x = { label: `tables with ${SEGMENTS} segments each`, unit: '', scale: 'log' } as const;
  const series = (name: string, of: (point: HealthPoint) => number) => ({
    name,
    points: points.map((point) => [point.tables, of(point)] as const),
  });
  bench.curve({
    id: 'health-cpu-by-tables',
    title: 'CPU of a health run by the size of the cluster',
    x,
    y: { label: 'CPU', unit: 'ms a table', scale: 'linear' },
    series: [
      series('first run', ({ tables, first }) => first.cpuMs / tables),
      series('second run, unchanged cluster', ({ tables, second }) => second.cpuMs / tables),
    ],
    note: 'The cost of a table falls with their number, because a run has fixed costs and the compiler of Node.js has more to work with.',
  });
  bench.curve({
    id: 'health-memory-by-tables',
    title: 'Memory of a health run by the size of the cluster',
    x,
    y: { label: 'resident memory, peak of both runs', unit: 'MB', scale: 'linear' },
    series: [series('process of the run', ({ second }) => second.maxRssBytes / MB)],
  });
}

/** The run after the first one, on the unchanged cluster. */
function addSecondRun(bench: Bench, work: string, first: Figures, second: Figures, isGoal: boolean): void {
  bench.note(
    `second run: ${second.calls} calls, of which ${second.queries} are queries, ${(second.bytes / MB).toFixed(1)} MB read, ${Math.round(second.cpuMs)} ms CPU, ${Math.round(second.wallMs)} ms wall`,
  );
  bench.add({
    work: `${work}: CPU of a second run`,
    unit: 's CPU',
    better: 'less',
    ours: second.cpuMs / 1_000,
    peer: 'the first run',
    theirs: first.cpuMs / 1_000,
    goal: isGoal ? atLeastTimes(5) : NO_GOAL,
  });
  bench.add({
    work: `${work}: read by a second run`,
    unit: 'MB',
    better: 'less',
    ours: second.bytes / MB,
    peer: 'the first run',
    theirs: first.bytes / MB,
    goal: isGoal ? atMost(20, 'MB') : NO_GOAL,
  });
  bench.add({
    work: `${work}: calls of a second run, without queries`,
    unit: 'calls',
    better: 'less',
    ours: second.calls - second.queries,
    peer: 'the first run',
    theirs: first.calls - first.queries,
    goal: isGoal ? atMost(400, 'calls') : NO_GOAL,
  });
}

interface Runs {
  readonly first: Figures;
  readonly second: Figures;
  /** The responses of a run, read with JSON.parse. */
  readonly parsed: Parsed;
}

async function healthRun(tables: number): Promise<Runs> {
  const stub = runProgram('engine-stub.ts', [tables, SEGMENTS, SERVERS].map(String));
  try {
    const url = await stub.line;
    const runs = JSON.parse(await runProgram('health-run.ts', [url], NODE_OPTIONS).line) as Omit<Runs, 'parsed'>;
    const parsed = JSON.parse(await runProgram('health-run.ts', [url, 'parse']).line) as Parsed;
    return { ...runs, parsed };
  } finally {
    stub.kill();
  }
}
