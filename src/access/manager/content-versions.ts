import { isNewer } from '../../store/resource-version.ts';
import type { ResourceByKind } from '../../resources/kinds.ts';
import type { ObjectMeta } from '../../resources/meta.ts';
import type { ResourceStore, StoreEvent } from '../../store/resource-store.ts';
import { PreconditionFailed } from '../errors.ts';
import { readRight } from '../readable-text.ts';

/** Resource versions of which the object must have one; `*` for any. */
export type IfMatch = '*' | readonly string[];

const VERSIONED = ['Role', 'Policy', 'ServiceToken'] as const;
type VersionedKind = (typeof VERSIONED)[number];

interface Epoch {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  /** The first resource version with the current content. */
  readonly from: string;
}

/**
 * Compares the versions that callers have read with the current one.
 *
 * Each write changes `metadata.resourceVersion`, also one of the status, which the operator writes a moment after each change. An editor would
 * then never succeed with the version that it got from its last write. So every version with the current content matches: those since the last
 * change of `metadata.generation`, as far as this process has seen them.
 */
export class ContentVersions {
  /** By kind and name: one entry for each object in the store's view. */
  readonly #epochs = new Map<string, Epoch>();

  constructor(store: Pick<ResourceStore, 'subscribe'>) {
    for (const kind of VERSIONED) store.subscribe(kind, (event) => this.#follow(event));
  }

  /** @throws {PreconditionFailed} with the current version */
  require(
    kind: VersionedKind | 'RoleAssignment',
    { metadata }: { readonly metadata: Readonly<ObjectMeta> },
    ifMatch: IfMatch | undefined,
  ): void {
    // Only all assignments of a role together have a version for callers, see AssignmentSet.
    if (ifMatch === undefined || ifMatch === '*' || kind === 'RoleAssignment') return;
    const { name, resourceVersion = '' } = metadata;
    if (ifMatch.some((version) => this.#isCurrent(kind, metadata, version))) return;
    throw new PreconditionFailed(`\`${name}\``, resourceVersion, readRight(kind, name));
  }

  #isCurrent(kind: string, { name, uid, generation, resourceVersion }: Readonly<ObjectMeta>, version: string): boolean {
    if (version === resourceVersion) return true;
    const epoch = this.#epochs.get(`${kind}/${name}`);
    if (epoch === undefined || epoch.uid !== uid || !/^[1-9][0-9]{0,30}$/.test(version)) return false;
    // The object may have been read from the store and be newer than the local view, on which the epochs are based.
    if (generation === undefined || generation !== epoch.generation) return false;
    return !isNewer(epoch.from, version) && isNewer(resourceVersion, version);
  }

  #follow({ type, kind, object, previous }: StoreEvent<VersionedKind>): void {
    const { name, uid, resourceVersion = '', generation } = object.metadata;
    const key = `${kind}/${name}`;
    if (type === 'deleted') {
      this.#epochs.delete(key);
      return;
    }
    const same = generation !== undefined && isSame(object, previous);
    if (!same || !this.#epochs.has(key)) this.#epochs.set(key, { uid, generation, from: resourceVersion });
  }
}

function isSame(object: ResourceByKind[VersionedKind], previous: ResourceByKind[VersionedKind] | undefined): boolean {
  return previous?.metadata.uid === object.metadata.uid && previous?.metadata.generation === object.metadata.generation;
}
