import type { CustomKind, ResourceByKind } from '../../resources/kinds.ts';
import { ANNOTATIONS, LABELS, NAME_MAX_LENGTH, NAME_PATTERN, type ObjectMeta } from '../../resources/meta.ts';
import type { BackoffOptions } from '../../platform/backoff.ts';
import type { Clock } from '../../platform/clock.ts';
import { retry } from '../../platform/retry.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import type { Principal } from '../principal.ts';
import { isStoreError, ManagerError } from '../errors.ts';
import { ContentVersions, type IfMatch } from './content-versions.ts';

/** A write fails after this many conflicts; with the delays below that is about three seconds. */
const MAX_ATTEMPTS = 14;
/** Random delays, so that conflicting writes do not conflict again. */
const CONFLICT_BACKOFF: BackoffOptions = { minMs: 1, baseMs: 5, maxMs: 400 };

export interface EditorOptions {
  readonly store: ResourceStore;
  readonly clock: Pick<Clock, 'now' | 'random' | 'schedule'>;
}

export type Editable = Exclude<CustomKind, 'ClusterHealthReport'>;

/** Writes objects for REST callers: sets author and time, and retries after conflicts where that is safe. */
export class ResourceEditor {
  readonly store: ResourceStore;
  readonly versions: ContentVersions;
  readonly #clock: EditorOptions['clock'];
  /** Serializes edits of one object in this process, because concurrent ones would only conflict. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor({ store, clock }: EditorOptions) {
    this.store = store;
    this.versions = new ContentVersions(store);
    this.#clock = clock;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#clock.now();
  }

  /** Metadata of a new object by `author`. */
  newMetadata(name: string, author: Principal): ObjectMeta {
    return {
      name,
      labels: { [LABELS.managedBy]: 'olap-warden' },
      annotations: {
        [ANNOTATIONS.createdBy]: author.srn,
        [ANNOTATIONS.lastUpdatedBy]: author.srn,
        [ANNOTATIONS.lastUpdatedAt]: new Date(this.now()).toISOString(),
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
   * @param options.ifMatch versions that the object must have
   * @param options.fresh reads the store first and not the local view, in which a change may look as if it were made already
   * @throws {StoreError} not-found; conflict if the spec changed meanwhile, or after too many conflicts
   * @throws {PreconditionFailed} the object has another version than `ifMatch`
   */
  edit<K extends Editable>(
    kind: K,
    name: string,
    author: Principal,
    change: (spec: ResourceByKind[K]['spec']) => ResourceByKind[K]['spec'],
    options: {
      readonly replaces: ResourceByKind[K] | 'nothing';
      readonly ifMatch?: IfMatch | undefined;
      readonly fresh?: boolean;
    },
  ): Promise<ResourceByKind[K]> {
    return this.inTurn(kind, name, () =>
      this.retryConflicts(wasChanged(kind, name), async (attempt) => {
        const current = await this.#current(kind, name, options.fresh === true ? Infinity : attempt);
        this.versions.require(kind, current, options.ifMatch);
        const spec = change(current.spec);
        // Another writer has made the same change, or none is needed.
        if (spec === current.spec) return current;
        const { replaces } = options;
        if (replaces !== 'nothing' && !sameSpec(replaces, current)) throw wasChanged(kind, name);
        return this.store.update(kind, this.stamped({ ...current, spec }, author));
      }),
    );
  }

  /**
   * Deletes an object if it is unchanged since `check` accepted it; `check` throws to reject.
   * @throws {StoreError} not-found, conflict
   * @throws {PreconditionFailed} the object has another version than `ifMatch`
   */
  remove<K extends Editable>(
    kind: K,
    name: string,
    check: (object: ResourceByKind[K]) => void,
    ifMatch?: IfMatch,
  ): Promise<void> {
    return this.inTurn(kind, name, () =>
      this.retryConflicts(keepsChanging(kind, name), async (attempt) => {
        const current = await this.#current(kind, name, attempt);
        this.versions.require(kind, current, ifMatch);
        check(current);
        await this.store.delete(kind, name, exactly(current));
      }),
    );
  }

  /** @throws {StoreError} not-found */
  mustGet<K extends Editable>(kind: K, name: string): ResourceByKind[K] {
    const object = this.store.get(kind, name);
    if (!object) throw notFound(kind, name);
    return object;
  }

  /**
   * Repeats `work` after a conflict of the store, with random growing delays. A ManagerError is final.
   * @param error thrown after the last attempt
   */
  async retryConflicts<T>(error: ManagerError, work: (attempt: number) => Promise<T>): Promise<T> {
    const isConflict = (thrown: unknown): boolean =>
      isStoreError(thrown, 'conflict') && !(thrown instanceof ManagerError);
    try {
      return await retry(work, {
        attempts: MAX_ATTEMPTS,
        backoff: CONFLICT_BACKOFF,
        clock: this.#clock,
        retryAfterMs: (thrown) => (isConflict(thrown) ? 0 : undefined),
      });
    } catch (thrown) {
      throw isConflict(thrown) ? error : thrown;
    }
  }

  /** Runs `work` after all other work of this process on the object. */
  async inTurn<T>(kind: Editable, name: string, work: () => Promise<T>): Promise<T> {
    const key = `${kind}/${name}`;
    const before = this.#queues.get(key);
    const turn = before ? before.then(work, work) : work();
    this.#queues.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#queues.get(key) === turn) this.#queues.delete(key);
    }
  }

  /** The object in the local view, or else in the store: another gateway may have created it just now. @throws {StoreError} not-found */
  find<K extends Editable>(kind: K, name: string): Promise<ResourceByKind[K]> {
    return this.#current(kind, name, 1);
  }

  /** The object in the local view; after a conflict, or where the view lacks it, that of the store. @throws {StoreError} not-found */
  async #current<K extends Editable>(kind: K, name: string, attempt: number): Promise<ResourceByKind[K]> {
    const known = attempt === 1 ? this.store.get(kind, name) : undefined;
    const current = known ?? (await this.store.read(kind, name));
    if (current === undefined) throw notFound(kind, name);
    return current;
  }

  /** With the author and the time of a change. */
  stamped<T extends { readonly metadata: Readonly<ObjectMeta> }>(object: T, author: Principal): T {
    const annotations = {
      ...object.metadata.annotations,
      [ANNOTATIONS.lastUpdatedBy]: author.srn,
      [ANNOTATIONS.lastUpdatedAt]: new Date(this.now()).toISOString(),
    };
    return { ...object, metadata: { ...object.metadata, annotations } };
  }
}

/** Preconditions of a delete: this very version of the object. */
export function exactly({ metadata }: { readonly metadata: Readonly<ObjectMeta> }): {
  uid?: string;
  resourceVersion?: string;
} {
  const { uid, resourceVersion } = metadata;
  return {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

export function notFound(kind: Editable, name: string): ManagerError {
  return new ManagerError('not-found', `there is no ${label(kind)} \`${name}\``);
}

function wasChanged(kind: Editable, name: string): ManagerError {
  return new ManagerError(
    'conflict',
    `${label(kind)} \`${name}\` was changed by another writer: read it again and repeat the change`,
  );
}

export function keepsChanging(kind: Editable, name: string): ManagerError {
  return new ManagerError('conflict', `${label(kind)} \`${name}\` keeps changing: try again`);
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
    `\`name\`: \`${name.slice(0, 80)}\` is not allowed: a name is at most ${NAME_MAX_LENGTH} lower-case letters, digits, \`-\` and \`.\`, and begins and ends with a letter or digit, such as \`${proposal}\``,
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
