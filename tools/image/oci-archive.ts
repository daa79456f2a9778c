// Packs olap-warden as an OCI image archive without a container tool:
//   node tools/image/oci-archive.ts OUT.tar NAME:TAG [amd64,arm64]
// By default for this machine's architecture. Times and owners are fixed and names are sorted, so that the same sources give the same digest.
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { IMAGE_CONFIG } from './config.ts';
import { ARCHITECTURES, makeRootFileSystem, type Architecture } from './root-file-system.ts';

const run = promisify(execFile);
const MEDIA = 'application/vnd.oci.image';

interface Blob {
  readonly digest: string;
  readonly size: number;
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

/** Adds the image of one architecture. @returns its manifest */
async function addImage(work: string, blobs: string, architecture: Architecture): Promise<Blob> {
  const folder = join(work, architecture.oci);
  await makeRootFileSystem(folder, architecture);
  const layer = join(work, 'layer.tar');
  await tar(layer, folder, await readdir(folder).then((names) => names.sort()));
  await rm(folder, { recursive: true });
  const layerBlob = await addFile(blobs, layer);
  const config = await addJson(work, blobs, {
    architecture: architecture.oci,
    os: 'linux',
    created: '1970-01-01T00:00:00Z',
    rootfs: { type: 'layers', diff_ids: [layerBlob.digest] },
    config: IMAGE_CONFIG,
  });
  return addJson(work, blobs, {
    schemaVersion: 2,
    mediaType: `${MEDIA}.manifest.v1+json`,
    config: { mediaType: `${MEDIA}.config.v1+json`, ...config },
    layers: [{ mediaType: `${MEDIA}.layer.v1.tar`, ...layerBlob }],
  });
}

/** @returns the digest of the image: of its manifest, or of the index of several architectures */
async function pack(out: string, name: string, architectures: readonly Architecture[]): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'olap-warden-image-'));
  try {
    const image = join(work, 'image');
    const blobs = join(image, 'blobs/sha256');
    await mkdir(blobs, { recursive: true });
    const manifests = [];
    for (const architecture of architectures) {
      const manifest = await addImage(work, blobs, architecture);
      const platform = { architecture: architecture.oci, os: 'linux' };
      manifests.push({ mediaType: `${MEDIA}.manifest.v1+json`, ...manifest, platform });
    }
    const [only, ...others] = manifests;
    const index = { schemaVersion: 2, mediaType: `${MEDIA}.index.v1+json` };
    // Several architectures have an index of their own, so that one name means all of them.
    const named =
      others.length === 0
        ? only!
        : { mediaType: index.mediaType, ...(await addJson(work, blobs, { ...index, manifests })) };
    const annotations = {
      'io.containerd.image.name': name,
      'org.opencontainers.image.ref.name': name.split(':').at(-1),
    };
    await writeFile(join(image, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
    await writeFile(join(image, 'index.json'), JSON.stringify({ ...index, manifests: [{ ...named, annotations }] }));
    await mkdir(dirname(resolve(out)), { recursive: true });
    await tar(out, image, ['oci-layout', 'index.json', 'blobs']);
    return named.digest;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function architecturesOf(text: string | undefined): Architecture[] {
  const own = ARCHITECTURES.filter(({ node }) => node === process.arch);
  if (text === undefined) return own;
  return text.split(',').map((name) => {
    const found = ARCHITECTURES.find(({ oci }) => oci === name);
    if (found === undefined)
      throw new Error(`unknown architecture \`${name}\`; known: ${ARCHITECTURES.map(({ oci }) => oci).join(', ')}`);
    return found;
  });
}

const [out, name, names] = process.argv.slice(2);
if (out === undefined || name === undefined || !name.includes(':')) {
  process.stderr.write('usage: node tools/image/oci-archive.ts OUT.tar NAME:TAG [amd64,arm64]\n');
  process.exitCode = 2;
} else {
  try {
    const digest = await pack(out, name, architecturesOf(names));
    const { size } = await stat(out);
    process.stdout.write(`${out} ${name} ${digest} ${Math.round(size / 1_048_576)} MB\n`);
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
