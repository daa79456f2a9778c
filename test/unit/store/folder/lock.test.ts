import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/platform/clock.ts';
import { FolderLock } from '../../../../src/store/folder/lock.ts';
import { once } from '../../../support/once.ts';

let directory: string;
let lock: FolderLock | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'olap-warden-lock-'));
  lock = undefined;
});

afterEach(async () => {
  await lock?.release();
  expect(await readdir(directory)).toEqual([]);
  await rm(directory, { recursive: true });
});

const lockFile = () => join(directory, '.lock');
const heldBy = async (holder: object | string) =>
  writeFile(lockFile(), typeof holder === 'string' ? holder : JSON.stringify(holder));

async function sleeper(): Promise<{ pid: number; end: () => Promise<void> }> {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  await once(child, 'spawn');
  return {
    pid: child.pid ?? 0,
    end: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

describe('the lock of a data folder', () => {
  test('names its holder and is removed at release', async () => {
    lock = await FolderLock.acquire(directory, systemClock);
    expect(JSON.parse(await readFile(lockFile(), 'utf8'))).toMatchObject({ pid: process.pid, host: hostname() });
    await expect(FolderLock.acquire(directory, systemClock)).rejects.toThrow('in use by this process');
    await lock.release();
    lock = await FolderLock.acquire(directory, systemClock);
  });

  test('a running process keeps it; that of an ended process is taken over', async () => {
    const other = await sleeper();
    await heldBy({ pid: other.pid, host: hostname(), startedAt: await startOf(other.pid), token: 'x' });
    await expect(FolderLock.acquire(directory, systemClock)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(`process ${other.pid} on \`${hostname()}\``),
    });
    await other.end();
    lock = await FolderLock.acquire(directory, systemClock);
  });

  test('another process with the pid of an ended holder does not keep it', async () => {
    const other = await sleeper();
    await heldBy({ pid: other.pid, host: hostname(), startedAt: '1', token: 'x' });
    lock = await FolderLock.acquire(directory, systemClock);
    await other.end();
  });

  test('a lock with the pid of this process is stale, as after a restart of a container', async () => {
    await heldBy({ pid: process.pid, host: hostname(), startedAt: await startOf(process.pid), token: 'x' });
    lock = await FolderLock.acquire(directory, systemClock);
  });

  test('that of another host is kept while it is touched', async () => {
    await heldBy({ pid: 1, host: 'another-pod', startedAt: '1', token: 'x' });
    await expect(FolderLock.acquire(directory, systemClock)).rejects.toThrow('process 1 on `another-pod`');
    const old = new Date(Date.now() - 31_000);
    await utimes(lockFile(), old, old);
    lock = await FolderLock.acquire(directory, systemClock);
  });

  test.each([[''], ['{"pid":'], ['{}'], ['null']])('an invalid lock file (`%s`) is taken over', async (text) => {
    await heldBy(text);
    lock = await FolderLock.acquire(directory, systemClock);
  });

  test('a lock that another process took over is not removed', async () => {
    const mine = await FolderLock.acquire(directory, systemClock);
    await heldBy({ pid: 1, host: 'another-pod', startedAt: '1', token: 'x' });
    await mine.release();
    expect(await readFile(lockFile(), 'utf8')).toContain('another-pod');
    await rm(lockFile());
  });

  test('one of many processes gets a stale lock', async () => {
    for (let round = 0; round < 5; round++) {
      const folders = await Promise.allSettled(
        Array.from({ length: 8 }, async () => FolderLock.acquire(directory, systemClock)),
      );
      const won = folders.filter((result) => result.status === 'fulfilled');
      expect(won).toHaveLength(1);
      await won[0]?.value.release();
      await heldBy('');
    }
    await rm(lockFile());
  });
});

/** As the lock itself reads it; empty where there is no /proc. */
async function startOf(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return line.slice(line.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
