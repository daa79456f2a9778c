import { watch, type FSWatcher } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ResourceByKind, ResourceKind } from '../resources/kinds.ts';
import { describeErrors, validateResource } from '../resources/validate.ts';
import { systemClock, type StoreClock } from './clock.ts';
import { KindFolder, type KindFolderContext, type Validate, type Versions } from './folder/kind-folder.ts';
import { FolderLock } from './folder/lock.ts';
import {
  StoreError,
  type DeleteOptions,
  type ResourceStore,
  type StoreEvent,
  type StoreHealth,
  type WriteOptions,
} from './resource-store.ts';
import { STORED_KINDS, Views } from './views.ts';

export interface FolderStoreOptions {
  readonly clock?: StoreClock;
  /** Called with what the store gets over by itself or only people can repair: files that are refused, listeners that throw. For the log. */
  readonly onError?: (error: unknown, context: { readonly kind?: ResourceKind; readonly during: string }) => void;
  /** How long after a change a folder is looked at, milliseconds: a file that is being copied should be whole by then. 100 by default. */
  readonly debounceMs?: number;
  /** Every so often everything is looked at, since not every file system tells of changes. 30,000 by default. */
  readonly rescanMs?: number;
}

const DEBOUNCE_MS = 100;
const RESCAN_MS = 30_000;

/**
 * Resources in a folder of manifests: `<folder>/<plural>/<name>.yaml`, one object a file.
 *
 * Files that people put there, change or remove take effect as if they had come through the API; see KindFolder for what happens to those that
 * cannot be accepted. One process at a time may have a folder open.
 */
export class FolderStore implements ResourceStore {
  readonly #clock: StoreClock;
  readonly #options: FolderStoreOptions;
  readonly #lock: FolderLock;
  readonly #views: Views;
  readonly #folders: { readonly [K in ResourceKind]: KindFolder<K> };
  readonly #watchers = new Map<ResourceKind, FSWatcher>();
  /** Files that changed since the last look; `undefined` for a kind of which everything is to be looked at. */
  readonly #changed = new Map<ResourceKind, Set<string> | undefined>();
  #cancelLook: (() => void) | undefined;
  #cancelRescan: () => void = () => {};
  /** The end of the last piece of work; pieces never overlap. */
  #tail: Promise<unknown> = Promise.resolve();
  #lastScanAt: number;
  #lastError: string | undefined;
  #closed = false;

  private constructor(directory: string, lock: FolderLock, options: FolderStoreOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#options = options;
    this.#lock = lock;
    this.#lastScanAt = this.#clock.now();
    this.#views = new Views((error, kind) => options.onError?.(error, { kind, during: 'a listener' }));
    const context: KindFolderContext = {
      directory,
      validate,
      now: () => this.#clock.now(),
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
   * Opens a folder, which is made if it does not exist, and reads all of it.
   *
   * @throws {StoreError} unavailable: another process has it open, or it cannot be read
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
      store.#lastScanAt = store.#clock.now();
      store.#follow();
      return store;
    } catch (error) {
      await lock?.release();
      throw asStoreError(error, `cannot open the folder \`${path}\``);
    }
  }

  /** Resolved from the start: open() has read everything. */
  async synced(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
  }

  get<K extends ResourceKind>(kind: K, name: string): ResourceByKind[K] | undefined {
    return this.#views.get(kind, name);
  }

  list<K extends ResourceKind>(kind: K): readonly ResourceByKind[K][] {
    return this.#views.list(kind);
  }

  subscribe<K extends ResourceKind>(kind: K, listener: (event: StoreEvent<K>) => void): () => void {
    return this.#views.subscribe(kind, listener);
  }

  async create<K extends ResourceKind>(
    kind: K,
    object: ResourceByKind[K],
    options: WriteOptions = {},
  ): Promise<ResourceByKind[K]> {
    return this.#write(kind, options, async (folder) => folder.create(object));
  }

  async update<K extends ResourceKind>(
    kind: K,
    object: ResourceByKind[K],
    options: WriteOptions = {},
  ): Promise<ResourceByKind[K]> {
    return this.#write(kind, options, async (folder) => folder.update(object));
  }

  async updateStatus<K extends Exclude<ResourceKind, 'Secret'>>(
    kind: K,
    object: ResourceByKind[K],
    options: WriteOptions = {},
  ): Promise<ResourceByKind[K]> {
    return this.#write(kind, options, async (folder) => folder.updateStatus(object));
  }

  async delete(kind: ResourceKind, name: string, options: DeleteOptions = {}): Promise<void> {
    await this.#write(kind, options, async (folder) => folder.delete(name, options));
  }

  health(): StoreHealth {
    const [problem, ...more] = STORED_KINDS.flatMap((kind) => this.#folders[kind].problems());
    const refused = problem === undefined || more.length === 0 ? problem : `${problem} (and ${more.length} more files)`;
    return {
      synced: true,
      ageMs: Math.max(0, this.#clock.now() - this.#lastScanAt),
      lastError: this.#lastError ?? refused,
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#views.close();
    this.#cancelRescan();
    this.#cancelLook?.();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    await this.#tail;
    await this.#lock.release();
  }

  async #write<K extends ResourceKind, R>(
    kind: K,
    { signal }: WriteOptions,
    write: (folder: KindFolder<K>) => Promise<R>,
  ): Promise<R> {
    return this.#exclusively(async () => {
      signal?.throwIfAborted();
      if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
      try {
        return await write(this.#folders[kind]);
      } catch (error) {
        throw asStoreError(error, `cannot write to the folder of ${kind} objects`);
      }
    });
  }

  async #exclusively<R>(work: () => Promise<R>): Promise<R> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => {}); // whoever asked for the work hears of it
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
        this.#lookSoon();
        rescan();
      }, this.#options.rescanMs ?? RESCAN_MS);
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
        this.#lookSoon();
      });
      watcher.on('error', failed);
      this.#watchers.set(kind, watcher);
    } catch (error) {
      failed(error);
    }
  }

  #lookSoon(): void {
    if (this.#closed) return;
    this.#cancelLook ??= this.#clock.schedule(() => {
      this.#cancelLook = undefined;
      // Never rejects.
      void this.#exclusively(async () => this.#look());
    }, this.#options.debounceMs ?? DEBOUNCE_MS);
  }

  async #look(): Promise<void> {
    if (this.#closed) return;
    const changed = [...this.#changed];
    this.#changed.clear();
    let failure: string | undefined;
    for (const [kind, only] of changed) {
      try {
        // What was seen for the first time is looked at once more: until then it may be half written.
        if (await this.#folders[kind].scan({ only, settled: false })) this.#lookAgain(kind);
      } catch (error) {
        failure = `cannot read \`${this.#folders[kind].directory}\`: ${error instanceof Error ? error.message : String(error)}`;
        this.#options.onError?.(error, { kind, during: 'reading the folder' });
        this.#changed.set(kind, undefined);
      }
    }
    const everything = STORED_KINDS.every((kind) =>
      changed.some(([seen, only]) => seen === kind && only === undefined),
    );
    if (failure !== undefined || everything) this.#lastError = failure;
    if (failure === undefined && everything) this.#lastScanAt = this.#clock.now();
  }

  #lookAgain(kind: ResourceKind): void {
    if (!this.#changed.has(kind)) this.#changed.set(kind, new Set());
    this.#lookSoon();
  }
}

const validate: Validate = (kind, object, previous) => {
  const result = validateResource(kind, object, previous);
  if (result.ok) return result.value;
  const { metadata } = object as { metadata?: { name?: unknown } };
  const name = typeof metadata?.name === 'string' ? ` \`${metadata.name}\`` : '';
  throw new StoreError('invalid', `${kind}${name} is not valid: ${describeErrors(result.errors)}`);
};

/** Milliseconds since the epoch, counted up where several fall into one: they grow over restarts without a counter that is kept. */
function versionsFrom(clock: StoreClock): Versions {
  let last = 0n;
  return {
    next() {
      const now = BigInt(clock.now());
      last = now > last ? now : last + 1n;
      return String(last);
    },
    passed(version) {
      const passed = /^[0-9]{1,30}$/.test(version) ? BigInt(version) : 0n;
      if (passed > last) last = passed;
    },
  };
}

/** Errors of the file system as the port has them; those that explain themselves, and a caller's own reason, as they are. */
function asStoreError(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || typeof (error as NodeJS.ErrnoException).code !== 'string') return error;
  if (error instanceof StoreError) return error;
  return new StoreError('unavailable', `${what}: ${error.message}`, { cause: error });
}
