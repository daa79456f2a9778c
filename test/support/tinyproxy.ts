import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installed } from '../../tools/pinot/jvm.ts';
import { freePorts, Processes } from './kubernetes/processes.ts';
import { once } from './once.ts';

/** tinyproxy on 127.0.0.1. */
export interface Tinyproxy {
  readonly url: string;
  /** The requests that it got so far, such as `CONNECT 127.0.0.1:9000` or `GET http://127.0.0.1:9000/path`. */
  requests(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** @param credential `user password`, where it asks for one */
export async function startTinyproxy(credential?: string): Promise<Tinyproxy> {
  const program = join(await installed('tinyproxy'), 'tinyproxy');
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-tinyproxy-'));
  const [port = 0] = await freePorts(1);
  const settings = [`Port ${port}`, 'Listen 127.0.0.1', 'LogLevel Connect', 'MaxClients 100', 'Timeout 600'];
  if (credential !== undefined) settings.push(`BasicAuth ${credential}`);
  await writeFile(join(folder, 'tinyproxy.conf'), `${settings.join('\n')}\n`);
  const processes = new Processes(folder);
  processes.start('tinyproxy', program, ['-d', '-c', join(folder, 'tinyproxy.conf')]);
  await processes.waitUntil('tinyproxy', async () => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  });
  return {
    url: `http://127.0.0.1:${port}`,
    async requests() {
      const log = await readFile(join(folder, 'tinyproxy.log'), 'utf8');
      return [...log.matchAll(/Request \(file descriptor \d+\): (\S+ \S+)/g)].map(([, request = '']) => request);
    },
    stop: () => processes.stop(),
  };
}
