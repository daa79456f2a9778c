import { mkdtemp, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installed } from '../../tools/pinot/jvm.ts';
import { freePorts, Processes } from './kubernetes/processes.ts';

/** A program that keeps a folder of objects and answers over HTTP. */
export interface ObjectServer {
  readonly url: string;
  /** Freezes it: connections stay open and say nothing. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/**
 * Starts one on a free port of 127.0.0.1, its data in a folder that goes with it.
 * @param part as `tools/install.sh` knows it; @param binary its program's name
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
      await (await fetch(url, { signal: AbortSignal.timeout(1000) })).arrayBuffer();
      return true;
    } catch {
      return false;
    }
  });
  return {
    url,
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    stop: () => processes.stop(),
  };
}
