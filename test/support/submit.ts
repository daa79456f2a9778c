import type { EngineResponse } from '../../src/pinot/types.ts';
import type { QueryOrigin, Submissions, Submitted } from '../../src/results/submit/submissions.ts';
import type { SubmissionHooks } from '../../src/results/submit/submit.ts';

/** Sends a query to the engine. */
export type SendQuery = (signal: AbortSignal) => Promise<EngineResponse>;

/** Stores the result of a query whose responses come from `run`, as the data plane does. */
export async function submit(
  submissions: Submissions,
  run: SendQuery,
  { origin, signal, hooks }: { origin: QueryOrigin; signal: AbortSignal; hooks?: SubmissionHooks | undefined },
): Promise<Submitted> {
  const submission = submissions.begin(origin, signal, hooks);
  try {
    for (;;) {
      const outcome = await submission.store(await run(signal));
      if (outcome.kind !== 'lost') return outcome;
    }
  } finally {
    submission.end();
  }
}
