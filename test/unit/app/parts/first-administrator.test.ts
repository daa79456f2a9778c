import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  ensureAdministrators,
  LOCAL_ADMINISTRATOR,
  recoverLocalAdministrator,
} from '../../../../src/app/parts/first-administrator.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { roleAssignment } from '../../../builders/resources.ts';
import { MemoryStore } from '../../access/memory-store.ts';

const never = new AbortController().signal;
const ops: Subject = { type: 'group', name: 'ops' };

describe('administrators by the setting', () => {
  it('lose the role without the setting, unless no other subject has it without an expiry', async () => {
    const store = new MemoryStore();
    const names = (): string[] => store.list('RoleAssignment').map(({ metadata }) => metadata.name);
    expect(await ensureAdministrators(store, [ops], never)).toBe('done');
    expect(await ensureAdministrators(store, [], never)).toBe('kept');
    const other = { role: 'system-admin', subjects: [{ ...ops, expiresAt: '2030-01-01T00:00:00Z' }] };
    store.seed(roleAssignment('expires', other), roleAssignment('other-role'));
    expect(await ensureAdministrators(store, [], never)).toBe('kept');
    store.seed(roleAssignment('stays', { role: 'system-admin' }));
    expect(await ensureAdministrators(store, [], never)).toBe('done');
    expect(names()).toEqual(['expires', 'other-role', 'stays']);
  });
});

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
