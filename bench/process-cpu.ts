import { readdir, readFile } from 'node:fs/promises';

/** CPU time of a process with all of its threads in milliseconds, user and system, precise to the nanosecond. Ended threads are not counted. */
export async function cpuMsOf(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const used = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')));
  return used.reduce((sum, line) => sum + Number(line.split(' ', 1)[0]), 0) / 1e6;
}
