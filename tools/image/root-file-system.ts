import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { buildPackage } from '../package/build.ts';
import { stripped } from './stripped-program.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const DOWNLOAD_LIMIT_MS = 300_000;

export const NODE_IN_IMAGE = '/nodejs/bin/node';
export const USER = '65532';

/** A processor architecture by its names: of Node, of container images and Debian, and its loader. */
export interface Architecture {
  readonly node: 'x64' | 'arm64';
  readonly oci: 'amd64' | 'arm64';
  /** The file that the kernel starts for a program with shared libraries. */
  readonly loader: string;
  /** The folder of shared libraries in Debian packages. */
  readonly triplet: string;
}

export const ARCHITECTURES: readonly Architecture[] = [
  { node: 'x64', oci: 'amd64', loader: '/lib64/ld-linux-x86-64.so.2', triplet: 'x86_64-linux-gnu' },
  { node: 'arm64', oci: 'arm64', loader: '/lib/ld-linux-aarch64.so.1', triplet: 'aarch64-linux-gnu' },
];

async function put(source: string, destination: string): Promise<void> {
  await mkdir(dirname(destination), { recursive: true });
  await cp(source, destination, { recursive: true, dereference: true });
}

/** Shared libraries of an ELF binary, as `ldd` resolves them on this machine, with the loader. */
async function librariesOf(binary: string): Promise<string[]> {
  const { stdout } = await run('ldd', [binary]);
  return [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1] ?? '');
}

/** Without the symbols for debuggers: a seventh of its size. */
async function putNode(program: string, folder: string): Promise<void> {
  const file = join(folder, NODE_IN_IMAGE);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, stripped(await readFile(program)), { mode: 0o755 });
}

/** This machine's Node with its shared libraries. */
async function putOwnNode(folder: string): Promise<void> {
  await putNode(process.execPath, folder);
  for (const library of await librariesOf(process.execPath)) await put(await realpath(library), join(folder, library));
}

/** The packages of Debian with the libraries that Node's binaries need. */
const LIBRARY_PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6'];
const LIBRARIES = ['libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0', 'libgcc_s.so.1', 'libstdc++.so.6'];

/**
 * Node of the same version for another architecture, from npm, with its libraries from Debian: their lists and packages are in a folder of
 * their own, so that this machine's packages do not change.
 */
async function putForeignNode(folder: string, { node, oci, loader, triplet }: Architecture): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'olap-warden-node-'));
  try {
    const script = join(root, 'tools/node-package.mjs');
    const args = [script, `node-linux-${node}`, process.versions.node, join(work, 'node')];
    await run(process.execPath, args, { timeout: DOWNLOAD_LIMIT_MS });
    await putNode(join(work, 'node/bin/node'), folder);
    const state = join(work, 'apt');
    for (const part of ['lists/partial', 'cache/archives/partial']) await mkdir(join(state, part), { recursive: true });
    await writeFile(join(state, 'status'), '');
    const apt = [
      ...['-o', `APT::Architecture=${oci}`, '-o', `APT::Architectures::=${oci}`],
      ...['-o', `Dir::State=${state}`, '-o', `Dir::State::status=${join(state, 'status')}`],
      ...['-o', `Dir::State::lists=${join(state, 'lists')}`, '-o', `Dir::Cache=${join(state, 'cache')}`],
      ...['-o', 'APT::Sandbox::User=root'],
    ];
    const limits = { cwd: work, timeout: DOWNLOAD_LIMIT_MS, maxBuffer: MAX_OUTPUT_BYTES };
    await run('apt-get', [...apt, 'update', '-q'], limits).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      throw new Error(`the image for ${oci} requires Debian's \`apt-get\`; ARCHITECTURES selects others`, {
        cause: error,
      });
    });
    await run('apt-get', [...apt, 'download', '-q', ...LIBRARY_PACKAGES], limits);
    const unpacked = join(work, 'unpacked');
    for (const file of await readdir(work)) {
      if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(work, file), unpacked]);
    }
    const folders = [`lib/${triplet}`, `usr/lib/${triplet}`].map((path) => join(unpacked, path));
    for (const library of LIBRARIES)
      await put(await firstOf(folders, library), join(folder, `lib/${triplet}`, library));
    await put(await firstOf(folders, basename(loader)), join(folder, loader));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function firstOf(folders: readonly string[], name: string): Promise<string> {
  for (const folder of folders) {
    const path = join(folder, name);
    if ((await stat(path).catch(() => undefined)) !== undefined) return realpath(path);
  }
  throw new Error(`the Debian packages ${LIBRARY_PACKAGES.join(', ')} have no \`${name}\``);
}

/**
 * Writes the root file system of the Containerfile: Node with its shared libraries, and the program as in the npm package.
 * @throws {Error} if the dashboard is not built, or a download failed
 */
export async function makeRootFileSystem(folder: string, architecture: Architecture): Promise<void> {
  for (const name of ['app', 'tmp', 'etc', 'proc', 'sys', 'dev']) await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, 'etc/passwd'), `root:x:0:0::/:\nnonroot:x:${USER}:${USER}::/:\n`);
  await writeFile(join(folder, 'etc/group'), `root:x:0:\nnonroot:x:${USER}:\n`);
  await (architecture.node === process.arch ? putOwnNode(folder) : putForeignNode(folder, architecture));
  await buildPackage(join(folder, 'app'));
  // Its user is another one, whatever the umask of this machine is.
  await run('chmod', ['-R', 'u=rwX,go=rX', folder]);
  await run('chmod', ['1777', join(folder, 'tmp')]);
}
