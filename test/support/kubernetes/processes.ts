import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WAIT_LIMIT_MS } from '../limits.ts';
import { once } from '../once.ts';

/**
 * Kills the processes of the last list, and removes the folder, as soon as its standard input ends, which the kernel does when this
 * process dies in any way, by SIGKILL too. A shell of its own process group, so that Ctrl-C in a terminal does not reach it first.
 */
const WATCHDOG =
  'pids=; while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids; sleep 0.2; rm -rf "$1"';

/** Programs that end with this process. Each writes `<name>.log` in the folder, which is removed with them. */
export class Processes {
  readonly directory: string;
  readonly #children = new Map<string, ChildProcess>();
  readonly #watchdog: ChildProcess;

  constructor(directory: string) {
    this.directory = directory;
    this.#watchdog = spawn('sh', ['-c', WATCHDOG, 'watchdog', directory], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    this.#watchdog.unref();
    // The shell may have ended already when the last list is written.
    this.#watchdog.stdin?.on('error', () => {});
  }

  start(name: string, file: string, args: readonly string[]): ChildProcess {
    const log = openSync(join(this.directory, `${name}.log`), 'a');
    const child = spawn(file, args, { stdio: ['ignore', log, log], cwd: this.directory });
    closeSync(log);
    child.unref();
    this.#children.set(name, child);
    this.#tellWatchdog();
    return child;
  }

  get(name: string): ChildProcess {
    const child = this.#children.get(name);
    if (child === undefined) throw new Error(`\`${name}\` was never started`);
    return child;
  }

  running(name: string): boolean {
    const child = this.get(name);
    return child.exitCode === null && child.signalCode === null;
  }

  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.get(name);
    if (!this.running(name)) return;
    const exited = once(child, 'exit');
    child.ref();
    child.kill(signal);
    await exited;
  }

  /** Waits until `ready` returns true. @throws with the end of the log if the program exits or the time is over. */
  async waitUntil(name: string, ready: () => Promise<boolean>, timeoutMs = WAIT_LIMIT_MS): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!(await ready())) {
      if (!this.running(name)) throw new Error(`${name} ended before it was ready:\n${await this.logTail(name)}`);
      if (Date.now() > deadline)
        throw new Error(`${name} was not ready after ${timeoutMs} ms:\n${await this.logTail(name)}`);
      await sleep(50);
    }
  }

  async logTail(name: string, lines = 20): Promise<string> {
    const text = await readFile(join(this.directory, `${name}.log`), 'utf8').catch(() => '(no log)');
    return text.trimEnd().split('\n').slice(-lines).join('\n');
  }

  /** Kills all, last started first, and removes the folder. */
  async stop(): Promise<void> {
    for (const name of [...this.#children.keys()].reverse()) await this.kill(name);
    this.#children.clear();
    this.#tellWatchdog();
    const exited = once(this.#watchdog, 'exit');
    this.#watchdog.ref();
    this.#watchdog.stdin?.end();
    await exited;
  }

  #tellWatchdog(): void {
    const pids = [...this.#children.values()].map((child) => child.pid).filter((pid) => pid !== undefined);
    this.#watchdog.stdin?.write(`${pids.join(' ')}\n`);
  }
}

/** Below the ports that systems give to outgoing connections, which could take a port before its server listens. */
const FIRST_PORT = 10_000;
const PORTS = 20_000;
/** Ports that this process has returned already: their servers may not listen yet. */
const givenPorts = new Set<number>();

/** `count` different ports of 127.0.0.1 on which nothing listens. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = FIRST_PORT + randomInt(PORTS);
    if (givenPorts.has(port)) continue;
    // Before the port is tried: a concurrent call may draw it meanwhile.
    givenPorts.add(port);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false;
  }
  await once(server.close(), 'close');
  return true;
}
