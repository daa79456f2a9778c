import { join } from 'node:path';
import type { ResourceKind } from '../../resources/kinds.ts';
import { filesIn, isVisible, readBounded, signatureOf, type Signature } from './files.ts';
import { MANIFEST_EXTENSIONS, parseManifest } from './manifest.ts';

interface Entry {
  readonly signature: Signature;
  /** The object that the file stands for; that of an earlier content, while the present one is refused. */
  name: string | undefined;
  /** Read and not taken over yet, or refused. */
  manifest?: unknown;
  problem?: string;
}

/** The manifest files of one folder: which there are, what changed since the last look, what is wrong with them. */
export class ManifestFiles {
  readonly #kind: ResourceKind;
  readonly #directory: string;
  readonly #onProblem: (file: string, problem: string) => void;
  readonly #entries = new Map<string, Entry>();
  /** Changes that were seen once: file to signature, undefined for a file that is gone. */
  readonly #unsettled = new Map<string, Signature | undefined>();

  /** @param onProblem called once for everything that is wrong with a file */
  constructor(kind: ResourceKind, directory: string, onProblem: (file: string, problem: string) => void) {
    this.#kind = kind;
    this.#directory = directory;
    this.#onProblem = onProblem;
  }

  /** @throws {Error} when the folder cannot be read: that is no reason to take its objects for deleted */
  async look(options: {
    only?: ReadonlySet<string> | undefined;
    settled: boolean;
  }): Promise<{ changed: boolean; unsettled: boolean }> {
    const present = await filesIn(this.#directory, MANIFEST_EXTENSIONS);
    const files = new Set(options.only ?? [...present, ...this.#entries.keys()]);
    for (const file of this.#unsettled.keys()) files.add(file);
    // A file that was renamed is told of by two events. The new name must not be learnt after the old one's end has counted.
    for (const file of present) if (!this.#entries.has(file)) files.add(file);
    let changed = false;
    for (const file of [...files].filter(isManifest).sort())
      if (await this.#lookAt(file, options.settled)) changed = true;
    return { changed, unsettled: this.#unsettled.size > 0 };
  }

  /** Files whose content was read and is not in effect. */
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

  /** The file has this content and is in effect. */
  remember(file: string, signature: Signature, name: string): void {
    this.#entries.set(file, { signature, name });
    this.#unsettled.delete(file);
  }

  applied(file: string, name: string): void {
    const entry = this.#entries.get(file);
    if (entry !== undefined) this.#entries.set(file, { signature: entry.signature, name });
  }

  refused(file: string, problem: string): void {
    const entry = this.#entries.get(file);
    if (entry === undefined || entry.problem === problem) return;
    entry.problem = problem;
    this.#onProblem(file, problem);
  }

  forget(file: string): void {
    this.#entries.delete(file);
    this.#unsettled.delete(file);
  }

  /** Returns whether the file changed, by a change that counts. */
  async #lookAt(file: string, settled: boolean): Promise<boolean> {
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
    const entry: Entry = { signature, name };
    this.#entries.set(file, entry);
    try {
      entry.manifest = parseManifest(this.#kind, await readBounded(join(this.#directory, file)));
    } catch (error) {
      this.refused(file, error instanceof Error ? error.message : String(error));
    }
  }
}

function isManifest(file: string): boolean {
  return isVisible(file) && MANIFEST_EXTENSIONS.some((extension) => file.endsWith(extension));
}
