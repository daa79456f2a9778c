import { readdir, readFile } from 'node:fs/promises';

/** CPU time of a process with all of its threads in milliseconds, user and system, precise to the nanosecond. Ended threads are not counted. */
export async function cpuMsOf(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const used = await Promise.all(threads.map((thread) => cpuNsOf(`/proc/${pid}/task/${thread}/schedstat`)));
  return used.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

/** 0 for a thread that ended after it was listed. */
async function cpuNsOf(path: string): Promise<number> {
  try {
    return Number((await readFile(path, 'utf8')).split(' ', 1)[0]);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return 0;
    throw error;
  }
}
