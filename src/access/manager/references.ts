import { errorMessage } from '../../platform/plain-error.ts';
import type { Policy, ResourceByKind, Role } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import { StoreError } from '../../store/resource-store.ts';
import { isStoreError, type ManagerError } from '../errors.ts';
import type { IfMatch } from './content-versions.ts';
import { exactly, keepsChanging, notFound, type ResourceEditor } from './editor.ts';

/** Kinds that others refer to by name: assignments to roles, roles to policies. */
export type ReferenceTarget = 'Role' | 'Policy';

/**
 * Deletes a target unless something refers to it. Together with confirmTarget() this keeps a deletion and a new reference from both succeeding,
 * with several gateways and without transactions. The store only guarantees that reads are current, and that a write with a version fails when the
 * object has another one.
 *
 * The deleter marks the target by an annotation, then reads all references from the store, then deletes exactly the version that had the mark
 * before that read. The referrer writes its reference, then reads the target from the store: no mark, it is done; a mark, it removes it; no
 * target, it undoes its reference.
 *
 * Suppose both succeed: the deleter's read R of references has not seen the reference, so it was written after R. The referrer's read of the target
 * is later still, and the target was marked from before R until its deletion. So the referrer has seen the mark or no target. In the first case it
 * has removed the mark, which gives the target another version, so that the deletion fails and starts again, and its next read sees the reference.
 * In the second case it has undone its reference. Either contradicts the assumption.
 *
 * - Several deleters: each deletes only the version that it knows; the first one wins, for the others the target no longer exists.
 * - Several referrers with one reference: each checks the target by itself before it answers, and undoes only what names a missing target.
 * - A deleter ends after its mark: the mark has no effect on access. The next referrer or deleter replaces it, or the operator removes it.
 * - A referrer ends between its write and its read of the target: it has not answered. If the target was deleted in that moment, the reference
 *   remains, as one that kubectl leaves: it grants nothing and is shown as not ready. A role is not created through REST while such a reference
 *   to its name exists.
 *
 * @param holder reads the references from the store; returns the first one for the message
 * @throws {StoreError} not-found; conflict while there is a reference, or after too many conflicts
 * @throws {PreconditionFailed}
 */
export function removeUnreferenced(
  editor: ResourceEditor,
  kind: ReferenceTarget,
  name: string,
  options: { readonly holder: () => Promise<ManagerError | undefined>; readonly ifMatch: IfMatch | undefined },
): Promise<void> {
  return editor.inTurn(kind, name, () =>
    editor.retryConflicts(keepsChanging(kind, name), async () => {
      const current: Role | Policy | undefined = await editor.store.read(kind, name);
      if (current === undefined) throw notFound(kind, name);
      editor.versions.require(kind, current, options.ifMatch);
      const marked = isMarked(current) ? current : await editor.store.update(kind, withMark(current, editor.now()));
      const referenced = await options.holder();
      if (referenced !== undefined) {
        await unmark(editor, kind, marked);
        throw referenced;
      }
      await editor.store.delete(kind, name, exactly(marked));
    }),
  );
}

/**
 * Whether the target of a reference that was just written exists. Cancels a deletion that has begun. See removeUnreferenced().
 * @param uid of the target that the caller meant; another object of that name counts as missing
 */
export function confirmTarget(
  editor: ResourceEditor,
  kind: ReferenceTarget,
  name: string,
  uid: string | undefined,
): Promise<boolean> {
  return editor.retryConflicts(keepsChanging(kind, name), async () => {
    const current: Role | Policy | undefined = await editor.store.read(kind, name);
    if (current === undefined || current.metadata.uid !== uid) return false;
    if (current.metadata.deletionTimestamp !== undefined) return false;
    if (isMarked(current)) await removeMark(editor, kind, current);
    return true;
  });
}

function isMarked({ metadata }: Role | Policy): boolean {
  return metadata.annotations?.[ANNOTATIONS.deleting] !== undefined;
}

function withMark<T extends Role | Policy>(object: T, now: number): T {
  const annotations = { ...object.metadata.annotations, [ANNOTATIONS.deleting]: new Date(now).toISOString() };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** The object without the mark of a deletion. */
export function withoutMark<T extends Role | Policy>(object: T): T {
  const annotations = { ...object.metadata.annotations };
  delete annotations[ANNOTATIONS.deleting];
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** @throws {StoreError} conflict; a target that no longer exists counts as changed, so that the caller looks again */
async function removeMark(
  editor: ResourceEditor,
  kind: ReferenceTarget,
  object: ResourceByKind[ReferenceTarget],
): Promise<void> {
  try {
    await editor.store.update(kind, withoutMark(object));
  } catch (error) {
    if (!isStoreError(error, 'not-found')) throw error;
    throw new StoreError('conflict', errorMessage(error));
  }
}

/** Removes the mark of a cancelled deletion. If another writer has changed the object, the operator removes the mark. */
async function unmark(
  editor: ResourceEditor,
  kind: ReferenceTarget,
  object: ResourceByKind[ReferenceTarget],
): Promise<void> {
  try {
    await editor.store.update(kind, withoutMark(object));
  } catch (error) {
    if (!isStoreError(error, 'conflict') && !isStoreError(error, 'not-found')) throw error;
  }
}
