import { readdir, readFile } from 'node:fs/promises';

/** Milliseconds of CPU that a process and all of its threads have used, user and system, to the nanosecond. Threads that have ended are left out. */
export async function cpuMsOf(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const used = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')));
  return used.reduce((sum, line) => sum + Number(line.split(' ', 1)[0]), 0) / 1e6;
}
