import type { ResourceByKind, ResourceKind } from '../../resources/kinds.ts';
import { isNewer } from '../resource-version.ts';
import type { View } from '../view.ts';
import type { ReflectorSink } from './reflector.ts';

/**
 * Brings what lists, watches and this process's own writes say about one kind into one order.
 *
 * The same change reaches us twice, by the answer to a write and by the watch, and either may be first. Three rules keep the view from
 * going back in time:
 * - an object is replaced only by a newer resource version;
 * - what this process deleted does not come back (`#deleted`, by uid);
 * - a list replaces everything, except what was written while it ran (`#written`), for it may not hold that yet. A list is a consistent
 *   read, so it does hold all that was written before, and it is right even where its versions are older than ours: etcd was then
 *   restored from a backup.
 */
export class KindCache<K extends ResourceKind> implements ReflectorSink<ResourceByKind[K]> {
  readonly #view: View<K>;
  /** Names whose view comes from a write that no watch event has confirmed. */
  readonly #written = new Set<string>();
  /** Uids of objects that this process deleted and whose DELETED event has not come. */
  readonly #deleted = new Set<string>();
  /** Every change up to this version has been seen; undefined before a list is whole. */
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
    for (const object of objects) if (this.#isNews(object)) this.#view.set(object);
  }

  upsert(object: ResourceByKind[K]): void {
    const { name, uid, resourceVersion } = object.metadata;
    this.#advance(resourceVersion);
    if (uid !== undefined && this.#deleted.has(uid)) return;
    const held = this.#view.get(name);
    if (held !== undefined && !isNewer(resourceVersion, held.metadata.resourceVersion)) {
      if (held.metadata.resourceVersion === resourceVersion) this.#written.delete(name);
      return;
    }
    this.#written.delete(name);
    this.#view.set(object);
  }

  remove(object: ResourceByKind[K]): void {
    const { name, uid, resourceVersion } = object.metadata;
    this.#advance(resourceVersion);
    if (uid !== undefined) this.#deleted.delete(uid);
    const held = this.#view.get(name);
    // Another object of that name, newer than the one this event is about, was made meanwhile.
    if (held === undefined || isNewer(held.metadata.resourceVersion, resourceVersion)) return;
    this.#written.delete(name);
    this.#view.delete(name, object);
  }

  bookmark(version: string): void {
    this.#advance(version);
  }

  /** The answer to a create or an update of this process. */
  written(object: ResourceByKind[K]): void {
    const { name, uid, resourceVersion } = object.metadata;
    if (uid !== undefined && this.#deleted.has(uid)) return;
    // The watch has passed this change already: what it said since then, perhaps a deletion, is newer.
    if (this.#version !== undefined && !isNewer(resourceVersion, this.#version)) return;
    const held = this.#view.get(name);
    if (held !== undefined && !isNewer(resourceVersion, held.metadata.resourceVersion)) return;
    this.#written.add(name);
    this.#view.set(object);
  }

  /** The answer to a delete of this process: the object is gone. */
  deleted(name: string, uid: string | undefined): void {
    const held = this.#view.get(name);
    if (held === undefined || (uid !== undefined && held.metadata.uid !== uid)) return;
    if (held.metadata.uid !== undefined) this.#deleted.add(held.metadata.uid);
    this.#written.delete(name);
    this.#view.delete(name);
  }

  /** Whether a listed object says something that the view does not hold yet. */
  #isNews({ metadata: { name, uid, resourceVersion } }: ResourceByKind[K]): boolean {
    if (uid !== undefined && this.#deleted.has(uid)) return false;
    const held = this.#view.get(name)?.metadata;
    if (held === undefined) return true;
    if (held.uid === uid && held.resourceVersion === resourceVersion) return false;
    return !(this.#written.has(name) && isNewer(held.resourceVersion, resourceVersion));
  }

  #advance(version: string | undefined): void {
    if (version !== undefined && this.#version !== undefined && isNewer(version, this.#version))
      this.#version = version;
  }
}
