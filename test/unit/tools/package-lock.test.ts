import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>>;
}

it('locks every optional package, which `npm ci` requires on a machine without a cache', () => {
  const file = join(import.meta.dirname, '../../../package-lock.json');
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as Lock;
  const wanted = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).map((name) => [`node_modules/${name}`, `${path}/node_modules/${name}`]),
  );
  const missing = wanted.filter((places) => !places.some((place) => place in packages)).map(([place]) => place);
  expect(missing).toEqual([]);
  expect(wanted.length).toBeGreaterThan(0);
});
