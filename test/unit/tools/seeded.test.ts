import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const UNSEEDED = /\bMath\.random\b|\brandom(?:Bytes|Int|UUID|FillSync)\b|\bgetRandomValues\b/;

const UNIQUE = 'a name or an identifier that nothing else has';
const EXPLORES = 'each run of its `make` target has other choices, and prints their seed';

/** Files with random values that no seed determines, with the reason why no outcome depends on them. */
const ALLOWED: Readonly<Record<string, string>> = {
  'test/faults/clock-operator.integration.test.ts': UNIQUE,
  'test/faults/history.integration.test.ts': EXPLORES,
  'test/fuzz/access/main.ts': EXPLORES,
  'test/fuzz/http/main.ts': EXPLORES,
  'test/integration/crds/upgrade.test.ts': UNIQUE,
  'test/integration/results/deleted-results.test.ts': UNIQUE,
  'test/integration/results/full-disk-program.ts': UNIQUE,
  'test/integration/results/kill-bucket-program.ts': UNIQUE,
  'test/integration/results/kill-program.ts': UNIQUE,
  'test/integration/results/leaving-clients.test.ts': UNIQUE,
  'test/integration/results/pinot-pages.test.ts': UNIQUE,
  'test/support/app.ts': UNIQUE,
  'test/support/control-plane.ts': UNIQUE,
  'test/support/kind/kind-cluster.ts': UNIQUE,
  'test/support/kubernetes/pki.ts': UNIQUE,
  'test/support/kubernetes/processes.ts': 'ports: one in use is left out',
  'test/support/query-service.ts': UNIQUE,
  'test/support/strict-gateway.ts': UNIQUE,
  'test/unit/results/rows/concurrent-pages.test.ts': UNIQUE,
};

it('random values of tests have a seed, unless no outcome depends on them', () => {
  const found = globSync('test/**/*.ts', { cwd: ROOT })
    .filter((path) => join(ROOT, path) !== import.meta.filename)
    .filter((path) => UNSEEDED.test(readFileSync(join(ROOT, path), 'utf8')));
  // Others use seeded() of test/support/seed.ts.
  expect(found.toSorted()).toEqual(Object.keys(ALLOWED));
});
