import { describe, expect, it } from 'vitest';
import { ensureAdministrators } from '../../../src/app/parts/first-administrator.ts';
import type { Subject } from '../../../src/resources/role-assignment.ts';
import { roleAssignment } from '../../builders/resources.ts';
import { MemoryStore } from '../access/memory-store.ts';

const never = new AbortController().signal;
const ops: Subject = { type: 'group', name: 'ops' };

describe('administrators by the setting', () => {
  it('lose the role without the setting, unless no other subject has it for ever', async () => {
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
