import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { LOCAL_ADMINISTRATOR, recoverLocalAdministrator } from '../../../../src/app/parts/first-administrator.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { roleAssignment } from '../../../builders/resources.ts';
import { MemoryStore } from '../../access/memory-store.ts';

const never = new AbortController().signal;
const ops: Subject = { type: 'group', name: 'ops' };

describe('the recovery of the local administrator', () => {
  it('repeats a write that conflicts with one of the operator', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-recover-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const store = new MemoryStore();
    store.seed(roleAssignment('none', { role: 'denied', subjects: [LOCAL_ADMINISTRATOR, ops] }));
    vi.spyOn(store, 'update').mockRejectedValueOnce(new StoreError('conflict', 'the status was written'));
    await recoverLocalAdministrator(store, folder, never);
    expect(store.get('RoleAssignment', 'none')?.spec.subjects).toEqual([ops]);
    expect(store.get('RoleAssignment', 'local-administrator')?.spec.role).toBe('system-admin');
  });
});
