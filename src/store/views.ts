import { CUSTOM_KINDS, type ResourceByKind, type ResourceKind } from '../resources/kinds.ts';
import type { StoreEvent } from './resource-store.ts';
import { View } from './view.ts';

/** All kinds in a store. */
export const STORED_KINDS: readonly ResourceKind[] = [...CUSTOM_KINDS, 'Secret'];

/** One view per kind: the read side of a store. */
export class Views {
  readonly #views: { readonly [K in ResourceKind]: View<K> };

  /** @param onListenerError called when a subscriber throws */
  constructor(onListenerError: (error: unknown, kind: ResourceKind) => void) {
    this.#views = {
      Policy: new View('Policy', onListenerError),
      Role: new View('Role', onListenerError),
      RoleAssignment: new View('RoleAssignment', onListenerError),
      ServiceToken: new View('ServiceToken', onListenerError),
      ClusterHealthReport: new View('ClusterHealthReport', onListenerError),
      Secret: new View('Secret', onListenerError),
    };
  }

  of<K extends ResourceKind>(kind: K): View<K> {
    return this.#views[kind];
  }

  get<K extends ResourceKind>(kind: K, name: string): ResourceByKind[K] | undefined {
    return this.of(kind).get(name);
  }

  list<K extends ResourceKind>(kind: K): readonly ResourceByKind[K][] {
    return this.of(kind).list();
  }

  subscribe<K extends ResourceKind>(kind: K, listener: (event: StoreEvent<K>) => void): () => void {
    return this.of(kind).subscribe(listener);
  }

  close(): void {
    for (const kind of STORED_KINDS) this.of(kind).close();
  }
}
