import { execFile, spawn } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { errorMessage } from '../../platform/plain-error.ts';
import { readBounded } from '../../store/folder/files.ts';
import { MANIFEST_EXTENSIONS } from '../../store/folder/manifest.ts';
import type { ManifestText } from '../../store/manifests/manifest-set.ts';

/** Files of kustomize are no manifests, and need neither version nor kind. */
const KUSTOMIZE = /^kustomization\.ya?ml$/u;
const MAX_FILES = 100_000;

/** The manifests in folders, subfolders included, and in files. @throws {Error} which path cannot be read */
export async function manifestsIn(paths: readonly string[]): Promise<ManifestText[]> {
  const files: string[] = [];
  for (const path of paths) {
    const found = await stat(path).catch((error: unknown) => {
      throw new Error(`cannot read \`${path}\`: ${errorMessage(error)}`);
    });
    if (found.isDirectory()) await collect(path, files);
    else files.push(path);
  }
  const texts: ManifestText[] = [];
  for (const path of new Set(files)) {
    try {
      texts.push({ path, text: await readBounded(path) });
    } catch (error) {
      throw new Error(`cannot read \`${path}\`: ${errorMessage(error)}`, { cause: error });
    }
  }
  return texts;
}

async function collect(folder: string, files: string[]): Promise<void> {
  const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && isFolder(entry.name)) await collect(path, files);
    else if (!entry.isDirectory() && isManifest(entry.name)) files.push(path);
    if (files.length > MAX_FILES) throw new Error(`\`${folder}\` has more than ${MAX_FILES} manifests`);
  }
}

function isFolder(name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules';
}

function isManifest(name: string): boolean {
  const hasExtension = MANIFEST_EXTENSIONS.some((extension) => name.endsWith(extension));
  return hasExtension && !name.startsWith('.') && !KUSTOMIZE.test(name);
}

const GIT_TIMEOUT_MS = 60_000;
const MAX_LISTING_BYTES = 64 * 1024 * 1024;
const MAX_CONTENT_BYTES = 512 * 1024 * 1024;
/** Nothing is written, asked of a user or read from a server. */
const GIT_ENV = { GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', GIT_NO_LAZY_FETCH: '1', LC_ALL: 'C' };
const execute = promisify(execFile);

/**
 * The manifests that the same paths have in a revision of their Git repository; none where the revision does not have the path.
 * @throws {Error} why git cannot read it
 */
export async function manifestsAt(
  revision: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ManifestText[]> {
  const texts = new Map<string, ManifestText>();
  for (const path of paths) {
    const isDirectory = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
    const folder = isDirectory ? path : dirname(path);
    const git = new Git(folder, signal);
    const commit = await git.commitOf(revision);
    const blobs = (await git.blobsAt(commit, isDirectory ? '.' : basename(path))).filter(({ name }) => {
      const parts = name.split('/');
      return isManifest(parts.at(-1) ?? '') && parts.slice(0, -1).every(isFolder);
    });
    const contents = await git.contentsOf(blobs.map(({ id }) => id));
    for (const [index, { name }] of blobs.entries()) {
      const shown = `${revision}:${join(folder, name)}`;
      texts.set(shown, { path: shown, text: contents[index] ?? '' });
    }
  }
  return [...texts.values()];
}

interface Blob {
  readonly id: string;
  /** Relative to the folder. */
  readonly name: string;
}

/** Calls of git that only read, in a folder. */
class Git {
  readonly #folder: string;
  readonly #signal: AbortSignal;

  constructor(folder: string, signal: AbortSignal) {
    this.#folder = folder;
    this.#signal = signal;
  }

  async commitOf(revision: string): Promise<string> {
    const commit = await this.#run([
      'rev-parse',
      '--verify',
      '--quiet',
      '--end-of-options',
      `${revision}^{commit}`,
    ]).catch(async (error: unknown) => {
      // Outside of a repository this fails, too, and says so.
      await this.#run(['rev-parse', '--git-dir']);
      throw new Error(
        `\`${revision}\` is not a revision of the Git repository of \`${this.#folder}\`: fetch it, or name another one, such as \`origin/main\``,
        { cause: error },
      );
    });
    return commit.trim();
  }

  async blobsAt(commit: string, path: string): Promise<Blob[]> {
    const listing = await this.#run(['ls-tree', '-r', '-z', commit, '--', path]);
    return listing.split('\0').flatMap((entry): Blob[] => {
      const [, mode, id, name] = /^(\d+) blob ([0-9a-f]+)\t([^]+)$/u.exec(entry) ?? [];
      // Links are not followed.
      return mode?.startsWith('100') === true && id !== undefined && name !== undefined ? [{ id, name }] : [];
    });
  }

  /** The texts of blobs, in one process. */
  async contentsOf(ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(GIT_TIMEOUT_MS)]);
    const child = spawn('git', ['-C', this.#folder, 'cat-file', '--batch'], {
      env: { ...process.env, ...GIT_ENV },
      stdio: ['pipe', 'pipe', 'pipe'],
      signal,
    });
    const failed = Promise.withResolvers<never>();
    child.on('error', failed.reject);
    child.stdin.on('error', failed.reject);
    child.stdin.end(`${ids.join('\n')}\n`);
    const problem = textOf(child.stderr);
    const output = await Promise.race([failed.promise, bytesOf(child.stdout)]);
    const contents = splitBatch(output, ids.length);
    if (contents.length < ids.length)
      throw new Error(`git cannot read the files of \`${this.#folder}\`: ${await problem}`);
    return contents;
  }

  async #run(args: readonly string[]): Promise<string> {
    try {
      const { stdout } = await execute('git', ['-C', this.#folder, ...args], {
        env: { ...process.env, ...GIT_ENV },
        timeout: GIT_TIMEOUT_MS,
        maxBuffer: MAX_LISTING_BYTES,
        signal: this.#signal,
      });
      return stdout;
    } catch (error) {
      const { stderr } = error as { stderr?: unknown };
      const reason = typeof stderr === 'string' && stderr.trim() !== '' ? stderr.trim() : errorMessage(error);
      throw new Error(`git: ${reason}`, { cause: error });
    }
  }
}

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > MAX_CONTENT_BYTES) throw new Error(`the manifests have more than ${MAX_CONTENT_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** `<id> blob <bytes>` and a line break, the content, and a line break: for each object. */
function splitBatch(output: Buffer, count: number): string[] {
  const contents: string[] = [];
  let at = 0;
  while (contents.length < count) {
    const end = output.indexOf('\n', at);
    const size = Number(/^\S+ blob (\d+)$/u.exec(output.toString('latin1', at, Math.max(at, end)))?.[1] ?? NaN);
    if (Number.isNaN(size)) break;
    contents.push(output.toString('utf8', end + 1, end + 1 + size));
    at = end + 1 + size + 1;
  }
  return contents;
}
