import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KubernetesStore } from '../../../src/kubernetes/kubernetes-store.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { FolderStore } from '../../../src/store/folder/folder-store.ts';
import type { ResourceStore } from '../../../src/store/resource-store.ts';
import { sharedControlPlane } from '../../support/control-plane.ts';
import { walk, type World } from '../../support/walks/walk.ts';
import { within } from './gateways.ts';

const KINDS = ['RoleAssignment', 'Role', 'Policy', 'ServiceToken', 'Secret'] as const;
const SETTLE_MS = 10_000;

/** The same walks as in test/unit/access/walks.test.ts, fewer of them, on real stores. */
async function walks(stores: readonly ResourceStore[], count: number): Promise<string[]> {
  const world: World = { stores, settled: () => settled(stores) };
  for (let seed = 1; seed <= count; seed++) {
    for (const kind of KINDS) {
      for (const { metadata } of await stores[0]!.readAll(kind)) await deleted(stores[0]!, kind, metadata.name);
    }
    await settled(stores);
    const { violations } = await walk(world, seed);
    if (violations.length > 0) return [...violations];
  }
  return [];
}

async function deleted(store: ResourceStore, kind: (typeof KINDS)[number], name: string): Promise<void> {
  // The garbage collector may be faster with a token's Secret.
  await store.delete(kind, name).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 'not-found') throw error;
  });
}

/** Resolves when every gateway's view is what the store contains. */
async function settled(stores: readonly ResourceStore[]): Promise<void> {
  const versions = (objects: readonly { metadata: { name: string; resourceVersion?: string } }[]): string[] =>
    objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort();
  await within(SETTLE_MS, async () => {
    for (const kind of KINDS) {
      const current = versions(await stores[0]!.readAll(kind));
      for (const store of stores) expect(versions(store.list(kind))).toEqual(current);
    }
  });
}

describe('random changes by random administrators give nobody more', () => {
  describe('in a folder', () => {
    let folder: string;
    let store: FolderStore;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'olap-warden-walks-'));
      store = await FolderStore.open(folder, { debounceMs: 20 });
      await store.synced();
    });
    afterAll(async () => {
      await store.close();
      await rm(folder, { recursive: true });
    });

    it('with one gateway', { timeout: 300_000 }, async () => {
      expect(await walks([store], 40)).toEqual([]);
    });
  });

  describe('in a Kubernetes API', () => {
    const closers: (() => Promise<void>)[] = [];
    const stores: KubernetesStore[] = [];
    beforeAll(async () => {
      const plane = await sharedControlPlane();
      await plane.applyCrds();
      const namespace = await plane.createNamespace('walks');
      const load = (): KubeConfig => {
        const config = new KubeConfig();
        config.loadFromFile(plane.kubeconfigPath);
        return config;
      };
      for (let index = 0; index < 2; index++) {
        const transport = new KubernetesTransport(load, { namespace });
        const store = new KubernetesStore({ transport });
        await store.synced(AbortSignal.timeout(30_000));
        closers.push(async () => {
          await store.close();
          await transport.close();
        });
        stores.push(store);
      }
    });
    afterAll(async () => {
      for (const close of closers) await close();
    });

    it('with two gateways', { timeout: 300_000 }, async () => {
      expect(await walks(stores, 25)).toEqual([]);
    });
  });
});
