import fc from 'fast-check';

// The same examples in every run, so that a change is judged by what it changes. Another seed explores others:
//   FAST_CHECK_SEED=$RANDOM make test-unit
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['FAST_CHECK_SEED'] ?? 20_261_121) });
