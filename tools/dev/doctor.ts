// `make doctor`: checks the requirements of `make run` and `make test` on this machine. Exits 1 when one is missing.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { totalmem } from 'node:os';
import { promisify } from 'node:util';
import { canHoldNode } from '../../test/support/node/machine.ts';
import { cacheFolder } from '../cache-folder.ts';
import { diagnose, report } from './doctor-checks.ts';

const TIMEOUT_MS = 20_000;
const exec = promisify(execFile);

async function run(file: string, ...args: string[]): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await exec(file, args, { timeout: TIMEOUT_MS });
    return stdout + stderr;
  } catch {
    return undefined; // not installed, or not working
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    await once(server.close(), 'close');
    return true;
  } catch {
    return false;
  }
}

async function freeDiskGb(): Promise<number> {
  const folder = cacheFolder();
  await mkdir(folder, { recursive: true });
  const { bavail, bsize } = await statfs(folder);
  return (bavail * bsize) / 1e9;
}

const diagnoses = await diagnose({
  platform: process.platform,
  run,
  isFree,
  freeDiskGb: await freeDiskGb(),
  memoryGb: totalmem() / 1e9,
  nodeObstacle: canHoldNode,
});
process.stdout.write(report(diagnoses));
const missing = diagnoses.filter(({ state }) => state === 'missing');
const count = missing.length === 1 ? '1 requirement is' : `${missing.length} requirements are`;
process.stdout.write(missing.length === 0 ? 'all requirements are met\n' : `${count} missing\n`);
process.exitCode = missing.length === 0 ? 0 : 1;
