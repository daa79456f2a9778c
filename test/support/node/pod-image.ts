import { chmod, cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execute as run } from '../execute.ts';

const PACK = join(import.meta.dirname, '../../../tools/kubernetes/image.sh');

/**
 * Packs a small image that runs one TypeScript file by this machine's Node (`/nodejs/bin/node`), for pods of tests; about a second, 120 MB.
 * @param archive path of the OCI archive to write @param name with a tag
 */
export async function buildPodImage(archive: string, name: string, program: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'olap-warden-pod-image-'));
  try {
    const libraries = [...(await run('ldd', [process.execPath])).stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)];
    await put(process.execPath, join(work, 'nodejs/bin/node'));
    for (const [, library = ''] of libraries) await put(library, join(work, library));
    await put(program, join(work, 'program.ts'));
    await chmod(work, 0o755); // the root folder of the image, which its user must be able to enter
    await run(PACK, [work, archive, name, '/nodejs/bin/node', '/program.ts']);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function put(source: string, destination: string): Promise<void> {
  await mkdir(dirname(destination), { recursive: true });
  await cp(await realpath(source), destination);
}
