import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cpuMsOf } from '../process-cpu.ts';

export interface Target {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Load {
  /** The clients take them in turn. */
  readonly targets: readonly Target[];
  readonly clients: number;
  /** Between two requests of a client; 0 if omitted. With a pause the clients begin at different times. */
  readonly pauseMs?: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

export interface LoadFigures {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly bytes: number;
  /** Numbers of failed requests by their message. */
  readonly failures: Readonly<Record<string, number>>;
}

export interface Loaded extends LoadFigures {
  /** CPU of each watched process while the load was measured, in the order of `watched`. */
  readonly cpuMs: readonly number[];
  /** The highest resident memory of each watched process meanwhile. */
  readonly maxRssMb: readonly number[];
}

const SAMPLE_MS = 100;

/** Runs the load in a separate process. @param watched ids of processes @throws {Error} if a request fails */
export async function runLoad(load: Load, watched: readonly number[]): Promise<Loaded> {
  const program = join(import.meta.dirname, 'load-process.ts');
  const child = spawn(process.execPath, [program, JSON.stringify(load)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('the load generator ended without figures');
    return value;
  };
  await next();
  const before = await Promise.all(watched.map(cpuMsOf));
  const highest = watched.map(() => 0);
  const sampler = setInterval(() => {
    void Promise.all(watched.map(residentMb)).then((all) => {
      for (const [at, now] of all.entries()) highest[at] = Math.max(highest[at] ?? 0, now);
    });
  }, SAMPLE_MS);
  try {
    const figures = JSON.parse(await next()) as LoadFigures;
    const after = await Promise.all(watched.map(cpuMsOf));
    const [failure] = Object.entries(figures.failures);
    if (failure) throw new Error(`${failure[1]} requests of ${load.clients} clients failed: ${failure[0]}`);
    if (figures.requests === 0) throw new Error(`no request of ${load.clients} clients was answered in time`);
    return { ...figures, cpuMs: after.map((now, at) => now - (before[at] ?? 0)), maxRssMb: highest };
  } finally {
    clearInterval(sampler);
    child.kill();
  }
}

/** Resident memory; 0 of a process that has ended. */
export async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}
