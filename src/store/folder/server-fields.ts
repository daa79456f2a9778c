import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ResourceByKind, ResourceKind } from '../../resources/kinds.ts';
import { without } from './manifest.ts';

/**
 * Adds the fields that a server sets: uid, versions, generation, time of creation, and the previous status.
 * @param set.time RFC 3339
 */
export function stamped<K extends ResourceKind>(
  desired: ResourceByKind[K],
  previous: ResourceByKind[K] | undefined,
  set: { readonly resourceVersion: string; readonly time: string },
): ResourceByKind[K] {
  const { metadata: before, status } = (previous ?? {}) as Partial<ResourceByKind[K]> & { status?: unknown };
  const sameSpec = previous !== undefined && isDeepStrictEqual(contentOf(desired), contentOf(previous));
  const metadata = {
    ...desired.metadata,
    uid: before?.uid ?? randomUUID(),
    resourceVersion: set.resourceVersion,
    generation: (before?.generation ?? 0) + (sameSpec ? 0 : 1),
    creationTimestamp: before?.creationTimestamp ?? set.time,
  };
  return { ...desired, metadata, ...(status === undefined ? {} : { status }) };
}

/** The part of an object whose changes increase `generation`. */
function contentOf(object: object): unknown {
  return without({ ...object }, ['metadata', 'status', 'apiVersion', 'kind']);
}
