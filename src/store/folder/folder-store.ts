import { watch, type FSWatcher } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCode, errorMessage } from '../../platform/plain-error.ts';
import type { ResourceByKind, ResourceKind } from '../../resources/kinds.ts';
import { describeErrors, validateResource } from '../../resources/validate.ts';
import { systemClock, type Clock } from '../../platform/clock.ts';
import { KindFolder, type KindFolderContext, type ValidateObject } from './kind-folder.ts';
import { FolderLock } from './lock.ts';
import { versionsFrom } from './versions.ts';
import {
  StoreError,
  type DeleteOptions,
  type ReadOptions,
  type ResourceStore,
  type StoreEvent,
  type StoreHealth,
  type WriteOptions,
} from '../resource-store.ts';
import { STORED_KINDS, Views } from '../views.ts';

export interface FolderStoreOptions {
  readonly clock?: Clock;
  /** Called with files that are rejected, watch failures and errors of listeners, so that they can be logged. */
  readonly onError?: (error: unknown, context: { readonly kind?: ResourceKind; readonly during: string }) => void;
  /** Delay between a change and the scan of the folder, milliseconds, so that a file being copied is complete. 100 by default. */
  readonly debounceMs?: number;
}

const DEBOUNCE_MS = 100;
/** Interval of full scans, for file systems that do not report changes. */
const RESCAN_MS = 30_000;

/**
 * Resources in a folder of manifests: `<folder>/<plural>/<name>.yaml`, one object per file.
 *
 * Files that are added, changed or removed by hand take effect like a change through the API; see KindFolder for invalid ones.
 * Only one process at a time can have a folder open.
 */
export class FolderStore implements ResourceStore {
  readonly #clock: Clock;
  readonly #options: FolderStoreOptions;
  readonly #lock: FolderLock;
  readonly #views: Views;
  readonly #folders: { readonly [K in ResourceKind]: KindFolder<K> };
  readonly #watchers = new Map<ResourceKind, FSWatcher>();
  /** Files that changed since the last scan; `undefined` for a kind that needs a full scan. */
  readonly #changed = new Map<ResourceKind, Set<string> | undefined>();
  #cancelScan: (() => void) | undefined;
  #cancelRescan: () => void = () => {};
  /** Resolves when the last queued operation has ended. Operations run one after another. */
  #tail: Promise<unknown> = Promise.resolve();
  #lastScanAt: number;
  #lastError: string | undefined;
  #closed = false;

  private constructor(directory: string, lock: FolderLock, options: FolderStoreOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#options = options;
    this.#lock = lock;
    this.#lastScanAt = this.#clock.monotonic();
    this.#views = new Views((error, kind) => options.onError?.(error, { kind, during: 'a listener' }));
    const context: KindFolderContext = {
      directory,
      validate,
      clock: this.#clock,
      versions: versionsFrom(this.#clock),
      onProblem: (path, message) => options.onError?.(new Error(`${path}: ${message}`), { during: `reading ${path}` }),
    };
    const folder = <K extends ResourceKind>(kind: K) => new KindFolder(kind, this.#views.of(kind), context);
    this.#folders = {
      Policy: folder('Policy'),
      Role: folder('Role'),
      RoleAssignment: folder('RoleAssignment'),
      ServiceToken: folder('ServiceToken'),
      ClusterHealthReport: folder('ClusterHealthReport'),
      Secret: folder('Secret'),
    };
  }

  /**
   * Opens a folder and reads all of it. Creates the folder if it does not exist.
   *
   * @throws {StoreError} unavailable: another process has the folder open, or it cannot be read
   */
  static async open(directory: string, options: FolderStoreOptions = {}): Promise<FolderStore> {
    const path = resolve(directory);
    let lock: FolderLock | undefined;
    try {
      await mkdir(join(path, '.state'), { recursive: true });
      await chmod(join(path, '.state'), 0o700);
      lock = await FolderLock.acquire(path, options.clock ?? systemClock);
      const store = new FolderStore(path, lock, options);
      for (const kind of STORED_KINDS) await store.#folders[kind].load();
      await chmod(store.#folders.Secret.directory, 0o700);
      store.#lastScanAt = store.#clock.monotonic();
      store.#follow();
      return store;
    } catch (error) {
      await lock?.release();
      throw asStoreError(error, `cannot open the folder \`${path}\``);
    }
  }

  /** Resolves at once: open() has read everything. */
  async synced(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
  }

  get<K extends ResourceKind>(kind: K, name: string): ResourceByKind[K] | undefined {
    return this.#views.get(kind, name);
  }

  list<K extends ResourceKind>(kind: K): readonly ResourceByKind[K][] {
    return this.#views.list(kind);
  }

  /** This process is the only writer, so the view is current once all writes before this call have ended. */
  async read<K extends ResourceKind>(
    kind: K,
    name: string,
    options: ReadOptions = {},
  ): Promise<ResourceByKind[K] | undefined> {
    return this.#inOrder(kind, options, async () => this.#views.get(kind, name));
  }

  async readAll<K extends ResourceKind>(kind: K, options: ReadOptions = {}): Promise<readonly ResourceByKind[K][]> {
    return this.#inOrder(kind, options, async () => this.#views.list(kind));
  }

  subscribe<K extends ResourceKind>(kind: K, listener: (event: StoreEvent<K>) => void): () => void {
    return this.#views.subscribe(kind, listener);
  }

  async create<K extends ResourceKind>(
    kind: K,
    object: ResourceByKind[K],
    options: WriteOptions = {},
  ): Promise<ResourceByKind[K]> {
    return this.#inOrder(kind, options, async (folder) => folder.create(object));
  }

  async update<K extends ResourceKind>(
    kind: K,
    object: ResourceByKind[K],
    options: WriteOptions = {},
  ): Promise<ResourceByKind[K]> {
    return this.#inOrder(kind, options, async (folder) => folder.update(object));
  }

  async updateStatus<K extends Exclude<ResourceKind, 'Secret'>>(
    kind: K,
    object: ResourceByKind[K],
    options: WriteOptions = {},
  ): Promise<ResourceByKind[K]> {
    return this.#inOrder(kind, options, async (folder) => folder.updateStatus(object));
  }

  async delete(kind: ResourceKind, name: string, options: DeleteOptions = {}): Promise<void> {
    await this.#inOrder(kind, options, async (folder) => folder.delete(name, options));
  }

  health(): StoreHealth {
    const [problem, ...more] = STORED_KINDS.flatMap((kind) => this.#folders[kind].problems());
    const rejected =
      problem === undefined || more.length === 0 ? problem : `${problem} (and ${more.length} more files)`;
    return {
      synced: true,
      ageMs: Math.max(0, this.#clock.monotonic() - this.#lastScanAt),
      lastError: this.#lastError ?? rejected,
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#views.close();
    this.#cancelRescan();
    this.#cancelScan?.();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    await this.#tail;
    await this.#lock.release();
  }

  async #inOrder<K extends ResourceKind, R>(
    kind: K,
    { signal }: WriteOptions,
    work: (folder: KindFolder<K>) => Promise<R>,
  ): Promise<R> {
    return this.#exclusively(async () => {
      signal?.throwIfAborted();
      if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
      try {
        return await work(this.#folders[kind]);
      } catch (error) {
        throw asStoreError(error, `cannot access the folder of ${kind} objects`);
      }
    });
  }

  async #exclusively<R>(work: () => Promise<R>): Promise<R> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => {}); // the caller gets the error
    return result;
  }

  #follow(): void {
    for (const kind of STORED_KINDS) this.#watch(kind);
    const rescan = () => {
      this.#cancelRescan = this.#clock.schedule(() => {
        for (const kind of STORED_KINDS) {
          this.#changed.set(kind, undefined);
          if (!this.#watchers.has(kind)) this.#watch(kind);
        }
        this.#scanSoon();
        rescan();
      }, RESCAN_MS);
    };
    rescan();
  }

  #watch(kind: ResourceKind): void {
    const failed = (error: unknown) => {
      this.#watchers.get(kind)?.close();
      this.#watchers.delete(kind); // the next rescan tries again
      this.#options.onError?.(error, { kind, during: 'watching the folder' });
    };
    try {
      const watcher = watch(this.#folders[kind].directory, (_event, file) => {
        if (!this.#changed.has(kind)) this.#changed.set(kind, new Set());
        if (file === null) this.#changed.set(kind, undefined);
        else this.#changed.get(kind)?.add(file);
        this.#scanSoon();
      });
      watcher.on('error', failed);
      this.#watchers.set(kind, watcher);
    } catch (error) {
      failed(error);
    }
  }

  #scanSoon(): void {
    if (this.#closed) return;
    this.#cancelScan ??= this.#clock.schedule(() => {
      this.#cancelScan = undefined;
      // Never rejects.
      void this.#exclusively(async () => this.#scan());
    }, this.#options.debounceMs ?? DEBOUNCE_MS);
  }

  async #scan(): Promise<void> {
    if (this.#closed) return;
    const changed = [...this.#changed];
    this.#changed.clear();
    let failure: string | undefined;
    for (const [kind, only] of changed) {
      try {
        // A change seen for the first time needs a second scan: the file may be incomplete.
        if (await this.#folders[kind].scan({ only, settled: false })) this.#scanAgain(kind);
      } catch (error) {
        failure = `cannot read \`${this.#folders[kind].directory}\`: ${errorMessage(error)}`;
        this.#options.onError?.(error, { kind, during: 'reading the folder' });
        this.#changed.set(kind, undefined);
      }
    }
    const everything = STORED_KINDS.every((kind) =>
      changed.some(([seen, only]) => seen === kind && only === undefined),
    );
    if (failure !== undefined || everything) this.#lastError = failure;
    if (failure === undefined && everything) this.#lastScanAt = this.#clock.monotonic();
  }

  #scanAgain(kind: ResourceKind): void {
    if (!this.#changed.has(kind)) this.#changed.set(kind, new Set());
    this.#scanSoon();
  }
}

const validate: ValidateObject = (kind, object, previous) => {
  const result = validateResource(kind, object, previous);
  if (result.ok) return result.value;
  const { metadata } = object as { metadata?: { name?: unknown } };
  const name = typeof metadata?.name === 'string' ? ` \`${metadata.name}\`` : '';
  throw new StoreError('invalid', `${kind}${name} is not valid: ${describeErrors(result.errors)}`);
};

/** Converts errors of the file system to StoreError. StoreErrors and abort reasons stay as they are. */
function asStoreError(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || typeof errorCode(error) !== 'string') return error;
  if (error instanceof StoreError) return error;
  return new StoreError('unavailable', `${what}: ${error.message}`, { cause: error });
}
