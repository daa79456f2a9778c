import type { ResourceByKind, ResourceKind } from '../resources/kinds.ts';
import type { StoreEvent } from './resource-store.ts';

type ViewListener<K extends ResourceKind> = (event: StoreEvent<K>) => void;

/** The objects of one kind in a store, by name, with the listeners for changes. */
export class View<K extends ResourceKind> {
  readonly kind: K;
  readonly #onListenerError: (error: unknown, kind: ResourceKind) => void;
  readonly #objects = new Map<string, ResourceByKind[K]>();
  readonly #listeners = new Set<ViewListener<K>>();
  /** The objects sorted by name; cached until the next change, because lists are far more frequent than changes. */
  #sorted: readonly ResourceByKind[K][] | undefined;
  /** Sorted names, so that a change does not need a sort. */
  #names: string[] = [];

  constructor(kind: K, onListenerError: (error: unknown, kind: ResourceKind) => void) {
    this.kind = kind;
    this.#onListenerError = onListenerError;
  }

  get(name: string): ResourceByKind[K] | undefined {
    return this.#objects.get(name);
  }

  list(): readonly ResourceByKind[K][] {
    this.#sorted ??= this.#names.map((name) => this.#objects.get(name)).filter((object) => object !== undefined);
    return this.#sorted;
  }

  subscribe(listener: ViewListener<K>): () => void {
    for (const object of this.list()) this.#call(listener, { type: 'added', kind: this.kind, object });
    // A wrapper, so that one function can subscribe twice.
    const entry: ViewListener<K> = (event) => this.#call(listener, event);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  set(object: ResourceByKind[K]): void {
    const { name } = object.metadata;
    const previous = this.#objects.get(name);
    this.#objects.set(name, object);
    this.#sorted = undefined;
    if (previous === undefined) this.#names.splice(this.#position(name), 0, name);
    this.#emit(
      previous === undefined
        ? { type: 'added', kind: this.kind, object }
        : { type: 'modified', kind: this.kind, object, previous },
    );
  }

  /** @param last the last state, where it is newer than the one in the view */
  delete(name: string, last?: ResourceByKind[K]): void {
    const previous = this.#objects.get(name);
    if (previous === undefined) return;
    this.#objects.delete(name);
    this.#names.splice(this.#position(name), 1);
    this.#sorted = undefined;
    this.#emit({ type: 'deleted', kind: this.kind, object: last ?? previous, previous });
  }

  /** Removes all listeners. Objects can still be read. */
  close(): void {
    this.#listeners.clear();
  }

  #emit(event: StoreEvent<K>): void {
    // A copy: a listener added during this loop has already received the new state.
    const listeners = [...this.#listeners];
    for (const listener of listeners) if (this.#listeners.has(listener)) listener(event);
  }

  #call(listener: ViewListener<K>, event: StoreEvent<K>): void {
    try {
      listener(event);
    } catch (error) {
      this.#onListenerError(error, this.kind);
    }
  }

  /** Index of `name` in the sorted names, or where it would be inserted. */
  #position(name: string): number {
    let low = 0;
    let high = this.#names.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(this.#names[middle] ?? '', name) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Compares by code unit, independent of the locale. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
