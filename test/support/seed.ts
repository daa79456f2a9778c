import { Random } from '../fuzz/http/random.ts';

// The same random values in every run, so that a change is judged by what it changes. Another seed draws others:
//   FAST_CHECK_SEED=$RANDOM make test-unit

/** Of everything random on which the outcome of a test may depend. The set-up of the tests prints it when one fails. */
export const SEED = Number(process.env['FAST_CHECK_SEED'] || 20_261_121);

/** A source of random values for one file or one test. @param salt gives different values to different uses */
export function seeded(salt = 0): Random {
  return new Random(SEED ^ salt);
}
