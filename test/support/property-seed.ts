import fc from 'fast-check';
import { afterEach } from 'vitest';
import { SEED } from './seed.ts';

// Set-up of all tests.

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });

afterEach(({ task }) => {
  if (task.result?.state === 'fail')
    process.stderr.write(`random values of \`${task.name}\`: FAST_CHECK_SEED=${SEED}\n`);
});
