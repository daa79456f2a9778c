import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALL_TESTS, PARTS, partsIn, partsOf, testsOf, withNeeds } from '../../../tools/dev/part-list.ts';
import { plan } from '../../../tools/dev/part-plan.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Files that call the installer without naming the part: it is an argument, or they only read its text. */
const WITHOUT_NAME = new Set([
  'test/support/object-servers.ts',
  'test/support/pinot-version.ts',
  'test/support/try-browser.ts',
  'test/support/node/configuration.ts',
  'test/support/node/machine.ts',
  'tools/helm/score.ts',
]);

describe('parts of tests', () => {
  it('knows the parts that tools/install.sh knows, except Node', () => {
    const [, known = ''] = /die "unknown part .*; known: ([a-z0-9 -]+)"/.exec(read('tools/install.sh')) ?? [];
    expect(Object.keys(PARTS).toSorted()).toEqual(
      known
        .split(' ')
        .filter((part) => part !== 'node')
        .toSorted(),
    );
  });

  it('finds a known part in every file of tests and tools that calls the installer', () => {
    const calling = globSync(['test/{support,integration,e2e}/**/*.ts', 'tools/{helm,pinot}/**/*.ts'], { cwd: ROOT })
      .filter((path) => !WITHOUT_NAME.has(path))
      .map((path) => ({ path, source: read(path) }))
      .filter(({ source }) => /install\.sh|\bawait installed\(|startObjectServer\(/.test(source));
    expect(calling.length).toBeGreaterThan(10);
    for (const { path, source } of calling) {
      const parts = partsIn(source);
      expect(parts, path).not.toEqual([]);
      for (const part of parts) expect(Object.keys(PARTS), path).toContain(part);
    }
  });

  it.each([
    ['test/integration/proxy/limits.test.ts', []],
    ['test/integration/crds/crds.test.ts', ['kubernetes']],
    ['test/integration/chart/chart.test.ts', ['kubernetes', 'helm']],
    // It imports `installed` alone from the file that also starts Pinot.
    ['test/integration/monitoring/alertmanager.test.ts', ['alertmanager']],
    ['test/contract/result-store.integration.test.ts', ['s3', 'gcs']],
    ['test/integration/engine/parser.test.ts', ['pinot-parsers', 'pinot']],
    ['test/integration/engine/planner.test.ts', ['pinot-parsers', 'pinot']],
    ['test/integration/clients/clients.test.ts', ['pinot', 'pinot-tools', 'sample']],
    ['test/e2e/make-run.test.ts', ['pinot', 'pinot-tools', 'sample']],
    ['test/e2e/dashboard-roles.test.ts', ['browser']],
    ['test/e2e/dashboard-firefox.test.ts', ['pinot', 'pinot-tools', 'sample', 'firefox']],
    ['test/faults/results.integration.test.ts', ['s3']],
  ])('of %s: %j', (file, parts) => {
    expect(partsOf([file])).toEqual(parts);
  });

  it('of all integration tests are those of make parts, or packages that take a minute', () => {
    const files = testsOf('integration');
    expect(files.length).toBeGreaterThan(80);
    for (const part of partsOf(files)) {
      if (!ALL_TESTS.includes(part)) expect(PARTS[part]?.minutes, part).toBe(1);
    }
  });

  it('selects files as vitest does, by any part of their path', () => {
    const crds = testsOf('integration', ['crds/crds']);
    expect(crds).toEqual(['test/integration/crds/crds.test.ts']);
    expect(testsOf('integration', ['./test/integration/crds/crds.test.ts'])).toEqual(crds);
    expect(testsOf('integration', ['no-such-test'])).toEqual([]);
    expect(testsOf('integration', ['test/security']).every((file) => file.endsWith('.integration.test.ts'))).toBe(true);
  });

  it('builds for each target of make only the parts of its tests', () => {
    const makefile = read('Makefile');
    const all = [...makefile.matchAll(/^([a-z0-9-]+):[^#\n]*\bparts\b/gm)].map(([, target]) => target);
    expect(all).toEqual([]);
    const own = [...makefile.matchAll(/^(test-[a-z0-9-]+|soak):.*\n((?:\t.*\n)*)/gm)];
    const building = own
      .filter(([, , lines]) => /tools\/dev\/(?:parts|suite)\.ts/.test(lines!))
      .map(([, name]) => name);
    expect(building).toEqual(
      ['integration', 'e2e', 'races', 'security', 'faults', 'history']
        .map((name) => `test-${name}`)
        .concat('soak', 'test-superset'),
    );
    expect(testsOf('e2e').length).toBeGreaterThan(10);
    expect(testsOf('e2e', ['test/integration'])).toEqual([]);
  });

  it('builds what a part needs before it', () => {
    expect(withNeeds(['sample', 'kubernetes'])).toEqual(['kubernetes', 'pinot', 'pinot-tools', 'sample']);
  });

  it('says before it begins what is missing and how long it takes', () => {
    const text = plan(['kubernetes', 's3', 'pinot']);
    expect(text).toContain('3 real parts');
    expect(text).toContain('kubernetes (8 min), s3 (1 min), pinot (3 min)');
    // Downloads run beside the compiler.
    expect(text).toContain('about 9 min');
    expect(plan(['s3'])).toContain('1 real part of');
  });

  it('asks the installer without installing anything', () => {
    const cache = join(import.meta.dirname, 'no-such-cache');
    const ask = (part: string): unknown =>
      execFileSync(join(ROOT, 'tools/install.sh'), ['--is-built', part], {
        env: { ...process.env, XDG_CACHE_HOME: cache },
        stdio: 'ignore',
      });
    for (const part of ALL_TESTS) expect(() => ask(part), part).toThrow(/Command failed/);
    expect(existsSync(cache)).toBe(false);
  });
});
