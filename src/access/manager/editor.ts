import { setTimeout as sleepFor } from 'node:timers/promises';
import type { CustomKind, ResourceByKind } from '../../resources/kinds.ts';
import { ANNOTATIONS, LABELS, NAME_MAX_LENGTH, NAME_PATTERN, type ObjectMeta } from '../../resources/meta.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import type { Principal } from '../principal.ts';
import { isStoreError, ManagerError } from '../errors.ts';

/** An edit fails after this many conflicts; with the pauses below that is about three seconds. */
const MAX_ATTEMPTS = 14;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 400;

export interface EditorOptions {
  readonly store: ResourceStore;
  readonly now: () => Date;
  /** Uniformly distributed, from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

type Editable = Exclude<CustomKind, 'ClusterHealthReport'>;

/** Writes objects for REST callers: sets author and time, and retries after conflicts where that is safe. */
export class ResourceEditor {
  readonly store: ResourceStore;
  readonly now: () => Date;
  readonly #random: () => number;
  readonly #sleep: (ms: number) => Promise<unknown>;
  /** Serializes edits of one object in this process, because concurrent ones would only conflict. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(options: EditorOptions) {
    this.store = options.store;
    this.now = options.now;
    this.#random = options.random;
    this.#sleep = options.sleep ?? ((ms) => sleepFor(ms));
  }

  /** Metadata of a new object by `author`. */
  newMetadata(name: string, author: Principal): ObjectMeta {
    return {
      name,
      labels: { [LABELS.managedBy]: 'olap-warden' },
      annotations: {
        [ANNOTATIONS.createdBy]: author.srn,
        [ANNOTATIONS.lastUpdatedBy]: author.srn,
        [ANNOTATIONS.lastUpdatedAt]: this.now().toISOString(),
      },
    };
  }

  /**
   * Reads, changes and writes one object.
   *
   * An edit that adds to or removes from a set has the same result in any order, so it is retried after each conflict. An edit that replaces
   * is only retried while the spec is unchanged (a changed status does not matter).
   *
   * @param change returns the new spec; the same object if nothing changes
   * @param options.replaces the object that the caller's change was based on; `nothing` for an edit of a set
   * @throws {StoreError} not-found; conflict if the spec changed meanwhile, or after too many conflicts
   */
  edit<K extends Editable>(
    kind: K,
    name: string,
    author: Principal,
    change: (spec: ResourceByKind[K]['spec']) => ResourceByKind[K]['spec'],
    options: { readonly replaces: ResourceByKind[K] | 'nothing' },
  ): Promise<ResourceByKind[K]> {
    const { replaces } = options;
    return this.#inTurn(`${kind}/${name}`, async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const current = this.mustGet(kind, name);
        if (replaces !== 'nothing' && !sameSpec(replaces, current)) break;
        const spec = change(current.spec);
        if (spec === current.spec) return current;
        try {
          return await this.store.update(kind, this.#stamped({ ...current, spec }, author));
        } catch (error) {
          if (!isStoreError(error, 'conflict')) throw error;
        }
        await this.pause(attempt);
      }
      throw new ManagerError(
        'conflict',
        `${label(kind)} \`${name}\` was changed by somebody else meanwhile: read it again and repeat the change`,
      );
    });
  }

  /**
   * Deletes an object if it is unchanged since `check` accepted it; `check` throws to reject.
   * @throws {StoreError} not-found, conflict
   */
  remove<K extends Editable>(kind: K, name: string, check: (object: ResourceByKind[K]) => void): Promise<void> {
    return this.#inTurn(`${kind}/${name}`, async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const current = this.mustGet(kind, name);
        check(current);
        const { uid, resourceVersion } = current.metadata;
        try {
          await this.store.delete(kind, name, {
            ...(uid === undefined ? {} : { uid }),
            ...(resourceVersion === undefined ? {} : { resourceVersion }),
          });
          return;
        } catch (error) {
          if (!isStoreError(error, 'conflict')) throw error;
        }
        await this.pause(attempt);
      }
      throw new ManagerError('conflict', `${label(kind)} \`${name}\` keeps changing: try again`);
    });
  }

  /** @throws {StoreError} not-found */
  mustGet<K extends Editable>(kind: K, name: string): ResourceByKind[K] {
    const object = this.store.get(kind, name);
    if (!object) throw new ManagerError('not-found', `there is no ${label(kind)} \`${name}\``);
    return object;
  }

  /** Waits a random time with a growing upper bound, so that conflicting edits do not conflict again. */
  async pause(attempt: number): Promise<void> {
    await this.#sleep(1 + this.#random() * Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS));
  }

  #stamped<T extends { readonly metadata: Readonly<ObjectMeta> }>(object: T, author: Principal): T {
    const annotations = {
      ...object.metadata.annotations,
      [ANNOTATIONS.lastUpdatedBy]: author.srn,
      [ANNOTATIONS.lastUpdatedAt]: this.now().toISOString(),
    };
    return { ...object, metadata: { ...object.metadata, annotations } };
  }

  async #inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(key);
    const turn = before ? before.then(work, work) : work();
    this.#queues.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#queues.get(key) === turn) this.#queues.delete(key);
    }
  }
}

const LABEL_BY_KIND: Readonly<Record<Editable, string>> = {
  Policy: 'policy',
  Role: 'role',
  RoleAssignment: 'role assignment',
  ServiceToken: 'service token',
};

export function label(kind: Editable): string {
  return LABEL_BY_KIND[kind];
}

function sameSpec(a: { readonly spec: unknown }, b: { readonly spec: unknown }): boolean {
  return a.spec === b.spec || JSON.stringify(a.spec) === JSON.stringify(b.spec);
}

const NAME = new RegExp(NAME_PATTERN);

/** @throws {ManagerError} invalid, with a suggested name */
export function requireName(name: string): void {
  if (name.length <= NAME_MAX_LENGTH && NAME.test(name)) return;
  const proposal = proposeName(name);
  throw new ManagerError(
    'invalid',
    `\`name\`: \`${name.slice(0, 80)}\` is not allowed: a name is at most ${NAME_MAX_LENGTH} lower-case letters, digits, \`-\` and \`.\`, and begins and ends with a letter or digit; \`${proposal}\` would do`,
  );
}

/** The most similar valid Kubernetes name: `Data Engineers` → `data-engineers`. */
export function proposeName(name: string): string {
  const plain = name
    .slice(0, 4 * NAME_MAX_LENGTH)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase();
  const parts = plain.split('.').map((part) => trimDashes(part.replaceAll(/[^a-z0-9]+/g, '-')));
  const joined = parts.filter((part) => part !== '').join('.');
  return joined.slice(0, NAME_MAX_LENGTH).replace(/[-.]+$/, '') || 'data-engineers';
}

function trimDashes(text: string): string {
  return text.replace(/^-/, '').replace(/-$/, '');
}
