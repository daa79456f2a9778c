import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installed } from '../../tools/pinot/jvm.ts';
import { freePorts, Processes } from './kubernetes/processes.ts';

/** An object-store server with its data in a folder. */
export interface ObjectServer {
  readonly url: string;
  /** Stops the process without closing its connections: requests get no response. Returns when it is stopped. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/**
 * Starts a server on a free port of 127.0.0.1, with its data in a temporary folder.
 * @param part name in `tools/install.sh`
 * @param binary name of the program
 */
export async function startObjectServer(
  part: string,
  binary: string,
  args: (at: { host: string; port: number; data: string; accounts: string }) => readonly string[],
): Promise<ObjectServer> {
  const folder = await installed(part);
  const directory = await mkdtemp(join(tmpdir(), `olap-warden-${part}-`));
  const [data, accounts] = [join(directory, 'data'), join(directory, 'accounts')];
  await Promise.all([mkdir(data), mkdir(accounts)]);
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error('no free port');
  const url = `http://127.0.0.1:${port}`;
  const processes = new Processes(directory);
  const child = processes.start(binary, join(folder, binary), args({ host: '127.0.0.1', port, data, accounts }));
  await processes.waitUntil(binary, async () => {
    try {
      await (await fetch(url, { signal: AbortSignal.timeout(10_000) })).arrayBuffer();
      return true;
    } catch {
      return false;
    }
  });
  return {
    url,
    pause: () => stopProcess(child.pid ?? 0),
    resume: () => child.kill('SIGCONT'),
    stop: () => processes.stop(),
  };
}

const STOP_LIMIT_MS = 10_000;

/** The signal takes effect later where a thread of the process runs: it could respond once more. */
function stopProcess(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  if (process.platform !== 'linux') return;
  const isStopped = (thread: string): boolean => {
    try {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      // The name before it may have any characters.
      return stat.charAt(stat.lastIndexOf(')') + 2) === 'T';
    } catch {
      // The thread has ended since.
      return true;
    }
  };
  const deadline = performance.now() + STOP_LIMIT_MS;
  while (!readdirSync(`/proc/${pid}/task`).every(isStopped))
    if (performance.now() > deadline) throw new Error(`process ${pid} was not stopped within ${STOP_LIMIT_MS} ms`);
}
