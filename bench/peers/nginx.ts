import { execFile, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { installed } from '../../tools/pinot/jvm.ts';
import type { Bench } from '../frame/bench.ts';

const VERSION_LIMIT_MS = 10_000;

export interface Nginx {
  readonly url: string;
  /** Of the serving process. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** Installs nginx if it is missing. @returns the path of the program @throws {Error} if it cannot be installed */
export async function nginxProgram(bench: Bench): Promise<string> {
  const program = join(await installed('nginx'), 'nginx');
  const { stderr } = await promisify(execFile)(program, ['-v'], { timeout: VERSION_LIMIT_MS });
  bench.version('nginx', /nginx\/(\S+)/.exec(stderr)?.[1] ?? stderr.trim());
  return program;
}

/** nginx with one process over a folder of files. */
export async function startNginx(program: string, directory: string, files: string, port: number): Promise<Nginx> {
  await mkdir(directory, { recursive: true });
  const config = join(directory, 'nginx.conf');
  await writeFile(
    config,
    `daemon off; master_process off; user root; pid ${directory}/nginx.pid; error_log ${directory}/error.log;
events { worker_connections 64; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; default_type application/json;
  client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy; fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi; scgi_temp_path ${directory}/scgi;
  server { listen 127.0.0.1:${port}; root ${files}; }
}`,
  );
  const child = spawn(program, ['-p', directory, '-c', config], { stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < 100; attempt++) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      break;
    await sleep(50);
  }
  return {
    url,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
