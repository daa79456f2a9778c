// Packs olap-warden as an OCI image archive without a container tool: `node tools/image/oci-archive.ts OUT.tar NAME:TAG`.
//
// The root file system is that of the Containerfile: a Node binary with its shared libraries, the program, its production packages and the
// built dashboard. Times and owners are fixed and names are sorted, so that the same sources give the same digest.
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const NODE_IN_IMAGE = '/nodejs/bin/node';
const USER = '65532';
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

interface Blob {
  readonly digest: string;
  readonly size: number;
}

/** Shared libraries of an ELF binary, as `ldd` resolves them on this machine, with the loader. */
async function librariesOf(binary: string): Promise<string[]> {
  const { stdout } = await run('ldd', [binary]);
  return [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1] ?? '');
}

async function put(source: string, destination: string): Promise<void> {
  await mkdir(dirname(destination), { recursive: true });
  await cp(source, destination, { recursive: true, dereference: true });
}

/** Installs the production packages of the lock file. */
async function installPackages(folder: string): Promise<void> {
  for (const name of ['package.json', 'package-lock.json']) await cp(join(root, name), join(folder, name));
  await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], {
    cwd: folder,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  await rm(join(folder, 'package-lock.json'));
  await rm(join(folder, 'node_modules/.package-lock.json'), { force: true });
}

async function makeRootFileSystem(folder: string): Promise<void> {
  const app = join(folder, 'app');
  for (const name of ['app', 'tmp', 'etc', 'proc', 'sys', 'dev']) await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, 'etc/passwd'), `root:x:0:0::/:\nnonroot:x:${USER}:${USER}::/:\n`);
  await writeFile(join(folder, 'etc/group'), `root:x:0:\nnonroot:x:${USER}:\n`);
  await put(await realpath(process.execPath), join(folder, NODE_IN_IMAGE));
  for (const library of await librariesOf(process.execPath)) await put(await realpath(library), join(folder, library));
  await installPackages(app);
  await put(join(root, 'src'), join(app, 'src'));
  if ((await stat(join(root, 'web/dist/index.html')).catch(() => undefined)) === undefined) {
    throw new Error('web/dist is not built: run `make web` first');
  }
  await put(join(root, 'web/dist'), join(app, 'web/dist'));
  await put(join(root, 'docs/checks'), join(app, 'docs/checks'));
}

async function tar(archive: string, folder: string, names: readonly string[]): Promise<void> {
  const fixed = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  await run('tar', [...fixed, '-cf', archive, '-C', folder, ...names]);
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Adds a file to the blobs of the archive, named by its digest. */
async function addFile(blobs: string, file: string): Promise<Blob> {
  const hex = await sha256(file);
  await pipeline(createReadStream(file), createWriteStream(join(blobs, hex)));
  return { digest: `sha256:${hex}`, size: (await stat(file)).size };
}

async function addJson(work: string, blobs: string, value: unknown): Promise<Blob> {
  const file = join(work, 'blob.json');
  await writeFile(file, JSON.stringify(value));
  return addFile(blobs, file);
}

const MEDIA = 'application/vnd.oci.image';
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

/** @returns the digest of the image's manifest */
async function pack(out: string, name: string): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'olap-warden-image-'));
  try {
    const layer = join(work, 'layer.tar');
    await makeRootFileSystem(join(work, 'root'));
    await run('chmod', ['1777', join(work, 'root/tmp')]);
    await tar(layer, join(work, 'root'), await readdir(join(work, 'root')).then((names) => names.sort()));
    const image = join(work, 'image');
    const blobs = join(image, 'blobs/sha256');
    await mkdir(blobs, { recursive: true });
    const architecture = ARCHITECTURES[process.arch];
    if (architecture === undefined) throw new Error(`no image for the architecture ${process.arch}`);
    const layerBlob = await addFile(blobs, layer);
    const config = await addJson(work, blobs, {
      architecture,
      os: 'linux',
      created: '1970-01-01T00:00:00Z',
      rootfs: { type: 'layers', diff_ids: [layerBlob.digest] },
      config: {
        Entrypoint: [NODE_IN_IMAGE, '/app/src/main.ts'],
        Cmd: ['gateway'],
        User: `${USER}:${USER}`,
        WorkingDir: '/app',
        Env: ['PATH=/nodejs/bin', 'NODE_ENV=production'],
        ExposedPorts: { '8080/tcp': {}, '9090/tcp': {} },
      },
    });
    const manifest = await addJson(work, blobs, {
      schemaVersion: 2,
      mediaType: `${MEDIA}.manifest.v1+json`,
      config: { mediaType: `${MEDIA}.config.v1+json`, ...config },
      layers: [{ mediaType: `${MEDIA}.layer.v1.tar`, ...layerBlob }],
    });
    await writeFile(join(image, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
    const annotations = {
      'io.containerd.image.name': name,
      'org.opencontainers.image.ref.name': name.split(':').at(-1),
    };
    await writeFile(
      join(image, 'index.json'),
      JSON.stringify({
        schemaVersion: 2,
        mediaType: `${MEDIA}.index.v1+json`,
        manifests: [
          { mediaType: `${MEDIA}.manifest.v1+json`, ...manifest, platform: { architecture, os: 'linux' }, annotations },
        ],
      }),
    );
    await mkdir(dirname(resolve(out)), { recursive: true });
    await tar(out, image, ['oci-layout', 'index.json', 'blobs']);
    return manifest.digest;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const [out, name] = process.argv.slice(2);
if (out === undefined || name === undefined || !name.includes(':')) {
  process.stderr.write('usage: node tools/image/oci-archive.ts OUT.tar NAME:TAG\n');
  process.exitCode = 2;
} else {
  const digest = await pack(out, name);
  const { size } = await stat(out);
  process.stdout.write(`${out} ${name} ${digest} ${Math.round(size / 1_048_576)} MB\n`);
}
