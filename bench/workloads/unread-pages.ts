import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Target } from './load.ts';
import { residentMb } from './load.ts';

const SAMPLE_MS = 50;

export interface Unread {
  readonly connections: number;
  /** Requests that each connection sends at once. */
  readonly pipelined: number;
  /** How long nobody reads. */
  readonly seconds: number;
}

/** Opens connections that send many requests and read no response. @returns growth of the resident memory and the slowest request of another caller */
export async function leaveUnread(
  pages: readonly Target[],
  other: () => Promise<void>,
  pid: number,
  { connections, pipelined, seconds }: Unread,
): Promise<{ grownMb: number; slowestMs: number }> {
  const before = await residentMb(pid);
  const sockets: Socket[] = [];
  let highest = before;
  let slowestMs = 0;
  try {
    for (let index = 0; index < connections; index++) {
      const { hostname, port } = new URL(pages[0]!.url);
      const socket = connect(Number(port), hostname);
      // The gateway may end such a connection.
      socket.on('error', () => undefined);
      sockets.push(socket);
      await once(socket, 'connect');
      socket.pause();
      socket.write(Array.from({ length: pipelined }, (_, at) => requestText(pages[at % pages.length]!)).join(''));
    }
    const until = performance.now() + seconds * 1000;
    while (performance.now() < until) {
      const began = performance.now();
      await other();
      slowestMs = Math.max(slowestMs, performance.now() - began);
      highest = Math.max(highest, await residentMb(pid));
      await delay(SAMPLE_MS);
    }
    for (const socket of sockets) await requirePages(socket);
    return { grownMb: highest - before, slowestMs };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function requestText({ url, method, headers }: Target): string {
  const { host, pathname, search } = new URL(url);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** What the system holds for the connection begins with a page. @throws {Error} if the gateway rejected the requests */
async function requirePages(socket: Socket): Promise<void> {
  const first = once(socket, 'data', { signal: AbortSignal.timeout(10_000) });
  socket.resume();
  const [chunk] = (await first) as [Buffer];
  const line = chunk.toString('latin1').split('\r\n', 1)[0] ?? '';
  if (!line.startsWith('HTTP/1.1 200')) throw new Error(`the pipelined requests got \`${line.slice(0, 100)}\``);
}
