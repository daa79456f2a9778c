import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
}

const REGISTRY = 'https://registry.npmjs.org/';
const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
/** Without the project itself. */
const LOCKED = Object.entries(packages).filter(([path]) => path !== '');

/** Licences that allow distribution with the program under Apache-2.0. */
const SHIPPED = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'Unlicense'];
/** Packages with other permissive licences. */
const EXCEPTIONS: Readonly<Record<string, string>> = { 'node_modules/argparse': 'PSF-2.0' };
/** Packages only for development may have these, too: they are not distributed. */
const NOT_SHIPPED = [...SHIPPED, 'MPL-2.0'];
/** Its script only selects the program of the platform. It is a package for development, and installed with `--ignore-scripts`. */
const WITH_INSTALL_SCRIPT = ['node_modules/esbuild'];

it('has only packages with an allowed licence', () => {
  const others = LOCKED.filter(([path, { license = '(none)', dev }]) => {
    return !(dev ? NOT_SHIPPED : SHIPPED).includes(license) && EXCEPTIONS[path] !== license;
  }).map(([path, { license }]) => `${path}: ${license}`);
  expect(others).toEqual([]);
});

it('has no package that runs a script at its installation, except for development', () => {
  const found = LOCKED.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
  expect(found).toEqual(WITH_INSTALL_SCRIPT);
  expect(found.filter((path) => !packages[path]?.dev)).toEqual([]);
});

it('has each package with a hash, and none from outside the registry', () => {
  // Programs of other platforms for development have no entry of the registry in the lock file.
  const others = LOCKED.filter(
    ([, { resolved, integrity, dev, optional }]) =>
      !(dev && optional && resolved === undefined) &&
      !(integrity?.startsWith('sha512-') && (resolved ?? REGISTRY).startsWith(REGISTRY)),
  ).map(([path]) => path);
  expect(others).toEqual([]);
});

it('installs packages without scripts everywhere', () => {
  const files = ['Containerfile', 'Makefile', ...globSync('tools/**/*.{ts,sh}', { cwd: ROOT })];
  const commands = files.flatMap((path) => {
    const code = read(path).replaceAll(/^\s*(?:#|\/\/).*$/gm, '');
    const found = [...code.matchAll(/\bnpm (?:ci|install|prune)\b|'npm', \['(?:ci|install|prune)'/g)];
    // Its options may be in a variable shortly before.
    return found.map(({ index }) => ({ path, text: code.slice(Math.max(0, index - 400), index + 200) }));
  });
  expect(commands.length).toBeGreaterThan(1);
  expect(commands.filter(({ text }) => !text.includes('--ignore-scripts'))).toEqual([]);
});

it('names exact versions of its direct dependencies', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+$/.test(version),
  );
  expect(loose).toEqual([]);
});
