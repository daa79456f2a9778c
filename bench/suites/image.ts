import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import type { Bench } from '../frame/bench.ts';
import { NO_GOAL } from '../frame/rows.ts';

const ROOT = join(import.meta.dirname, '../..');
const BUILD_LIMIT_MS = 200_000;
const MB = 1_000_000;

/** The size of the image that `make image` builds without a container tool. */
export async function run(bench: Bench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-image-'));
  const node = async (...args: string[]): Promise<void> => {
    await promisify(execFile)(process.execPath, args, { cwd: ROOT, timeout: BUILD_LIMIT_MS });
  };
  try {
    await node('web/build.ts');
    const archive = join(folder, 'image.tar');
    await node('tools/image/oci-archive.ts', archive, 'olap-warden:bench');
    const program = await stat(process.execPath);
    const { size } = await stat(archive);
    const row = { unit: 'MB', better: 'less', goal: NO_GOAL } as const;
    const peer = { peer: 'the program `node` in it', theirs: program.size / MB };
    bench.add({ ...row, work: 'size of the container image on disk', ours: size / MB, ...peer });
    const compressed = await gzippedSize(archive);
    bench.add({ ...row, work: 'size of the container image, compressed for transfer', ours: compressed / MB });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function gzippedSize(file: string): Promise<number> {
  let bytes = 0;
  for await (const chunk of createReadStream(file).pipe(createGzip())) bytes += (chunk as Buffer).length;
  return bytes;
}
