import { join } from 'node:path';
import { errorMessage } from '../../platform/plain-error.ts';
import type { ResourceKind } from '../../resources/kinds.ts';
import { filesIn, isVisible, readBounded, signatureOf, type Signature } from './files.ts';
import { MANIFEST_EXTENSIONS, parseManifest } from './manifest.ts';

interface ManifestEntry {
  readonly signature: Signature;
  /** Name of the object in the file; while the current content is rejected, that of the last accepted content. */
  name: string | undefined;
  /** Content that is not applied: new, or rejected. */
  manifest?: unknown;
  problem?: string;
}

/** The manifest files of one folder: their names, changes since the last scan, and problems. */
export class ManifestFiles {
  readonly #kind: ResourceKind;
  readonly #directory: string;
  readonly #onProblem: (file: string, problem: string) => void;
  readonly #entries = new Map<string, ManifestEntry>();
  /** Changes seen in one scan only: file to signature, undefined for a removed file. */
  readonly #unsettled = new Map<string, Signature | undefined>();

  /** @param onProblem called once for each problem of a file */
  constructor(kind: ResourceKind, directory: string, onProblem: (file: string, problem: string) => void) {
    this.#kind = kind;
    this.#directory = directory;
    this.#onProblem = onProblem;
  }

  /** Scans the folder. @throws {Error} when the folder cannot be read; its objects then do not count as deleted */
  async scan(options: {
    only?: ReadonlySet<string> | undefined;
    settled: boolean;
  }): Promise<{ changed: boolean; unsettled: boolean }> {
    const present = await filesIn(this.#directory, MANIFEST_EXTENSIONS);
    const files = new Set(options.only ?? [...present, ...this.#entries.keys()]);
    for (const file of this.#unsettled.keys()) files.add(file);
    // A rename gives two events. The new name must be read before the old one counts as removed.
    for (const file of present) if (!this.#entries.has(file)) files.add(file);
    let changed = false;
    for (const file of [...files].filter(isManifest).sort())
      if (await this.#scanFile(file, options.settled)) changed = true;
    return { changed, unsettled: this.#unsettled.size > 0 };
  }

  /** Files whose content was read and is not applied. */
  unapplied(): string[] {
    return [...this.#entries].filter(([, { manifest }]) => manifest !== undefined).map(([file]) => file);
  }

  manifestIn(file: string): { manifest: unknown; name: string | undefined } {
    const manifest = this.#entries.get(file)?.manifest;
    const { metadata } = (manifest ?? {}) as { metadata?: { name?: unknown } };
    return { manifest, name: typeof metadata?.name === 'string' ? metadata.name : undefined };
  }

  nameIn(file: string): string | undefined {
    return this.#entries.get(file)?.name;
  }

  signatureIn(file: string): Signature | undefined {
    return this.#entries.get(file)?.signature;
  }

  problemIn(file: string): string | undefined {
    return this.#entries.get(file)?.problem;
  }

  problems(): { file: string; problem: string }[] {
    return [...this.#entries].flatMap(([file, { problem }]) => (problem === undefined ? [] : [{ file, problem }]));
  }

  /** Records that the content of the file with this signature is applied. */
  remember(file: string, signature: Signature, name: string): void {
    this.#entries.set(file, { signature, name });
    this.#unsettled.delete(file);
  }

  applied(file: string, name: string): void {
    const entry = this.#entries.get(file);
    if (entry !== undefined) this.#entries.set(file, { signature: entry.signature, name });
  }

  rejected(file: string, problem: string): void {
    const entry = this.#entries.get(file);
    if (entry === undefined || entry.problem === problem) return;
    entry.problem = problem;
    this.#onProblem(file, problem);
  }

  forget(file: string): void {
    this.#entries.delete(file);
    this.#unsettled.delete(file);
  }

  /** @returns whether the file has a settled change */
  async #scanFile(file: string, settled: boolean): Promise<boolean> {
    const path = join(this.#directory, file);
    const signature = await signatureOf(path);
    const entry = this.#entries.get(file);
    if (signature === entry?.signature) {
      this.#unsettled.delete(file);
      return false;
    }
    if (!settled && !(this.#unsettled.has(file) && this.#unsettled.get(file) === signature)) {
      this.#unsettled.set(file, signature);
      return false;
    }
    this.#unsettled.delete(file);
    if (signature === undefined) this.#entries.delete(file);
    else await this.#read(file, signature, entry?.name);
    return true;
  }

  async #read(file: string, signature: Signature, name: string | undefined): Promise<void> {
    const entry: ManifestEntry = { signature, name };
    this.#entries.set(file, entry);
    try {
      entry.manifest = parseManifest(this.#kind, await readBounded(join(this.#directory, file)));
    } catch (error) {
      this.rejected(file, errorMessage(error));
    }
  }
}

function isManifest(file: string): boolean {
  return isVisible(file) && MANIFEST_EXTENSIONS.some((extension) => file.endsWith(extension));
}
