// @module-tag slow
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'vitest';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../../src/access/policy/predefined.ts';
import { FolderStore } from '../../../../src/store/folder/folder-store.ts';
import type { ResourceStore } from '../../../../src/store/resource-store.ts';
import { roleAssignment } from '../../../builders/resources.ts';
import { checkTokenRemoval } from '../../../support/token-removal.ts';
import { MemoryStore } from '../memory-store.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function folderStore(): Promise<ResourceStore> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-removal-'));
  ends.push(() => rm(folder, { recursive: true }));
  const store = await FolderStore.open(folder);
  ends.push(() => store.close());
  return store;
}

describe('the deletion of a service token that is interrupted after any of its writes', () => {
  it.each([
    ['memory', async () => new MemoryStore()],
    ['a folder', folderStore],
  ] as const)('gives the token no access, and can be repeated: %s', async (_name, open) => {
    const store = await open();
    for (const policy of PREDEFINED_POLICIES) await store.create('Policy', policy);
    for (const role of PREDEFINED_ROLES) await store.create('Role', role);
    const subjects = [{ type: 'group' as const, name: 'admins' }];
    await store.create('RoleAssignment', roleAssignment('administrators', { role: 'system-admin', subjects }));
    await checkTokenRemoval(store);
  });
});
