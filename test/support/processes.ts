import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { OutputSearch } from './credential-search.ts';
import { within } from './until.ts';

/** Compiled modules, with which Node starts the product in half the time. Shared by all tests and kept between runs. */
export const COMPILED_MODULES = join(tmpdir(), 'olap-warden-test-compiled');

/** A program that a test runs, with its output. It is the leader of a new process group. */
export class Program {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<number>;
  #output = '';

  constructor(file: string, args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }) {
    const env = { NODE_COMPILE_CACHE: COMPILED_MODULES, ...options.env };
    this.#name = [basename(file), ...args.slice(0, 2)].join(' ');
    this.#child = spawn(file, args, { ...options, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
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

  /** Sends a signal to the whole group, as Ctrl-C in a terminal does. Does nothing when it has ended. */
  signalGroup(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
