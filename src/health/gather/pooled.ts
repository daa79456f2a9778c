/** Maps the items with at most `limit` concurrent calls of `work`. @returns the results in the order of the items */
export async function pooled<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length });
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/** Jobs whose results are used together. */
export interface Pass {
  readonly jobs: readonly (() => Promise<void>)[];
  /** Called once, after the last job. Jobs of other passes continue while it runs. */
  readonly done: () => Promise<void>;
}

/**
 * Runs the jobs of all passes with at most `limit` at once. Jobs start in order, those of the first pass first; a slow job does not delay the
 * next pass.
 */
export async function inPasses(passes: readonly Pass[], limit: number): Promise<void> {
  const completions: Promise<void>[] = [];
  const jobs = passes.flatMap(({ jobs, done }) => {
    let remaining = jobs.length;
    if (remaining === 0) completions.push(done());
    return jobs.map((job) => async () => {
      await job();
      remaining -= 1;
      if (remaining === 0) completions.push(done());
    });
  });
  await pooled(jobs, limit, (job) => job());
  await Promise.all(completions);
}
