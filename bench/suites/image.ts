import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { startControlPlane } from '../../test/support/control-plane.ts';
import type { Program } from '../../test/support/processes.ts';
import { IMAGE_CONFIG } from '../../tools/image/config.ts';
import { ARCHITECTURES, makeRootFileSystem } from '../../tools/image/root-file-system.ts';
import type { Bench } from '../frame/bench.ts';
import { median } from '../frame/measure.ts';
import { atMost, NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { cpuMsOf } from '../process-cpu.ts';
import { NAMESPACE, serviceAccountFolder, type Stage, startProgram } from '../workloads/pods.ts';

const ROOT = join(import.meta.dirname, '../..');
const BUILD_LIMIT_MS = 200_000;
const MB = 1_000_000;
const STARTS = sized({ quick: 1, normal: 5 });

/** The image that `make image` builds without a container tool: its size, and the start of its programs. */
export async function run(bench: Bench): Promise<void> {
  await bench.part('size of the image', () => sizes(bench));
  await bench.part('start of the programs of the image', () => starts(bench));
}

async function sizes(bench: Bench): Promise<void> {
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
    const peer = { peer: 'the program `node` as it is distributed', theirs: program.size / MB };
    const goal = atMost(150, 'MB');
    bench.add({ ...row, work: 'size of the container image on disk', ours: size / MB, ...peer, goal });
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

/** CPU time of gateway and operator from their start until they are ready, on an empty namespace. */
async function starts(bench: Bench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-image-'));
  const folders = [folder];
  const programs: Program[] = [];
  const plane = await startControlPlane();
  try {
    const own = ARCHITECTURES.find(({ node }) => node === process.arch);
    if (own === undefined) throw new Error(`no image for ${process.arch}`);
    await makeRootFileSystem(folder, own);
    await plane.applyCrds();
    await plane.mustKubectl(['create', 'namespace', NAMESPACE]);
    await plane.mustKubectl(['apply', '-k', join(ROOT, 'manifests')]);
    const accounts = {
      gateway: await serviceAccountFolder(plane, 'gateway'),
      operator: await serviceAccountFolder(plane, 'operator'),
    };
    folders.push(...Object.values(accounts));
    const stage = { plane, accounts, programs, command: IMAGE_CONFIG.Entrypoint.map((path) => join(folder, path)) };
    bench.optionsOfImage();
    for (const kind of ['gateway', 'operator'] as const) {
      const times: number[] = [];
      for (let start = 0; start < STARTS; start++) times.push(await cpuOfStart(stage, kind));
      const work = `start of the ${kind} until it is ready: CPU`;
      bench.add({ work, unit: 's CPU', better: 'less', ours: median(times) / 1000, goal: atMost(1, 's CPU') });
    }
  } finally {
    for (const program of programs) program.signalGroup('SIGKILL');
    await plane.stop();
    for (const path of folders) await rm(path, { recursive: true, force: true });
  }
}

async function cpuOfStart(stage: Stage, kind: 'gateway' | 'operator'): Promise<number> {
  const { program } = await startProgram(stage, kind);
  const cpuMs = await cpuMsOf(program.pid);
  program.signalGroup('SIGTERM');
  await program.exited;
  return cpuMs;
}
