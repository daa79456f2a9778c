import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PROPERTIES } from '../../../src/app/parts/properties.ts';
import type { SettingsError } from '../../../src/config/keys.ts';
import { LiveProperties } from '../../../src/config/live-properties.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { nearest } from '../../../src/resources/nearest.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

let folder: string;
let live: LiveProperties;
const refused: SettingsError[] = [];
const changed: string[] = [];
const restarts: string[] = [];
/** Completed reads of the file: the next read is scheduled after the end of one. */
let reads = 0;
const until = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: WAIT_LIMIT_MS, interval: 5 });

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
    clock: {
      schedule: (callback, ms) => {
        reads++;
        return systemClock.schedule(callback, ms);
      },
    },
    intervalMs: 10,
    onChange: (keys) => changed.push(...keys),
    onRestartNeeded: (keys) => restarts.push(...keys),
    onRejected: (error) => refused.push(error),
  });
  live.start();
}

const pageSize = (): number => live.get()['olap.broker.query.page.size'];

/** Replaces the link to a folder, as the kubelet does for a ConfigMap: the file itself never changes. */
async function mount(version: string, content: string): Promise<void> {
  await mkdir(join(folder, version));
  await writeFile(join(folder, version, 'settings.yaml'), content);
  await symlink(version, join(folder, 'data.tmp'));
  await rename(join(folder, 'data.tmp'), join(folder, '..data'));
}

it('applies a change of a mounted ConfigMap', async () => {
  await mount('v1', 'olap.broker.query.page.size: 10\n');
  await symlink('..data/settings.yaml', join(folder, 'settings.yaml'));
  await start(join(folder, 'settings.yaml'));
  expect(pageSize()).toBe(10);
  await mount('v2', 'olap.broker.query.page.size: 20\n');
  await until(() => expect(pageSize()).toBe(20));
  expect(changed).toEqual(['olap.broker.query.page.size']);
});

it('keeps the current properties while the file is invalid, reports that once, and recovers', async () => {
  const file = join(folder, 'settings.properties');
  await writeFile(file, 'olap.broker.query.page.size=10\n');
  await start(file);
  await writeFile(file, 'olap.broker.query.page.size=ten\nolap.broker.pagination.expiration=2h\n');
  await until(() => expect(refused).toHaveLength(1));
  expect(refused[0]?.message).toContain('`ten` is not an integer');
  const before = reads;
  await until(() => expect(reads).toBeGreaterThan(before + 2));
  expect(refused).toHaveLength(1);
  expect([pageSize(), live.get()['olap.broker.pagination.expiration']]).toEqual([10, 3_600_000]);
  await rm(file);
  await until(() => expect(refused).toHaveLength(2));
  await writeFile(file, 'olap.broker.query.page.size=30\n');
  await until(() => expect(pageSize()).toBe(30));
});

it('reports properties that need a restart and does not apply them', async () => {
  const file = join(folder, 'settings.yaml');
  await writeFile(file, '{}\n');
  await start(file);
  await writeFile(file, 'olap.broker.pagination.temp.dir: /elsewhere\n');
  await until(() => expect(restarts).toEqual(['olap.broker.pagination.temp.dir']));
  expect(live.get()).toHaveProperty(['olap.broker.pagination.temp.dir'], '/tmp/olap/query/broker');
});

it('gives flags precedence over the file after each change', async () => {
  const file = join(folder, 'settings.yaml');
  await writeFile(file, '{}\n');
  await start(file, ['--set', 'olap.broker.query.page.size=7']);
  await writeFile(file, 'olap.broker.query.page.size: 8\nolap.broker.pagination.expiration: 5m\n');
  await until(() => expect(live.get()['olap.broker.pagination.expiration']).toBe(300_000));
  expect(pageSize()).toBe(7);
});

it('tells that the file is rejected until its content is valid again, also if it is the content from before', async () => {
  const file = join(folder, 'settings.yaml');
  await writeFile(file, 'olap.broker.query.page.size: 8\n');
  await start(file);
  expect(live.isRejected).toBe(false);
  await writeFile(file, 'olap.broker.query.page.size: ten\n');
  await until(() => expect(live.isRejected).toBe(true));
  await writeFile(file, 'olap.broker.query.page.size: 8\n');
  await until(() => expect(live.isRejected).toBe(false));
});
