import type { ResourceByKind, ResourceKind } from '../resources/kinds.ts';
import { isNewer } from '../store/resource-version.ts';
import type { View } from '../store/view.ts';
import type { ReflectorSink } from './reflector.ts';

/**
 * Merges lists, watch events and the process's own writes of one kind into its view.
 *
 * A write of this process arrives twice, in the response and in the watch, in any order. Three rules keep the view from returning to an
 * older state:
 * - an object is only replaced by one with a newer resource version;
 * - an object that this process deleted is not added again (`#deleted`, by uid);
 * - a list replaces everything except objects written during the list (`#written`), which it may lack. A list is a consistent read: it
 *   contains all earlier writes, and it is right even where its versions are older than those in the view (etcd was restored from a backup).
 */
export class KindCache<K extends ResourceKind> implements ReflectorSink<ResourceByKind[K]> {
  readonly #view: View<K>;
  /** Names of objects written by this process and not yet confirmed by a watch event. */
  readonly #written = new Set<string>();
  /** Uids of objects deleted by this process whose DELETED event has not arrived. */
  readonly #deleted = new Set<string>();
  /** All changes up to this version have been seen; undefined before a list is complete. */
  #version: string | undefined;

  constructor(view: View<K>) {
    this.#view = view;
  }

  listStarted(): void {
    this.#written.clear();
    this.#deleted.clear();
    this.#version = undefined;
  }

  replace(objects: readonly ResourceByKind[K][], version: string): void {
    this.#version = version;
    const names = new Set(objects.map(({ metadata }) => metadata.name));
    for (const { metadata } of this.#view.list()) {
      const { name, resourceVersion } = metadata;
      if (names.has(name)) continue;
      if (this.#written.has(name) && isNewer(resourceVersion, version)) continue;
      this.#view.delete(name);
    }
    for (const object of objects) if (this.#isNewInView(object)) this.#view.set(object);
  }

  upsert(object: ResourceByKind[K]): void {
    const { name, uid, resourceVersion } = object.metadata;
    this.#advance(resourceVersion);
    if (uid !== undefined && this.#deleted.has(uid)) return;
    const stored = this.#view.get(name);
    if (stored !== undefined && !isNewer(resourceVersion, stored.metadata.resourceVersion)) {
      if (stored.metadata.resourceVersion === resourceVersion) this.#written.delete(name);
      return;
    }
    this.#written.delete(name);
    this.#view.set(object);
  }

  remove(object: ResourceByKind[K]): void {
    const { name, uid, resourceVersion } = object.metadata;
    this.#advance(resourceVersion);
    if (uid !== undefined) this.#deleted.delete(uid);
    const stored = this.#view.get(name);
    // A newer object with the same name has been created since this event.
    if (stored === undefined || isNewer(stored.metadata.resourceVersion, resourceVersion)) return;
    this.#written.delete(name);
    this.#view.delete(name, object);
  }

  bookmark(version: string): void {
    this.#advance(version);
  }

  /** The response to a create or an update of this process. */
  written(object: ResourceByKind[K]): void {
    const { name, uid, resourceVersion } = object.metadata;
    if (uid !== undefined && this.#deleted.has(uid)) return;
    // The watch is already past this change. Its later events, perhaps a deletion, are newer.
    if (this.#version !== undefined && !isNewer(resourceVersion, this.#version)) return;
    const stored = this.#view.get(name);
    if (stored !== undefined && !isNewer(resourceVersion, stored.metadata.resourceVersion)) return;
    this.#written.add(name);
    this.#view.set(object);
  }

  /** The response to a delete of this process: the object is deleted. */
  deleted(name: string, uid: string | undefined): void {
    const stored = this.#view.get(name);
    if (stored === undefined || (uid !== undefined && stored.metadata.uid !== uid)) return;
    if (stored.metadata.uid !== undefined) this.#deleted.add(stored.metadata.uid);
    this.#written.delete(name);
    this.#view.delete(name);
  }

  /** Whether a listed object is newer than the one in the view. */
  #isNewInView({ metadata: { name, uid, resourceVersion } }: ResourceByKind[K]): boolean {
    if (uid !== undefined && this.#deleted.has(uid)) return false;
    const stored = this.#view.get(name)?.metadata;
    if (stored === undefined) return true;
    if (stored.uid === uid && stored.resourceVersion === resourceVersion) return false;
    return !(this.#written.has(name) && isNewer(stored.resourceVersion, resourceVersion));
  }

  #advance(version: string | undefined): void {
    if (version !== undefined && this.#version !== undefined && isNewer(version, this.#version))
      this.#version = version;
  }
}
