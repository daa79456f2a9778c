import { describe, expect, it } from 'vitest';
import { ContentVersions } from '../../../../src/access/manager/content-versions.ts';
import { PreconditionFailed } from '../../../../src/access/errors.ts';
import type { ObjectMeta } from '../../../../src/resources/meta.ts';
import type { Role } from '../../../../src/resources/kinds.ts';
import { Views } from '../../../../src/store/views.ts';
import { role, withMeta } from '../../../builders/resources.ts';

/** A role that was written at version 10, and whose status was written at 12 and 14. */
function setUp() {
  const views = new Views((error) => {
    throw error;
  });
  const versions = new ContentVersions(views);
  const write = (metadata: Partial<ObjectMeta>): void =>
    views.of('Role').set(withMeta<Role>({ uid: 'one', generation: 1, ...metadata })(role('r')));
  for (const resourceVersion of ['10', '12', '14']) write({ resourceVersion });
  const isAccepted = (version: string, metadata: Partial<ObjectMeta> = {}): boolean => {
    const current = withMeta<Role>({ uid: 'one', generation: 1, resourceVersion: '14', ...metadata })(role('r'));
    try {
      versions.require('Role', current, [version]);
      return true;
    } catch (error) {
      if (error instanceof PreconditionFailed) return false;
      throw error;
    }
  };
  return { write, isAccepted };
}

describe('the version that a caller has read', () => {
  it.each(['10', '11', '12', '13', '14'])('%s is accepted: only the status was written since', (version) => {
    expect(setUp().isAccepted(version)).toBe(true);
  });

  it.each([
    ['9', 'is older than the content'],
    ['15', 'does not exist yet'],
    ['012', 'is not written as the Kubernetes API writes it'],
    ['x', 'is no version'],
    ['', 'is no version'],
  ])('`%s` is rejected: it %s', (version) => {
    expect(setUp().isAccepted(version)).toBe(false);
  });

  it('is rejected after a change of the content', () => {
    const { write, isAccepted } = setUp();
    write({ generation: 2, resourceVersion: '16' });
    expect(isAccepted('14', { generation: 2, resourceVersion: '16' })).toBe(false);
    expect(isAccepted('16', { generation: 2, resourceVersion: '18' })).toBe(true);
  });

  it('is rejected where the store has newer content than the view', () => {
    expect(setUp().isAccepted('14', { generation: 2, resourceVersion: '16' })).toBe(false);
  });

  it('is rejected for another object of the same name', () => {
    expect(setUp().isAccepted('12', { uid: 'two' })).toBe(false);
  });
});
