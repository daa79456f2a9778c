import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { errorMessage } from '../../platform/plain-error.ts';
import type { WallClock } from '../../platform/clock.ts';
import type { ResourceByKind, ResourceKind } from '../../resources/kinds.ts';
import { kubernetesTime } from '../../resources/time.ts';
import { assertObjectName, assertVersion, isObjectName, notFound } from '../preconditions.ts';
import { StoreError, type DeleteOptions } from '../resource-store.ts';
import { requirePartLabel } from '../secret-label.ts';
import type { View } from '../view.ts';
import { removeFile, removeTemporaries, signatureOf, stemOf, writeAtomically } from './files.ts';
import { desiredOf, fileModeOf, pluralOf, printManifest, without } from './manifest.ts';
import { ManifestFiles } from './manifest-files.ts';
import { Records, type StoredRecord } from './records.ts';
import { stamped } from './server-fields.ts';
import type { Versions } from './versions.ts';

/** With the default delay between two scans this is five seconds. */
const MAX_DEFERRALS = 50;

/** `previous` is set on an update. @throws {StoreError} invalid, with what would be right */
export type ValidateObject = <K extends ResourceKind>(
  kind: K,
  object: unknown,
  previous: ResourceByKind[K] | undefined,
) => ResourceByKind[K];

export interface KindFolderContext {
  /** The store's folder. */
  readonly directory: string;
  readonly validate: ValidateObject;
  readonly clock: WallClock;
  readonly versions: Versions;
  /** Called with a problem in a file that a user must fix. */
  readonly onProblem: (path: string, message: string) => void;
}

/**
 * The objects of one kind: a folder of manifests, their records, and the view of both. Calls must not overlap; the store ensures that.
 *
 * A manifest that is rejected changes nothing: the last accepted state of its object stays in effect, as when a kube-apiserver rejects a
 * change. Files are written and removed only by writes through the API.
 */
export class KindFolder<K extends ResourceKind> {
  readonly kind: K;
  /** Folder of the manifests. */
  readonly directory: string;
  readonly #view: View<K>;
  readonly #context: KindFolderContext;
  readonly #records: Records<K>;
  readonly #files: ManifestFiles;
  /** Manifest file by object name. An object that waits for its finalizers has none. */
  readonly #fileOf = new Map<string, string>();
  /** The last scan was not applied completely. */
  #incomplete = false;
  /** Number of scans for which deletions were deferred. */
  #deferrals = 0;

  constructor(kind: K, view: View<K>, context: KindFolderContext) {
    this.kind = kind;
    this.#view = view;
    this.#context = context;
    this.directory = join(context.directory, pluralOf(kind));
    this.#records = new Records(join(context.directory, '.state', pluralOf(kind)));
    const folder = pluralOf(kind);
    this.#files = new ManifestFiles(kind, this.directory, (file, problem) =>
      context.onProblem(`${folder}/${file}`, problem),
    );
  }

  /** Problems of files, each with its path. */
  problems(): string[] {
    return this.#files.problems().map(({ file, problem }) => `${pluralOf(this.kind)}/${file}: ${problem}`);
  }

  /** Reads all manifests and records. Must be called once, before everything else. */
  async load(): Promise<void> {
    await mkdir(this.directory, { recursive: true, mode: this.kind === 'Secret' ? 0o700 : 0o755 });
    await removeTemporaries(this.directory);
    const records = await this.#records.load((file, error) =>
      this.#context.onProblem(`.state/${pluralOf(this.kind)}/${file}`, errorMessage(error)),
    );
    for (const { object, source } of records) {
      const { name, resourceVersion } = object.metadata;
      if (resourceVersion !== undefined) this.#context.versions.startAfter(resourceVersion);
      if (source !== undefined) {
        this.#files.remember(source.file, source.signature, name);
        this.#fileOf.set(name, source.file);
      }
      this.#view.set(object);
    }
    await this.scan({ settled: true });
  }

  /**
   * Applies the changes in the folder.
   *
   * @param options.only names of the files to scan; all by default
   * @param options.settled false: a change is applied only when two scans find the same signature, because a file may be incomplete
   * @returns whether another scan is needed
   */
  async scan(options: { only?: ReadonlySet<string> | undefined; settled: boolean }): Promise<boolean> {
    const { changed, unsettled } = await this.#files.scan(options);
    if (!changed && !this.#incomplete) return unsettled;
    this.#incomplete = true;
    for (const file of this.#files.unapplied()) await this.#apply(file);
    // An object whose file was removed may be in another file that is still being written. Deletions are deferred for a limited time.
    if (unsettled && ++this.#deferrals < MAX_DEFERRALS) return true;
    this.#deferrals = 0;
    for (const [name, file] of this.#fileOf) {
      if (this.#files.nameIn(file) === name) continue;
      await this.#fileRemoved(name);
      this.#fileOf.delete(name);
    }
    this.#incomplete = false;
    return unsettled;
  }

  async create(object: ResourceByKind[K]): Promise<ResourceByKind[K]> {
    const { name } = object.metadata;
    assertObjectName(this.kind, name);
    if (this.#view.get(name) !== undefined)
      throw new StoreError('already-exists', `${this.kind} \`${name}\` already exists`);
    const accepted = this.#accept(object, undefined);
    const created = this.#stamp(accepted, undefined);
    await this.#save(created, await this.#newFile(name));
    return created;
  }

  async update(object: ResourceByKind[K]): Promise<ResourceByKind[K]> {
    const previous = this.#current(object);
    const accepted = this.#accept(object, previous);
    if (previous.metadata.deletionTimestamp !== undefined) return this.#updateDeleting(accepted, previous);
    if (isDeepStrictEqual(accepted, desiredOf(previous))) return previous;
    const updated = this.#stamp(accepted, previous);
    await this.#save(updated, await this.#ownFile(previous.metadata.name));
    return updated;
  }

  async updateStatus(object: ResourceByKind[K] & { readonly status?: unknown }): Promise<ResourceByKind[K]> {
    const previous: ResourceByKind[K] & { readonly status?: unknown } = this.#current(object);
    if (isDeepStrictEqual(object.status, previous.status)) return previous;
    const metadata = { ...previous.metadata, resourceVersion: this.#context.versions.next() };
    const status = object.status === undefined ? {} : { status: object.status };
    const updated = { ...without({ ...previous }, ['status']), metadata, ...status } as unknown as ResourceByKind[K];
    this.#context.validate(this.kind, updated, previous);
    await this.#saveRecord(updated, this.#sourceOf(updated.metadata.name));
    return updated;
  }

  async delete(name: string, options: DeleteOptions): Promise<void> {
    const stored = this.#view.get(name);
    if (!isObjectName(name) || stored === undefined) throw notFound(this.kind, name);
    const { uid, resourceVersion } = stored.metadata;
    if ((options.uid ?? uid) !== uid || (options.resourceVersion ?? resourceVersion) !== resourceVersion)
      throw new StoreError(
        'conflict',
        `${this.kind} \`${name}\` was changed or created again since it was read: read it again`,
      );
    if (options.dryRun || stored.metadata.deletionTimestamp !== undefined) return;
    const file = await this.#ownFile(name);
    await removeFile(join(this.directory, file));
    await this.#fileRemoved(name);
    this.#fileOf.delete(name);
    this.#files.forget(file);
  }

  /** The stored object. @throws {StoreError} conflict, where the caller has read an older version */
  #current({ metadata }: ResourceByKind[K]): ResourceByKind[K] {
    const { name, uid, resourceVersion } = metadata;
    const stored = this.#view.get(name);
    if (stored === undefined) throw notFound(this.kind, name);
    assertVersion(this.kind, metadata);
    if (resourceVersion !== stored.metadata.resourceVersion || (uid ?? stored.metadata.uid) !== stored.metadata.uid)
      throw new StoreError(
        'conflict',
        `${this.kind} \`${name}\` has changed since it was read: read it again and repeat the change`,
      );
    return stored;
  }

  /** The validated user-written part of an object. */
  #accept(object: ResourceByKind[K], previous: ResourceByKind[K] | undefined): ResourceByKind[K] {
    const given: ResourceByKind[K] = { ...object, kind: this.kind };
    requirePartLabel(this.kind, given);
    return desiredOf(this.#context.validate(this.kind, desiredOf(given), previous));
  }

  #stamp(desired: ResourceByKind[K], previous: ResourceByKind[K] | undefined): ResourceByKind[K] {
    return stamped(desired, previous, { resourceVersion: this.#context.versions.next(), time: this.#time() });
  }

  async #updateDeleting(accepted: ResourceByKind[K], previous: ResourceByKind[K]): Promise<ResourceByKind[K]> {
    const finalizers = accepted.metadata.finalizers ?? [];
    const { deletionTimestamp, finalizers: before = [] } = previous.metadata;
    if (finalizers.some((finalizer) => !before.includes(finalizer)))
      throw new StoreError(
        'invalid',
        `${this.kind} \`${previous.metadata.name}\` is being deleted: finalizers can only be removed`,
      );
    const stamped = this.#stamp(accepted, previous);
    const updated = { ...stamped, metadata: { ...stamped.metadata, deletionTimestamp } } as ResourceByKind[K];
    if (finalizers.length > 0) await this.#saveRecord(updated, undefined);
    else await this.#drop(previous.metadata.name);
    return updated;
  }

  /** Applies the object of a file, or records why it is rejected. */
  async #apply(file: string): Promise<void> {
    const { manifest, name } = this.#files.manifestIn(file);
    try {
      if (name === undefined) throw new StoreError('invalid', 'missing `metadata.name`: every object needs a name');
      const previous = this.#view.get(name);
      this.#assertApplicable(file, name);
      // accept() checks the schema.
      const accepted = this.#accept(manifest as ResourceByKind[K], previous);
      const unchanged = previous !== undefined && isDeepStrictEqual(accepted, desiredOf(previous));
      const signature = this.#files.signatureIn(file) ?? '';
      await this.#saveRecord(unchanged ? previous : this.#stamp(accepted, previous), { file, signature });
      this.#files.applied(file, name);
      this.#fileOf.set(name, file);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#files.rejected(file, error.message);
    }
  }

  #assertApplicable(file: string, name: string): void {
    const owner = this.#fileOf.get(name);
    if (owner !== undefined && owner !== file && this.#files.nameIn(owner) === name)
      throw new StoreError('invalid', `\`${name}\` is also defined in \`${owner}\`: remove one of them`);
    if (this.#view.get(name)?.metadata.deletionTimestamp !== undefined)
      throw new StoreError('invalid', `\`${name}\` is being deleted and waits for its finalizers`);
  }

  /** Deletes an object whose manifest was removed, or marks it as being deleted while it has finalizers. */
  async #fileRemoved(name: string): Promise<void> {
    const stored = this.#view.get(name);
    if (stored === undefined) return;
    if ((stored.metadata.finalizers ?? []).length === 0) return this.#drop(name);
    const resourceVersion = this.#context.versions.next();
    const metadata = { ...stored.metadata, resourceVersion, deletionTimestamp: this.#time() };
    await this.#saveRecord({ ...stored, metadata }, undefined);
  }

  async #drop(name: string): Promise<void> {
    await this.#records.remove(name);
    this.#view.delete(name);
  }

  async #save(object: ResourceByKind[K], file: string): Promise<void> {
    const { name } = object.metadata;
    const signature = await writeAtomically(join(this.directory, file), printManifest(object), fileModeOf(this.kind));
    await this.#saveRecord(object, { file, signature });
    this.#files.remember(file, signature, name);
    this.#fileOf.set(name, file);
  }

  async #saveRecord(object: ResourceByKind[K], source: StoredRecord<K>['source']): Promise<void> {
    await this.#records.write(source === undefined ? { object } : { object, source });
    if (this.#view.get(object.metadata.name) !== object) this.#view.set(object);
  }

  #sourceOf(name: string): StoredRecord<K>['source'] {
    const file = this.#fileOf.get(name);
    const signature = file === undefined ? undefined : this.#files.signatureIn(file);
    return file === undefined || signature === undefined ? undefined : { file, signature };
  }

  /** The object's file. @throws {StoreError} conflict, where the file has changed since it was read: unread changes are never overwritten */
  async #ownFile(name: string): Promise<string> {
    const file = this.#fileOf.get(name);
    if (file === undefined) throw notFound(this.kind, name);
    const problem = this.#files.problemIn(file);
    const path = `${pluralOf(this.kind)}/${file}`;
    if (problem !== undefined)
      throw new StoreError('conflict', `the file \`${path}\` was changed by hand and is rejected: ${problem}`);
    if ((await signatureOf(join(this.directory, file))) !== this.#files.signatureIn(file))
      throw new StoreError('conflict', `the file \`${path}\` was just changed by hand: try again in a moment`);
    return file;
  }

  /** A new file name for an object. The file with the object's name may contain another object. */
  async #newFile(name: string): Promise<string> {
    for (let number = 1; ; number++) {
      const file = `${stemOf(name)}${number === 1 ? '' : `~${number}`}.yaml`;
      if ((await signatureOf(join(this.directory, file))) === undefined) return file;
      if (this.#files.nameIn(file) === undefined)
        throw new StoreError(
          'conflict',
          `the file \`${pluralOf(this.kind)}/${file}\` exists and is not applied: ${this.#files.problemIn(file) ?? 'it was just created'}`,
        );
    }
  }

  #time(): string {
    return kubernetesTime(this.#context.clock.now());
  }
}
