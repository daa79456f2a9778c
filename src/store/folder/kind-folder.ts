import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ResourceByKind, ResourceKind } from '../../resources/kinds.ts';
import { assertObjectName, assertVersion, isObjectName, notFound } from '../preconditions.ts';
import { StoreError, type DeleteOptions } from '../resource-store.ts';
import { withPartLabel } from '../secret-label.ts';
import type { View } from '../view.ts';
import { removeFile, signatureOf, stemOf, writeAtomically } from './files.ts';
import { desiredOf, fileModeOf, pluralOf, printManifest, without } from './manifest.ts';
import { ManifestFiles } from './manifest-files.ts';
import { Records, type StoredRecord } from './records.ts';

/** With the default pause between two looks this is five seconds. */
const MAX_DEFERRALS = 50;

/** `previous` is given on an update. @throws {StoreError} invalid, saying what would be right */
export type Validate = <K extends ResourceKind>(
  kind: K,
  object: unknown,
  previous: ResourceByKind[K] | undefined,
) => ResourceByKind[K];

/** Resource versions: each is larger than all before it, over all kinds of a store. */
export interface Versions {
  next(): string;
  /** The next ones are to be larger than this. */
  passed(version: string): void;
}

export interface KindFolderContext {
  /** The store's folder. */
  readonly directory: string;
  readonly validate: Validate;
  readonly now: () => number;
  readonly versions: Versions;
  /** Something in a file that only people can repair. */
  readonly onProblem: (path: string, message: string) => void;
}

/**
 * The objects of one kind: a folder of manifests, the records beside it, and the view of both. Calls must not overlap: the store sees to that.
 *
 * A manifest that cannot be accepted changes nothing: the last accepted form of its object stays in effect, as with a kube-apiserver that
 * refuses a change. Files are only ever written or removed for writes through the API.
 */
export class KindFolder<K extends ResourceKind> {
  readonly kind: K;
  /** Of the manifests. */
  readonly directory: string;
  readonly #view: View<K>;
  readonly #context: KindFolderContext;
  readonly #records: Records<K>;
  readonly #files: ManifestFiles;
  /** From an object's name to its manifest file; an object that waits for its finalizers has none. */
  readonly #fileOf = new Map<string, string>();
  /** What the files say is not all in effect yet: it could not be recorded. */
  #behind = false;
  /** For how many looks deletions were put off. */
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

  /** What is wrong with files, by path. */
  problems(): string[] {
    return this.#files.problems().map(({ file, problem }) => `${pluralOf(this.kind)}/${file}: ${problem}`);
  }

  /** Reads everything; called once, before anything else. */
  async load(): Promise<void> {
    await mkdir(this.directory, { recursive: true, mode: this.kind === 'Secret' ? 0o700 : 0o755 });
    const records = await this.#records.load((file, error) =>
      this.#context.onProblem(`.state/${pluralOf(this.kind)}/${file}`, error instanceof Error ? error.message : '?'),
    );
    for (const { object, source } of records) {
      const { name, resourceVersion } = object.metadata;
      if (resourceVersion !== undefined) this.#context.versions.passed(resourceVersion);
      if (source !== undefined) {
        this.#files.remember(source.file, source.signature, name);
        this.#fileOf.set(name, source.file);
      }
      this.#view.set(object);
    }
    await this.scan({ settled: true });
  }

  /**
   * Takes over what changed in the folder.
   *
   * @param options.only names of the files to look at; all by default
   * @param options.settled false: a change counts only when a second look finds it the same, for it may be half written
   * @returns whether there is something to look at again
   */
  async scan(options: { only?: ReadonlySet<string> | undefined; settled: boolean }): Promise<boolean> {
    const { changed, unsettled } = await this.#files.look(options);
    if (!changed && !this.#behind) return unsettled;
    this.#behind = true;
    for (const file of this.#files.unapplied()) await this.#adopt(file);
    // An object whose file is gone may stand in another one that is still being written; but no other file holds up a deletion for long.
    if (unsettled && ++this.#deferrals < MAX_DEFERRALS) return true;
    this.#deferrals = 0;
    for (const [name, file] of this.#fileOf) {
      if (this.#files.nameIn(file) === name) continue;
      await this.#vanish(name);
      this.#fileOf.delete(name);
    }
    this.#behind = false;
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
    if (previous.metadata.deletionTimestamp !== undefined) return this.#updateDying(accepted, previous);
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
    const held = this.#view.get(name);
    if (!isObjectName(name) || held === undefined) throw notFound(this.kind, name);
    const { uid, resourceVersion } = held.metadata;
    if ((options.uid ?? uid) !== uid || (options.resourceVersion ?? resourceVersion) !== resourceVersion)
      throw new StoreError(
        'conflict',
        `${this.kind} \`${name}\` is not the one to delete: it was changed or made anew`,
      );
    if (held.metadata.deletionTimestamp !== undefined) return;
    const file = await this.#ownFile(name);
    await removeFile(join(this.directory, file));
    await this.#vanish(name);
    this.#fileOf.delete(name);
    this.#files.forget(file);
  }

  /** The object as it is held, if the caller has seen just this one. */
  #current({ metadata }: ResourceByKind[K]): ResourceByKind[K] {
    const { name, uid, resourceVersion } = metadata;
    const held = this.#view.get(name);
    if (held === undefined) throw notFound(this.kind, name);
    assertVersion(this.kind, metadata);
    if (resourceVersion !== held.metadata.resourceVersion || (uid ?? held.metadata.uid) !== held.metadata.uid)
      throw new StoreError(
        'conflict',
        `${this.kind} \`${name}\` was changed meanwhile: read it again and apply your change to that`,
      );
    return held;
  }

  /** What people may say of an object, checked. */
  #accept(object: ResourceByKind[K], previous: ResourceByKind[K] | undefined): ResourceByKind[K] {
    const desired = desiredOf(withPartLabel(this.kind, { ...object, kind: this.kind }));
    return desiredOf(this.#context.validate(this.kind, desired, previous));
  }

  /** With what a server sets. */
  #stamp(desired: ResourceByKind[K], previous: ResourceByKind[K] | undefined): ResourceByKind[K] {
    const { metadata: before, status } = (previous ?? {}) as Partial<ResourceByKind[K]> & { status?: unknown };
    const sameSpec = previous !== undefined && isDeepStrictEqual(contentOf(desired), contentOf(previous));
    const metadata = {
      ...desired.metadata,
      uid: before?.uid ?? randomUUID(),
      resourceVersion: this.#context.versions.next(),
      generation: (before?.generation ?? 0) + (sameSpec ? 0 : 1),
      // Whole seconds, as metav1.Time has them.
      creationTimestamp: before?.creationTimestamp ?? this.#time(),
    };
    return { ...desired, metadata, ...(status === undefined ? {} : { status }) };
  }

  async #updateDying(accepted: ResourceByKind[K], previous: ResourceByKind[K]): Promise<ResourceByKind[K]> {
    const finalizers = accepted.metadata.finalizers ?? [];
    const { deletionTimestamp, finalizers: before = [] } = previous.metadata;
    if (finalizers.some((finalizer) => !before.includes(finalizer)))
      throw new StoreError(
        'invalid',
        `${this.kind} \`${previous.metadata.name}\` is being deleted: no finalizer can be added any more`,
      );
    const stamped = this.#stamp(accepted, previous);
    const updated = { ...stamped, metadata: { ...stamped.metadata, deletionTimestamp } } as ResourceByKind[K];
    if (finalizers.length > 0) await this.#saveRecord(updated, undefined);
    else await this.#drop(previous.metadata.name);
    return updated;
  }

  /** Takes an object over from its file, or notes why not. */
  async #adopt(file: string): Promise<void> {
    const { manifest, name } = this.#files.manifestIn(file);
    try {
      if (name === undefined) throw new StoreError('invalid', '`metadata.name` is missing: every object needs a name');
      const previous = this.#view.get(name);
      this.#assertAdoptable(file, name);
      // Its schema is about to be checked.
      const accepted = this.#accept(manifest as ResourceByKind[K], previous);
      const unchanged = previous !== undefined && isDeepStrictEqual(accepted, desiredOf(previous));
      const signature = this.#files.signatureIn(file) ?? '';
      await this.#saveRecord(unchanged ? previous : this.#stamp(accepted, previous), { file, signature });
      this.#files.applied(file, name);
      this.#fileOf.set(name, file);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#files.refused(file, error.message);
    }
  }

  #assertAdoptable(file: string, name: string): void {
    const owner = this.#fileOf.get(name);
    if (owner !== undefined && owner !== file && this.#files.nameIn(owner) === name)
      throw new StoreError('invalid', `\`${name}\` stands in \`${owner}\` already: remove one of them`);
    if (this.#view.get(name)?.metadata.deletionTimestamp !== undefined)
      throw new StoreError('invalid', `\`${name}\` is being deleted and waits for its finalizers`);
  }

  /** The object has no manifest any more. */
  async #vanish(name: string): Promise<void> {
    const held = this.#view.get(name);
    if (held === undefined) return;
    if ((held.metadata.finalizers ?? []).length === 0) return this.#drop(name);
    const resourceVersion = this.#context.versions.next();
    const metadata = { ...held.metadata, resourceVersion, deletionTimestamp: this.#time() };
    await this.#saveRecord({ ...held, metadata }, undefined);
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

  /** The object's file, if nobody has touched it since it was read. What people wrote is never overwritten unread. */
  async #ownFile(name: string): Promise<string> {
    const file = this.#fileOf.get(name);
    if (file === undefined) throw notFound(this.kind, name);
    const problem = this.#files.problemIn(file);
    const path = `${pluralOf(this.kind)}/${file}`;
    if (problem !== undefined)
      throw new StoreError('conflict', `the file \`${path}\` was changed by hand and cannot be used: ${problem}`);
    if ((await signatureOf(join(this.directory, file))) !== this.#files.signatureIn(file))
      throw new StoreError('conflict', `the file \`${path}\` was changed by hand just now: read it again in a moment`);
    return file;
  }

  /** A file that does not exist yet. Another object may live in the file with this one's name. */
  async #newFile(name: string): Promise<string> {
    for (let number = 1; ; number++) {
      const file = `${stemOf(name)}${number === 1 ? '' : `~${number}`}.yaml`;
      if ((await signatureOf(join(this.directory, file))) === undefined) return file;
      if (this.#files.nameIn(file) === undefined)
        throw new StoreError(
          'conflict',
          `the file \`${pluralOf(this.kind)}/${file}\` exists and is not in use: ${this.#files.problemIn(file) ?? 'it was put there just now'}`,
        );
    }
  }

  #time(): string {
    return new Date(this.#context.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  }
}

/** What `generation` counts the changes of. */
function contentOf(object: object): unknown {
  return without({ ...object }, ['metadata', 'status', 'apiVersion', 'kind']);
}
