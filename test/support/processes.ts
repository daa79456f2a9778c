import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { OutputSearch } from './credential-search.ts';
import { within } from './until.ts';

/** Compiled modules, with which Node starts the product in half the time. Shared by all tests of a user and kept between runs. */
export const COMPILED_MODULES = join(tmpdir(), `olap-warden-test-compiled-${process.getuid?.()}`);

/** A program that a test runs, with its output. It is the leader of a new process group. */
export class Program {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<number>;
  #output = '';

  /** @param options.typed whether `type()` is used; its standard input is empty otherwise */
  constructor(
    file: string,
    args: readonly string[],
    options: { cwd: string; env: NodeJS.ProcessEnv; typed?: boolean },
  ) {
    const { cwd, typed = false } = options;
    const env = { NODE_COMPILE_CACHE: COMPILED_MODULES, ...options.env };
    this.#name = [basename(file), ...args.slice(0, 2)].join(' ');
    this.#child = spawn(file, args, { cwd, env, stdio: [typed ? 'pipe' : 'ignore', 'pipe', 'pipe'], detached: true });
    this.#child.stdin?.on('error', () => undefined); // it may have ended; its exit code is used
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      const search = new OutputSearch(`output of ${this.#name}`);
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        search.add(text);
      });
    }
    this.#exited = once(this.#child, 'close').then(([code, signal]) => (code as number | null) ?? (signal ? 1 : 0));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get output(): string {
    return this.#output;
  }

  /** Resolves with the exit code (1 after a signal) when it and all holders of its output have exited, within two minutes. */
  get exited(): Promise<number> {
    return within(`the end of ${this.#name}`, this.#exited);
  }

  /** As `exited`, at any time. */
  get ended(): Promise<number> {
    return this.#exited;
  }

  /** Waits until it has printed the text. @throws {Error} with its output when it ends before, or when the time is over */
  async printed(text: string, timeoutMs: number): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    let ended = false;
    void this.#exited.then(() => {
      ended = true;
    });
    while (!this.#output.includes(text)) {
      if (ended) throw new Error(`it ended before it printed \`${text}\`:\n${this.#output}`);
      if (Date.now() > deadline) throw new Error(`\`${text}\` did not come in ${timeoutMs} ms:\n${this.#output}`);
      await delay(50);
    }
  }

  /** Stops reading its output, as a collector of logs that stands still, or goes on. */
  readOutput(reads: boolean): void {
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (reads) stream?.resume();
      else stream?.pause();
    }
  }

  /** Writes to its standard input. */
  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Sends a signal to the whole group, as Ctrl-C in a terminal does. Does nothing when it has ended. */
  signalGroup(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/**
 * The processes of this machine with a variable in their environment, which their children inherit.
 * @param variable such as `HOME=/home/ada`
 */
export async function processesWith(variable: string): Promise<{ readonly pid: number; readonly line: string }[]> {
  // A process may end meanwhile, and those of other users cannot be read.
  const read = (pid: string, name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
  const found: { pid: number; line: string }[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || !(await read(pid, 'environ')).split('\0').includes(variable)) continue;
    found.push({ pid: Number(pid), line: (await read(pid, 'cmdline')).replaceAll('\0', ' ') });
  }
  return found;
}
