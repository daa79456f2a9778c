import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { StoreClock } from '../clock.ts';
import { StoreError } from '../resource-store.ts';

/** Who holds a folder. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  /** Tells a process from a later one with the same pid, where the system says; see processStart(). */
  readonly startedAt: string;
  readonly token: string;
}

const HEARTBEAT_MS = 5000;
/** A holder on another machine (a pod that is gone, say) is taken for dead when its lock was not touched for so long. */
const FOREIGN_STALE_MS = 30_000;

/** Folders that this process holds: its own pid says nothing about them. */
const heldHere = new Set<string>();

/** Keeps a folder to one process at a time: a file `.lock` with who holds it, touched every few seconds. */
export class FolderLock {
  readonly #path: string;
  readonly #text: string;
  readonly #clock: StoreClock;
  #cancel: () => void = () => {};

  private constructor(path: string, text: string, clock: StoreClock) {
    this.#path = path;
    this.#text = text;
    this.#clock = clock;
  }

  /** Takes the lock; one whose holder is dead is taken over. @throws {StoreError} unavailable, naming the holder */
  static async acquire(directory: string, clock: StoreClock): Promise<FolderLock> {
    const path = join(directory, '.lock');
    if (heldHere.has(path)) throw inUse(directory, 'this very process');
    heldHere.add(path);
    try {
      const holder: Holder = {
        pid: process.pid,
        host: hostname(),
        startedAt: await processStart(process.pid),
        token: randomUUID(),
      };
      const lock = new FolderLock(path, JSON.stringify(holder), clock);
      await lock.#take(directory);
      lock.#beat();
      return lock;
    } catch (error) {
      heldHere.delete(path);
      throw error;
    }
  }

  async release(): Promise<void> {
    this.#cancel();
    // What another process took over, because this one was frozen for long, is not ours to remove.
    if ((await readText(this.#path)) === this.#text) await rm(this.#path, { force: true });
    heldHere.delete(this.#path);
  }

  async #take(directory: string): Promise<void> {
    const temporary = `${this.#path}.${randomUUID()}`;
    await writeFile(temporary, this.#text, { mode: 0o600 });
    try {
      for (let attempt = 0; attempt < 3; attempt++) {
        // link() fails where the name exists, and what it makes is whole from the first moment.
        if (await linked(temporary, this.#path)) return;
        const found = await readText(this.#path);
        if (found === undefined) continue;
        const holder = parseHolder(found);
        if (holder !== undefined && (await isAlive(holder, this.#path, this.#clock)))
          throw inUse(directory, `process ${holder.pid} on \`${holder.host}\``);
        await this.#removeStale(found);
      }
      throw inUse(directory, 'another process that is just starting');
    } finally {
      await rm(temporary, { force: true });
    }
  }

  /** Moves the stale lock away. Another process may do the same at the same time and hold the folder by now: then its lock is put back. */
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

  #beat(): void {
    this.#cancel = this.#clock.schedule(() => {
      const now = new Date(this.#clock.now());
      // A touch that fails (a full or vanished disk) is tried again; writes to the folder report such trouble by themselves.
      utimes(this.#path, now, now).catch(() => {});
      this.#beat();
    }, HEARTBEAT_MS);
  }
}

async function isAlive(holder: Holder, path: string, clock: StoreClock): Promise<boolean> {
  if (holder.host !== hostname()) {
    const touched = await stat(path).catch(() => undefined);
    return touched !== undefined && clock.now() - touched.mtimeMs < FOREIGN_STALE_MS;
  }
  // In a container every start has the same pid: a lock of our own pid that this process does not hold is a dead one's.
  if (holder.pid === process.pid) return false;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return isCode(error, 'EPERM');
  }
  const startedAt = await processStart(holder.pid);
  return startedAt === '' || startedAt === holder.startedAt;
}

/** Start time of a process in clock ticks since boot, from /proc; empty where the system has none. */
async function processStart(pid: number): Promise<string> {
  const line = await readText(`/proc/${pid}/stat`);
  // Field 22, counted after the command's name, which may hold spaces and parentheses.
  return line?.slice(line.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function parseHolder(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<Holder>;
    const whole = typeof holder.pid === 'number' && typeof holder.host === 'string';
    return whole ? (holder as Holder) : undefined;
  } catch {
    return undefined; // written by nobody we know: stale
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
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}

function inUse(directory: string, holder: string): StoreError {
  return new StoreError(
    'unavailable',
    `the folder \`${directory}\` is in use by ${holder}: stop it first, or give each process a folder of its own`,
  );
}
