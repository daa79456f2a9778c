import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../../src/platform/clock.ts';
import { observeSpace } from '../../../../src/results/metrics.ts';
import type { StoreSpace } from '../../../../src/results/result-store.ts';
import { FileStore } from '../../../../src/results/stores/file/file-store.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { until } from '../../../support/until.ts';

// How much space an operator sees for results.

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-space-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function exported(space: () => StoreSpace | undefined): Promise<Record<string, number>> {
  const registry = new Registry();
  observeSpace(registry, space);
  const text = await registry.metrics();
  const found = text.matchAll(/^olap_warden_pagination_store_(\w+)_bytes (\d+)$/gm);
  return Object.fromEntries([...found].map(([, name, value]) => [name, Number(value)]));
}

it('is that of the disk of the file store, as soon as it is known', async () => {
  const tempDir = join(folder, 'temp');
  const options = { dataDir: folder, tempDir, tag: 'a', clock: systemClock, onProblem: () => undefined };
  const store = new FileStore(options);
  await until('the space is read', () => store.space() !== undefined);
  const { bsize, blocks } = await statfs(folder);
  const { capacity, free } = await exported(() => store.space());
  expect(capacity).toBe(bsize * blocks);
  expect(free).toBeGreaterThan(0);
  expect(free).toBeLessThanOrEqual(bsize * blocks);
});

it('is that of the memory store', async () => {
  const store = new MemoryStore({ maxBytes: 1_000 });
  const writer = await store.begin();
  await writer.write(Buffer.alloc(300));
  expect(await exported(() => store.space())).toEqual({ capacity: 1_000, free: 700 });
  await writer.discard();
});

it('has no value for a bucket, and for a disk that cannot be read', async () => {
  expect(await exported(() => undefined)).toEqual({});
  const gone = join(folder, 'gone');
  const store = new FileStore({
    dataDir: gone,
    tempDir: gone,
    tag: 'a',
    clock: systemClock,
    onProblem: () => undefined,
  });
  expect(await exported(() => store.space())).toEqual({});
});
