import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { SharedParts } from '../../test/support/shared-parts.ts';

const root = resolve(import.meta.dirname, '../..');

interface Part {
  /** Rough time of the first build or download, in minutes: measured on two cores and rounded up. */
  readonly minutes: number;
  /** Parts that are built first. */
  readonly needs: readonly string[];
  /** `compile` takes all cores, `download` mostly waits for the network: one of each at a time. */
  readonly lane: 'compile' | 'download';
}

const compiled = (minutes: number): Part => ({ minutes, needs: [], lane: 'compile' });
const downloaded = (minutes: number, ...needs: string[]): Part => ({ minutes, needs, lane: 'download' });

/** The parts of `tools/install.sh` except Node, in the order in which they are built. */
export const PARTS: Readonly<Record<string, Part>> = {
  kubernetes: compiled(8),
  helm: compiled(2),
  'kube-score': compiled(2),
  s3: compiled(1),
  gcs: compiled(1),
  'node-parts': compiled(3),
  coredns: compiled(3),
  kind: compiled(1),
  opa: compiled(1),
  'pinot-parsers': downloaded(3),
  pinot: downloaded(3),
  'pinot-tools': downloaded(1, 'pinot'),
  sample: downloaded(1, 'pinot', 'pinot-tools'),
  prometheus: downloaded(1),
  alertmanager: downloaded(1),
  nginx: downloaded(1),
  tinyproxy: downloaded(1),
  faketime: downloaded(1),
  browser: downloaded(1),
  firefox: downloaded(1),
};

/** What `make parts` builds. The other parts are packages that take seconds: the tests that use them install them. */
export const ALL_TESTS: readonly string[] = [
  ...['kubernetes', 'helm', 'kube-score', 's3', 'gcs', 'node-parts', 'coredns', 'kind'],
  ...['pinot-parsers', 'pinot', 'pinot-tools', 'sample'],
];

/** The parts that the global set-up starts (`test/support/global-setup.ts`). */
const SHARED: Readonly<Record<keyof SharedParts, readonly string[]>> = {
  pinot: ['pinot', 'pinot-tools', 'sample'],
  controlPlane: ['kubernetes'],
};

/** Calls that install a part that they name. */
const INSTALLS = [
  /\binstalled\('([a-z0-9-]+)'/g,
  /\bstartObjectServer\('([a-z0-9-]+)'/g,
  /(?:install\.sh'\)|\b(?:install|INSTALL)), \[\s*'([a-z0-9-]+)'/g,
];
/** Calls of `make run`, which starts the sample cluster. */
const RUNS_SAMPLE = /'make', \['run'\]/;
const SHARES = /\bsharedPart\('(\w+)'/g;
/** `import … from`, `export … from` and `import()` of a file of the repository. */
const IMPORT = /\b(?:import|export)\s+(type\s)?([^'";]*?)\s*(?:from\s+)?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/g;

/** The parts that a source text installs itself. */
export function partsIn(source: string): string[] {
  const named = INSTALLS.flatMap((pattern) => [...source.matchAll(pattern)].map(([, part]) => part as string));
  const shared = [...source.matchAll(SHARES)].flatMap(([, name]) => SHARED[name as keyof SharedParts] ?? []);
  return [...named, ...shared, ...(RUNS_SAMPLE.test(source) ? ['sample'] : [])];
}

/** The files that a source text imports at run time, as relative specifiers. A file that only needs the installer itself needs no part for it. */
function importsOf(source: string): string[] {
  return [...source.matchAll(IMPORT)]
    .filter(([, type, names = '']) => type === undefined && names.replaceAll(/\s/g, '') !== '{installed}')
    .map(([, , , from, dynamic]) => (from ?? dynamic) as string);
}

/**
 * The parts that test files need, by what they and the files that they import name; in the order of PARTS.
 * A part that this does not find is still installed by the test that uses it, only later.
 * @param files paths from the root of the repository
 */
export function partsOf(files: readonly string[]): string[] {
  const seen = new Set<string>();
  const found: string[] = [];
  const open = files.map((file) => resolve(root, file));
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    // The product installs no part.
    if (seen.has(file) || !file.endsWith('.ts') || relative(root, file).startsWith('src/')) continue;
    seen.add(file);
    const source = readFileSync(file, 'utf8');
    found.push(...partsIn(source));
    const folder = dirname(file);
    open.push(...importsOf(source).map((path) => join(folder, path)));
  }
  return withNeeds(found);
}

/** The parts with those that they need, each once, in the order in which they are built. */
export function withNeeds(parts: readonly string[]): string[] {
  const all = new Set(parts.flatMap((part) => [...(PARTS[part]?.needs ?? []), part]));
  return Object.keys(PARTS).filter((part) => all.has(part));
}

/** The files of the projects of tests that need parts (`vitest.config.ts`). */
const FILES = {
  integration: 'test/{integration,contract,security,faults,soak}/**/*.test.ts',
  e2e: 'test/e2e/**/*.test.ts',
};
export type Project = keyof typeof FILES;

/**
 * The files of a project whose path contains one of the texts, as vitest selects them.
 * @param filters the words of ONLY, or paths; none for all files
 */
export function testsOf(project: Project, filters: readonly string[] = []): string[] {
  const names = filters.map((filter) => relative(root, resolve(root, filter)));
  return globSync(FILES[project], { cwd: root })
    .filter((file) => !file.endsWith('.unit.test.ts'))
    .filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
    .toSorted();
}
