import { mkdir, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { basename, dirname } from 'node:path';
import type { HotPath } from './bench.ts';

export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples?: readonly number[] | undefined;
  /** Microseconds before each sample. */
  readonly timeDeltas?: readonly number[] | undefined;
}

/** Not work: waiting for events, and the profiler itself. */
const NOT_WORK = new Set(['(idle)', '(root)', 'post (node:inspector)']);

/** The functions with the largest part of the CPU time, without the functions that they call. */
export function topOf({ nodes, samples = [], timeDeltas = [] }: CpuProfile, count: number): HotPath['top'] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map<string, number>();
  let total = 0;
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? '(unknown)';
    const time = timeDeltas[index] ?? 0;
    if (NOT_WORK.has(name)) continue;
    total += time;
    times.set(name, (times.get(name) ?? 0) + time);
  }
  return [...times]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([name, time]) => ({ name, share: total === 0 ? 0 : time / total }));
}

/** `function (file.ts)`; native functions have no file. Without lines, which change with each commit. */
function nameOf({ functionName, url }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName === '' ? 'anonymous' : functionName;
  return url === '' ? name : `${name} (${basename(url)})`;
}

/** Of V8's protocol; the types of Node.js do not have the samples. */
interface SampledHeap {
  readonly samples: readonly { readonly size: number }[];
}

const TOP = 10;
const SAMPLE_BYTES = 16 * 1024;

/** Profiles `run` in this process, first its CPU time, then its allocations. @param calls of the work in one run */
export async function profileHere(work: string, file: string, calls: number, run: () => unknown): Promise<HotPath> {
  const session = new Session();
  session.connect();
  try {
    await run();
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await run();
    const { profile } = await session.post('Profiler.stop');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(profile));
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: SAMPLE_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await run();
    const heap = (await session.post('HeapProfiler.stopSampling')) as unknown as {
      profile: SampledHeap;
    };
    const bytes = heap.profile.samples.reduce((sum, { size }) => sum + size, 0);
    await writeFile(file.replace(/\.cpuprofile$/, '.heapprofile'), JSON.stringify(heap.profile));
    return { work, top: topOf(profile, TOP), allocated: bytes / calls };
  } finally {
    session.disconnect();
  }
}

/** @param text of a file that `node --cpu-prof` wrote */
export function hotPathOf(work: string, text: string): HotPath {
  return { work, top: topOf(JSON.parse(text) as CpuProfile, TOP) };
}
