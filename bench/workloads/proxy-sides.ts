import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NODE_OPTIONS } from '../../tools/image/node-options.ts';

/** A server that `load` sends queries to. */
export interface Side {
  readonly url: string;
  readonly pid: number;
  /** Of a service token; the other sides check no credential. */
  readonly token?: string;
  stop(): void;
}

export interface SideProcess extends Side {
  readonly exited: Promise<void>;
}

/** The engine responds with as many kilobytes as the limit. */
const bodyOf = (kilobytes: number): string =>
  JSON.stringify({
    sql: `SELECT a, sum(b) FROM orders WHERE c > 5 AND d = 'x' GROUP BY a ORDER BY sum(b) DESC LIMIT ${kilobytes}`,
  });
const CONNECTIONS = 8;

/** Sends `requests` queries over a few connections. @returns a hash of the last answer of each connection; all are equal */
export async function load(side: Side, kilobytes: number, requests: number): Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const body = bodyOf(kilobytes);
  let left = requests;
  const hashes = new Set<string>();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      let last = '';
      while (left-- > 0) last = await ask(agent, side, body);
      if (last !== '') hashes.add(last);
    }),
  );
  agent.destroy();
  return [...hashes].join(' ');
}

function ask(agent: Agent, { url, token = 'none' }: Side, body: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  const sent = request(`${url}/query/sql`, { method: 'POST', agent, headers }, (response) => {
    const hash = createHash('sha1').update(String(response.statusCode));
    response.on('data', (chunk: Buffer) => hash.update(chunk));
    response.on('end', () => resolve(hash.digest('hex')));
    response.on('error', reject);
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

/**
 * Starts the program `proxy-process.ts`.
 * @param engine base URL of the engine, for each side but the engine itself
 * @param options of Node.js
 */
export async function startSide(
  name: 'engine' | 'ours' | 'plugin' | 'bare',
  engine = '',
  options: readonly string[] = [],
): Promise<SideProcess> {
  const program = join(import.meta.dirname, 'proxy-process.ts');
  const own = name === 'ours' ? NODE_OPTIONS : [];
  const child = spawn(process.execPath, [...own, ...options, program, name, engine], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for await (const line of createInterface(child.stdout)) {
    // The gateway also writes its log to the standard output.
    if (!/^\d+(?: |$)/.test(line)) continue;
    const [port, token = ''] = line.split(' ');
    return { url: `http://127.0.0.1:${port}`, token, pid: child.pid ?? 0, exited, stop: () => child.stdin.end() };
  }
  throw new Error(`the process \`${name}\` did not start`);
}
