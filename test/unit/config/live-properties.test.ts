import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PROPERTIES } from '../../../src/app/properties.ts';
import type { SettingsError } from '../../../src/config/keys.ts';
import { LiveProperties } from '../../../src/config/live-properties.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { nearest } from '../../../src/resources/nearest.ts';

let folder: string;
let live: LiveProperties;
const refused: SettingsError[] = [];
const changed: string[] = [];
const restarts: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-live-'));
  refused.length = changed.length = restarts.length = 0;
});
afterEach(async () => {
  await live.stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(file: string, flags: string[] = []): Promise<void> {
  const loaded = await loadSettings({
    args: ['--config', file, ...flags],
    env: {},
    properties: PROPERTIES,
    suggest: nearest,
  });
  live = new LiveProperties({
    known: PROPERTIES,
    initial: loaded.properties,
    file,
    fixed: loaded.fixedProperties,
    suggest: nearest,
    intervalMs: 10,
    onChange: (keys) => changed.push(...keys),
    onRestartNeeded: (keys) => restarts.push(...keys),
    onRejected: (error) => refused.push(error),
  });
  live.start();
}

const pageSize = (): number => live.get()['olap.broker.query.page.size'];

/** As the kubelet swaps a ConfigMap: a folder by its link, so that the file itself never changes. */
async function mount(version: string, content: string): Promise<void> {
  await mkdir(join(folder, version));
  await writeFile(join(folder, version, 'settings.yaml'), content);
  await symlink(version, join(folder, 'data.tmp'));
  await rename(join(folder, 'data.tmp'), join(folder, '..data'));
}

it('follows a ConfigMap whose links are swapped', async () => {
  await mount('v1', 'olap.broker.query.page.size: 10\n');
  await symlink('..data/settings.yaml', join(folder, 'settings.yaml'));
  await start(join(folder, 'settings.yaml'));
  expect(pageSize()).toBe(10);
  await mount('v2', 'olap.broker.query.page.size: 20\n');
  await vi.waitFor(() => expect(pageSize()).toBe(20));
  expect(changed).toEqual(['olap.broker.query.page.size']);
});

it('keeps what was in force when the file goes bad, says so once, and recovers', async () => {
  const file = join(folder, 'settings.properties');
  await writeFile(file, 'olap.broker.query.page.size=10\n');
  await start(file);
  await writeFile(file, 'olap.broker.query.page.size=ten\nolap.broker.pagination.expiration=2h\n');
  await vi.waitFor(() => expect(refused).toHaveLength(1));
  expect(refused[0]?.message).toContain('`ten` is not an integer');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(refused).toHaveLength(1);
  expect([pageSize(), live.get()['olap.broker.pagination.expiration']]).toEqual([10, 3_600_000]);
  await rm(file);
  await vi.waitFor(() => expect(refused).toHaveLength(2));
  await writeFile(file, 'olap.broker.query.page.size=30\n');
  await vi.waitFor(() => expect(pageSize()).toBe(30));
});

it('says what needs a restart and does not pretend to have taken it', async () => {
  const file = join(folder, 'settings.yaml');
  await writeFile(file, '{}\n');
  await start(file);
  await writeFile(file, 'olap.broker.pagination.temp.dir: /elsewhere\n');
  await vi.waitFor(() => expect(restarts).toEqual(['olap.broker.pagination.temp.dir']));
  expect(live.get()).toHaveProperty(['olap.broker.pagination.temp.dir'], '/tmp/olap/query/broker');
});

it('lets a flag win over the file at every reading', async () => {
  const file = join(folder, 'settings.yaml');
  await writeFile(file, '{}\n');
  await start(file, ['--set', 'olap.broker.query.page.size=7']);
  await writeFile(file, 'olap.broker.query.page.size: 8\nolap.broker.pagination.expiration: 5m\n');
  await vi.waitFor(() => expect(live.get()['olap.broker.pagination.expiration']).toBe(300_000));
  expect(pageSize()).toBe(7);
});
