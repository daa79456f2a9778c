/** Maps with at most `limit` items in work at once; keeps their order. */
export async function pooled<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length });
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/** Work on many items that is of use once all of it is done. */
export interface Pass {
  readonly jobs: readonly (() => Promise<void>)[];
  /** Called once, when the last job is done (or there is none); may take its time, during which other passes go on. */
  readonly done: () => Promise<void>;
}

/**
 * Works on passes with at most `limit` jobs at once: jobs begin in order, those of the first pass first, and none waits for a slow one of the
 * pass before.
 */
export async function inPasses(passes: readonly Pass[], limit: number): Promise<void> {
  const ends: Promise<void>[] = [];
  const jobs = passes.flatMap(({ jobs, done }) => {
    let left = jobs.length;
    if (left === 0) ends.push(done());
    return jobs.map((job) => async () => {
      await job();
      left -= 1;
      if (left === 0) ends.push(done());
    });
  });
  await pooled(jobs, limit, (job) => job());
  await Promise.all(ends);
}
