import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import type { Front } from './front/front.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** What stands before the server; absent where nothing does. */
    readonly front?: Front;
  }
}

/** A listener could not be opened; the message says what would help. */
export class ListenError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'ListenError';
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken by another program',
  EACCES: 'may not be used by this user',
  EADDRNOTAVAIL: 'is no address of this machine',
};

function listenError(host: string, port: number, setting: string, error: unknown): ListenError {
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? ''] ?? String(error);
  return new ListenError(`the address ${host}:${port} ${reason}; \`--${setting}\` chooses another port`, {
    cause: error,
  });
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Opens the listener of the REST interfaces. @returns its port @throws {ListenError} */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<number> {
  try {
    await app.listen({ host, port, listenTextResolver: () => 'listening' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === 'listen') throw listenError(host, port, 'port', error);
    throw error;
  }
  return portOf(app.server);
}

/** Opens the listener of probes and metrics. @returns its port @throws {ListenError} */
export async function listenProbes(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError(host, port, 'metrics-port', error);
  }
  return portOf(server);
}

/** Ends a plain server: its listener at once, its idle connections too. */
export async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

const IDLE_CHECK_MS = 50;
/** So long clients that use their connections again are told with each answer that it is the last. */
const FAREWELL_MS = 1_000;

/**
 * A connection that closes just when its client sends the next request fails that request. So every answer says `connection: close` for
 * a while first; only what has been idle all the time is closed from this side afterwards.
 */
async function bidFarewell(app: FastifyInstance, limitMs: number): Promise<void> {
  const { server } = app;
  app.front?.close();
  server.prependListener('request', (_request, response: ServerResponse) => response.setHeader('connection', 'close'));
  const connections = promisify(server.getConnections.bind(server));
  const end = performance.now() + limitMs;
  while (performance.now() < end && (await connections()) > 0) await sleep(IDLE_CHECK_MS);
}

/**
 * Lets requests under way end, then closes the app; connections that are still busy after `graceMs` are cut. Until then it goes on serving
 * those who are connected, a second at most, and has them come back by another connection.
 * @returns false where some had to be cut
 */
export async function drain(app: FastifyInstance, graceMs: number): Promise<boolean> {
  let whole = true;
  await bidFarewell(app, Math.min(FAREWELL_MS, graceMs));
  const timer = setTimeout(() => {
    whole = false;
    app.server.closeAllConnections();
  }, graceMs);
  // A connection whose last answer has just gone out stays open for another request, which will not be taken.
  const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_MS);
  try {
    await app.close();
  } finally {
    clearTimeout(timer);
    clearInterval(idle);
  }
  return whole;
}

/** Gives new connections a renewed certificate; those that are open keep theirs. Does nothing for a server without TLS. */
export function renewCertificate(app: FastifyInstance, pair: { readonly key: Buffer; readonly cert: Buffer }): void {
  const server: unknown = app.server;
  if (server instanceof TlsServer) server.setSecureContext(pair);
}
