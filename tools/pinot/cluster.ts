import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { javaArguments } from './jvm.ts';

export interface ClusterOptions {
  /** Folder for state and log. A start with the same folder continues the same cluster. */
  readonly directory: string;
  readonly brokers: number;
  readonly servers: number;
  /** Extra Pinot properties for every instance of a role. */
  readonly properties?: Partial<Record<'controller' | 'broker' | 'server', Readonly<Record<string, string>>>>;
  readonly onProgress?: (message: string) => void;
  readonly signal?: AbortSignal;
}

/** A Pinot cluster in a child process, which exits with this process at the latest. */
export interface RunningCluster {
  readonly pid: number;
  readonly controllerUrl: string;
  readonly brokerUrls: readonly string[];
  readonly serverAdminUrls: readonly string[];
  readonly logFile: string;
  /**
   * One command of `Cluster.java`, such as `stop-server 1`; commands run one after another.
   * @throws {Error} with the cluster's message when the command fails, or when the cluster has exited
   */
  command(text: string): Promise<unknown>;
  /** Resolves when the child process has exited. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

interface ClusterEvent {
  readonly event: 'progress' | 'ready' | 'done' | 'failed';
  readonly message?: string;
  readonly error?: string;
  readonly value?: unknown;
  readonly controllerUrl?: string;
  readonly brokerUrls?: string[];
  readonly serverAdminUrls?: string[];
}

interface Waiting {
  readonly resolve: (event: ClusterEvent) => void;
  readonly reject: (error: Error) => void;
}

const STOP_LIMIT_MS = 12_000;

function clusterArguments(options: ClusterOptions): string[] {
  const list = [options.directory, '--brokers', String(options.brokers), '--servers', String(options.servers)];
  for (const [role, properties] of Object.entries(options.properties ?? {})) {
    for (const [key, value] of Object.entries(properties)) list.push(`--${role}`, `${key}=${value}`);
  }
  return list;
}

/** The responses of the child, in order: the first one to its start, the others to commands. */
class Answers {
  readonly #waiting: Waiting[] = [];
  #gone: Error | undefined;

  constructor(child: ChildProcess, logFile: string, onProgress: (message: string) => void) {
    if (child.stdout === null) throw new Error('the cluster needs a pipe for its answers');
    createInterface({ input: child.stdout }).on('line', (line) =>
      this.#take(JSON.parse(line) as ClusterEvent, onProgress),
    );
    child.once('error', (error) => this.#fail(new Error(`failed to start Pinot: ${error.message}`)));
    child.once('exit', (code, signal) =>
      this.#fail(new Error(`Pinot exited with ${signal ?? `exit code ${code}`}; its log is ${logFile}`)),
    );
  }

  next(): Promise<ClusterEvent> {
    if (this.#gone) return Promise.reject(this.#gone);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #take(event: ClusterEvent, onProgress: (message: string) => void): void {
    if (event.event === 'progress') {
      onProgress(event.message ?? '');
      return;
    }
    const waiting = this.#waiting.shift();
    if (event.event === 'failed') waiting?.reject(new Error(`Pinot: ${event.error}`));
    else waiting?.resolve(event);
  }

  #fail(error: Error): void {
    this.#gone ??= error;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}

/** @throws {Error} when Pinot cannot be installed or started; nothing is left running then */
export async function startCluster(options: ClusterOptions): Promise<RunningCluster> {
  await mkdir(options.directory, { recursive: true });
  const logFile = join(options.directory, 'pinot.log');
  const java = await javaArguments({ mainClass: 'Cluster', heap: '1g', logFile }, options.signal);
  options.signal?.throwIfAborted();
  // A separate process group: Ctrl-C in a terminal reaches only the parent, which stops the cluster last.
  const child = spawn('java', [...java, ...clusterArguments(options)], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  const ended = once(child, 'exit').then(
    () => undefined,
    () => undefined,
  );
  // A command sent while the cluster exits fails by `ended`, not by a broken pipe.
  child.stdin.on('error', () => undefined);
  const answers = new Answers(child, logFile, options.onProgress ?? (() => undefined));

  async function stop(): Promise<void> {
    child.stdin.end();
    child.kill('SIGTERM');
    const timer = new AbortController();
    const overdue = delay(STOP_LIMIT_MS, true, { signal: timer.signal }).catch(() => false);
    if (await Promise.race([ended, overdue])) child.kill('SIGKILL');
    timer.abort();
    await ended;
  }

  function onAbort(): void {
    child.kill('SIGTERM');
  }
  options.signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const ready = await answers.next();
    return {
      pid: child.pid ?? -1,
      controllerUrl: ready.controllerUrl ?? '',
      brokerUrls: ready.brokerUrls ?? [],
      serverAdminUrls: ready.serverAdminUrls ?? [],
      logFile,
      command(text) {
        const answer = answers.next();
        child.stdin.write(`${text}\n`);
        return answer.then((event) => event.value);
      },
      ended,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', onAbort);
  }
}
