import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROPERTIES } from '../../../src/app/parts/properties.ts';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { ROOT, unknown } from './pages.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The metrics of docs/metrics.md, which is generated from those that the program registers. */
const METRICS = new Set([...read('docs/metrics.md').matchAll(/^\| `([a-z_]+)` \| (\w+)/gm)].map(([, name]) => name!));
const METRIC = /\b((?:olap_warden|olapwarden|workqueue|controller_runtime|leader_election)_[a-z_]+[a-z])\b/g;

/** Also the series of a histogram, and the beginning of several names, such as `olap_warden_store_*`. */
function isMetric(name: string): boolean {
  if (METRICS.has(name) || METRICS.has(name.replace(/_(bucket|sum|count)$/, ''))) return true;
  return [...METRICS].some((metric) => metric.startsWith(`${name}_`));
}

describe('the documentation names only what exists:', () => {
  it('targets of the Makefile', () => {
    const targets = new Set([...read('Makefile').matchAll(/^([a-z][a-z0-9-]*):/gm)].map(([, target]) => target));
    expect(unknown(/(?:`|\$ )make ([a-z][a-z0-9-]*)/g, (target) => targets.has(target))).toEqual([]);
  });

  it('metrics', () => {
    expect(METRICS.size).toBeGreaterThan(40);
    expect(unknown(METRIC, isMetric)).toEqual([]);
  });

  it('metrics in alerts and dashboards', () => {
    const files = globSync('charts/**/*.{yaml,json}', { cwd: ROOT }).filter((path) => !path.includes('/crds/'));
    const wrong = files.flatMap((path) =>
      [...read(path).matchAll(METRIC)]
        .map(([, name]) => name!)
        .filter((name) => !isMetric(name))
        .map((name) => `${name} (${path})`),
    );
    expect(wrong).toEqual([]);
  });

  it('health checks', () => {
    // The worked example of CONTRIBUTING is a check that does not exist; test/integration/tools/add-a-check.test.ts adds it.
    const [, example = ''] = /defineCheck\(\{\s+name: '(\w+)'/.exec(read('CONTRIBUTING.md')) ?? [];
    expect(example).not.toBe('');
    const checks = new Set<string>([...CATALOGUE.map(({ name }) => name), example]);
    expect(unknown(/\b([A-Z][A-Z_]*_CHECK)\b/g, (name) => checks.has(name))).toEqual([]);
  });

  it('properties', () => {
    const properties = [...PROPERTIES.keys.keys()];
    const isKnown = (key: string): boolean =>
      properties.some((property) => property === key || property.startsWith(`${key.replace(/\.?\*$/, '')}.`));
    expect(unknown(/`((?:olap|controller\.cluster\.health)\.[a-zA-Z0-9.*]+)`/g, isKnown)).toEqual([]);
  });

  it('files and folders of the repository', () => {
    // Only after `make web`.
    const built = new Set(['web/dist']);
    // A placeholder stands for any name; its folder exists.
    const isKnown = (path: string): boolean =>
      built.has(path) ||
      (/[*{]/.test(path)
        ? globSync(path, { cwd: ROOT }).length > 0
        : existsSync(join(ROOT, /[<…]/.test(path) ? dirname(path.split(/[<…]/)[0]!) : path)));
    expect(unknown(/`((?:src|test|tools|charts|crds|manifests|bench|web)\/[^\s`]+)`/g, isKnown)).toEqual([]);
  });
});
