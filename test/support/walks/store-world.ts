import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ResourceByKind, ResourceKind } from '../../../src/resources/kinds.ts';
import type { ResourceStore } from '../../../src/store/resource-store.ts';
import { isStoreError } from '../../../src/access/errors.ts';
import { objectsOf, type State } from './start.ts';
import { WAIT_LIMIT_MS } from '../limits.ts';

/** One store for each gateway of a deployment. */
export interface World {
  readonly stores: readonly ResourceStore[];
  /** Makes the store contain exactly these objects, and waits until every gateway sees that. */
  readonly begin: (state: State) => Promise<void>;
  /** Resolves when every gateway sees every write. @param kinds that may have changed since it was called last; default: all */
  readonly settled: (kinds?: Iterable<ResourceKind>) => Promise<void>;
}

type Kind = keyof ReturnType<typeof objectsOf>;
const KINDS: readonly Kind[] = ['RoleAssignment', 'Role', 'Policy', 'ServiceToken'];

/** A world over real stores, which is used for one walk after the other. */
export function storeWorld(stores: readonly ResourceStore[]): World {
  const [first] = stores;
  if (first === undefined) throw new Error('a world needs a store');
  /** By kind and name: the version that begin() wrote, of an object that is as it wants it. */
  const known = new Map<string, string | undefined>();
  return {
    stores,
    async settled(kinds = KINDS) {
      const changed = new Set(kinds);
      for (const kind of KINDS.filter((one) => changed.has(one))) {
        await seen(stores, kind, versions(await first.readAll(kind)));
      }
    },
    async begin(state) {
      for (const kind of KINDS) {
        await seen(stores, kind, versions(await makeExact(first, kind, objectsOf(state)[kind], known)));
      }
    },
  };
}

async function makeExact(
  store: ResourceStore,
  kind: Kind,
  wanted: readonly ResourceByKind[Kind][],
  known: Map<string, string | undefined>,
): Promise<readonly Versioned[]> {
  const exact: Versioned[] = [];
  const present = new Map((await store.readAll(kind)).map((object) => [object.metadata.name, object]));
  for (const object of wanted) {
    const { name } = object.metadata;
    const key = `${kind}/${name}`;
    const current = present.get(name);
    present.delete(name);
    const same = current !== undefined && isDeepStrictEqual(specOf(current), specOf(object));
    if (same && known.get(key) === current.metadata.resourceVersion) {
      exact.push(current);
      continue;
    }
    const resourceVersion = current?.metadata.resourceVersion;
    const written =
      resourceVersion === undefined
        ? await store.create(kind, object)
        : await store.update(kind, { ...object, metadata: { ...object.metadata, resourceVersion } });
    known.set(key, written.metadata.resourceVersion);
    exact.push(written);
  }
  for (const name of present.keys()) await removed(store, kind, name);
  return exact;
}

function specOf(object: object): unknown {
  return 'spec' in object ? object.spec : undefined;
}

async function removed(store: ResourceStore, kind: Kind, name: string): Promise<void> {
  // The garbage collector may be faster with a token's Secret.
  await store.delete(kind, name).catch((error: unknown) => {
    if (!isStoreError(error, 'not-found')) throw error;
  });
}

/** Resolves when every gateway's view has these versions. */
async function seen(stores: readonly ResourceStore[], kind: Kind, current: string): Promise<void> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  for (const store of stores) {
    while (versions(store.list(kind)) !== current) {
      if (Date.now() > deadline) throw new Error(`a gateway does not see what the store has of ${kind}`);
      await delay(1);
    }
  }
}

interface Versioned {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
}

function versions(objects: readonly Versioned[]): string {
  return objects
    .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
    .sort()
    .join('\n');
}
