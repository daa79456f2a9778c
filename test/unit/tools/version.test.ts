import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '../../..');
const RELEASES = readdirSync(join(ROOT, 'test/fixtures/released'), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name.slice(1)] : [],
);

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };

describe('the version of the tree', () => {
  it('is newer than every release, so that an upgrade from one is an upgrade', () => {
    const order = new Intl.Collator('en', { numeric: true });
    expect(RELEASES).not.toEqual([]);
    for (const release of RELEASES) expect(order.compare(version, release), release).toBeGreaterThan(0);
  });

  it('is the same at every place', () => {
    const lock = JSON.parse(read('package-lock.json')) as { version: string; packages: { '': { version: string } } };
    expect([lock.version, lock.packages[''].version]).toEqual([version, version]);
    for (const chart of ['olap-warden', 'olap-warden-crds'])
      expect(parse(read(`charts/${chart}/Chart.yaml`)), chart).toMatchObject({ version, appVersion: version });
    expect(read('manifests/sidecar/gateway-sidecar.yaml')).toContain(`/olap-warden:${version}\n`);
    expect(read('manifests/install.yaml')).toContain(`/olap-warden:${version}\n`);
    expect(JSON.parse(read('openapi.json'))).toMatchObject({ info: { version } });
  });

  it('and the changelog has a section for every release', () => {
    const sections = read('CHANGELOG.md').match(/^## \[.*\]$/gm);
    expect(sections?.[0]).toBe('## [Unreleased]');
    for (const release of RELEASES) expect(sections).toContain(`## [${release}]`);
  });
});
