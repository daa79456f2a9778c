import { errorMessage } from '../../platform/plain-error.ts';
import type { Policy, Role } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import { StoreError } from '../../store/resource-store.ts';
import { isStoreError } from '../errors.ts';
import type { AccessState } from './administrator-reach.ts';
import type { ResourceEditor } from './editor.ts';

/** Marks of writes that are being checked: see DenyGuard. */
export type Markable = Policy | Role;

/** Whether a write of the object is being checked. */
export function isMarked({ metadata }: Markable): boolean {
  return metadata.annotations?.[ANNOTATIONS.checkingDeny] !== undefined;
}

/** @param mark undefined to remove it */
export function withMark<T extends Markable>(object: T, mark: string | undefined): T {
  const { [ANNOTATIONS.checkingDeny]: _old, ...others } = object.metadata.annotations ?? {};
  const annotations = mark === undefined ? others : { ...others, [ANNOTATIONS.checkingDeny]: mark };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/**
 * Removes the marks of other writes, which then start again.
 * @param options.policy only of those that are about this policy
 * @throws {StoreError} conflict, if the marked object has changed
 */
export async function removeMarks(
  { store }: Pick<ResourceEditor, 'store'>,
  state: AccessState,
  options: { readonly except?: string; readonly policy?: string | undefined },
): Promise<void> {
  const { except, policy } = options;
  for (const object of [...state.policies, ...state.roles]) {
    const mark = object.metadata.annotations?.[ANNOTATIONS.checkingDeny];
    if (mark === undefined || `${object.kind} ${object.metadata.name}` === except) continue;
    if (policy !== undefined && !mark.startsWith(`${policy} `)) continue;
    try {
      await store.update(object.kind, withMark(object, undefined));
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
      throw new StoreError('conflict', errorMessage(error));
    }
  }
}

/** Removes the own mark of a write that is refused. A mark that stays has no effect on access. */
export async function unmark({ store }: Pick<ResourceEditor, 'store'>, object: Markable): Promise<void> {
  try {
    await store.update(object.kind, withMark(object, undefined));
  } catch (error) {
    if (!isStoreError(error, 'conflict') && !isStoreError(error, 'not-found')) throw error;
  }
}
