import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../../platform/plain-error.ts';
import type { Clock } from '../../platform/clock.ts';
import { StoreError } from '../resource-store.ts';

/** The process that holds a folder. */
interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /** Distinguishes a process from a later one with the same pid; empty where the system does not provide it (see processStart()). */
  readonly startedAt: string;
  readonly token: string;
}

const HEARTBEAT_MS = 5000;
/** A holder on another host (for example a deleted pod) counts as ended when its lock file was not touched for this long. */
const FOREIGN_STALE_MS = 30_000;

/** Lock files of this process. In a container every process has the same pid, so that the pid in the file is not sufficient. */
const ownLocks = new Set<string>();

/** A lock file `.lock` that names the holder and is touched every few seconds: one process at a time can open a folder. */
export class FolderLock {
  readonly #path: string;
  readonly #text: string;
  readonly #clock: Clock;
  #cancel: () => void = () => {};

  private constructor(path: string, text: string, clock: Clock) {
    this.#path = path;
    this.#text = text;
    this.#clock = clock;
  }

  /** Acquires the lock, also from a holder that has ended. @throws {StoreError} unavailable, naming the holder */
  static async acquire(directory: string, clock: Clock): Promise<FolderLock> {
    const path = join(directory, '.lock');
    if (ownLocks.has(path)) throw inUse(directory, 'this process');
    ownLocks.add(path);
    try {
      const holder: LockHolder = {
        pid: process.pid,
        host: hostname(),
        startedAt: await processStart(process.pid),
        token: randomUUID(),
      };
      const lock = new FolderLock(path, JSON.stringify(holder), clock);
      await lock.#take(directory);
      await removeLeftovers(directory, clock);
      lock.#scheduleHeartbeat();
      return lock;
    } catch (error) {
      ownLocks.delete(path);
      throw error;
    }
  }

  async release(): Promise<void> {
    this.#cancel();
    // Another process may have taken the lock over while this one was suspended: then it must stay.
    if ((await readText(this.#path)) === this.#text) await rm(this.#path, { force: true });
    ownLocks.delete(this.#path);
  }

  async #take(directory: string): Promise<void> {
    const temporary = `${this.#path}.${randomUUID()}`;
    await writeFile(temporary, this.#text, { mode: 0o600 });
    try {
      for (let attempt = 0; attempt < 3; attempt++) {
        // link() fails when the name exists, and the new file is complete at once.
        if (await linked(temporary, this.#path)) return;
        const found = await readText(this.#path);
        if (found === undefined) continue;
        const holder = parseHolder(found);
        if (holder !== undefined && (await isAlive(holder, this.#path, this.#clock)))
          throw inUse(directory, `process ${holder.pid} on \`${holder.host}\``);
        await this.#removeStale(found);
      }
      throw inUse(directory, 'another process that is starting');
    } finally {
      await rm(temporary, { force: true });
    }
  }

  /** Moves a stale lock away. If another process has replaced it in the meantime, puts that process's lock back. */
  async #removeStale(expected: string): Promise<void> {
    const aside = `${this.#path}.${randomUUID()}`;
    try {
      await rename(this.#path, aside);
    } catch (error) {
      if (isCode(error, 'ENOENT')) return;
      throw error;
    }
    if ((await readText(aside)) !== expected) await linked(aside, this.#path);
    await rm(aside, { force: true });
  }

  #scheduleHeartbeat(): void {
    this.#cancel = this.#clock.schedule(() => {
      const now = new Date(this.#clock.now());
      // A failure (full or removed disk) is ignored: the next write to the folder reports it.
      utimes(this.#path, now, now).catch(() => {});
      this.#scheduleHeartbeat();
    }, HEARTBEAT_MS);
  }
}

/** Removes the temporary files of processes that were killed while they acquired the lock. */
async function removeLeftovers(directory: string, clock: Clock): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!/^\.lock\.[0-9a-f-]{36}$/.test(name)) continue;
    const path = join(directory, name);
    const touched = await stat(path).catch(() => undefined);
    // A younger one may belong to a process that is about to find that the folder is in use.
    if (touched !== undefined && clock.now() - touched.mtimeMs > FOREIGN_STALE_MS) await rm(path, { force: true });
  }
}

async function isAlive(holder: LockHolder, path: string, clock: Clock): Promise<boolean> {
  if (holder.host !== hostname()) {
    const touched = await stat(path).catch(() => undefined);
    return touched !== undefined && clock.now() - touched.mtimeMs < FOREIGN_STALE_MS;
  }
  // In a container every start has the same pid: a lock with this pid that this process does not hold is stale.
  if (holder.pid === process.pid) return false;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return isCode(error, 'EPERM');
  }
  const startedAt = await processStart(holder.pid);
  return startedAt === '' || startedAt === holder.startedAt;
}

/** Start time of a process in clock ticks since boot, from /proc; empty where there is no /proc. */
async function processStart(pid: number): Promise<string> {
  const line = await readText(`/proc/${pid}/stat`);
  // Field 22. Counting starts after the command name, which can contain spaces and parentheses.
  return line?.slice(line.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function parseHolder(text: string): LockHolder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<LockHolder>;
    const whole = typeof holder.pid === 'number' && typeof holder.host === 'string';
    return whole ? (holder as LockHolder) : undefined;
  } catch {
    return undefined; // not a lock file of olap-warden: stale
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return errorCode(error) === code;
}

function inUse(directory: string, holder: string): StoreError {
  return new StoreError(
    'unavailable',
    `the folder \`${directory}\` is in use by ${holder}: stop it first, or give each process a folder of its own`,
  );
}
