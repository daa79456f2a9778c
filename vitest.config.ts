import { join } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { TEST_LIMIT_MS, WAIT_LIMIT_MS } from './test/support/limits.ts';
import { parallelFiles } from './test/support/parallel-files.ts';

const HOME = 'test/support/own-home.ts';

// `unit` needs Node alone; `integration` starts the real parts (kube-apiserver, etcd, Pinot, object stores); `e2e` runs whole programs.
// `unit` runs first, these two together. `new-machine` has no part: it begins with empty caches.
const parts = {
  setupFiles: ['test/support/bounded-fetch.ts', 'test/support/property-seed.ts', 'test/support/watch-responses.ts'],
  globalSetup: [HOME, 'test/support/global-setup.ts'],
  // Each file that runs has its own parts.
  maxWorkers: parallelFiles(),
  sequence: { groupOrder: 1 },
};

// Vitest writes the token of its API there; by default to the home of the user.
process.env['XDG_DATA_HOME'] = join(import.meta.dirname, 'node_modules/.cache');

const shared = {
  // `make test-unit` leaves these unit tests out: `// @module-tag slow` in a file, `{ tags: 'slow' }` of a test.
  tags: [{ name: 'slow', description: 'takes more than about half a second, as most tests that start programs' }],
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
          globalSetup: HOME,
          setupFiles: ['test/support/bounded-fetch.ts', 'test/support/property-seed.ts'],
          include: [
            'test/unit/**/*.test.ts',
            'test/golden/**/*.test.ts',
            'test/contract/**/*.unit.test.ts',
            'test/security/**/*.unit.test.ts',
          ],
          // The files of a worker share its modules: to load them again for each file would take a third of the time.
          isolate: false,
          ...shared,
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
          // Installs 800 MB from PyPI: only `make test-superset` runs it.
          exclude: [
            ...configDefaults.exclude,
            ...(process.env['SUPERSET'] === '1' ? [] : ['test/integration/clients/superset/**']),
          ],
          ...shared,
        },
      },
      {
        test: {
          ...parts,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          ...shared,
        },
      },
      { test: { name: 'new-machine', include: ['test/new-machine/**/*.test.ts'], ...shared } },
    ],
  },
});
