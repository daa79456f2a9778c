import { defineConfig } from 'vitest/config';
import { TEST_LIMIT_MS, WAIT_LIMIT_MS } from './test/support/limits.ts';

// Three projects: `unit` needs Node alone and takes about a minute; `integration` starts the real parts (kube-apiserver,
// etcd, Pinot, object stores), one file at a time because the machine's memory is shared by them; `e2e` runs whole programs.
// They run one after another, so that what measures time is not disturbed by another project.
const parts = {
  setupFiles: ['src/platform/fetch.ts', 'test/support/watch-responses.ts'],
  globalSetup: ['test/support/global-setup.ts'],
  fileParallelism: false,
};

const limits = {
  testTimeout: TEST_LIMIT_MS,
  hookTimeout: TEST_LIMIT_MS,
  expect: { poll: { timeout: WAIT_LIMIT_MS } },
};

export default defineConfig({
  test: {
    // The console output of tests that fail; libraries for tests print warnings.
    silent: 'passed-only',
    projects: [
      {
        test: {
          name: 'unit',
          setupFiles: ['src/platform/fetch.ts', 'test/support/property-seed.ts'],
          include: [
            'test/unit/**/*.test.ts',
            'test/golden/**/*.test.ts',
            'test/contract/**/*.unit.test.ts',
            'test/security/**/*.unit.test.ts',
          ],
          // The files of a worker share its modules: to load them again for each file would take a third of the time.
          isolate: false,
          ...limits,
          // By itself it leaves a core unused, of the two that small machines have.
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...parts,
          name: 'integration',
          include: [
            'test/integration/**/*.test.ts',
            'test/contract/**/*.integration.test.ts',
            'test/{security,faults,soak}/**/*.integration.test.ts',
          ],
          ...limits,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...parts,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          ...limits,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
