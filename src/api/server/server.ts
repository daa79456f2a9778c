import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { promisify } from 'node:util';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { LOG_LIMITS, RateLimiter } from '../../platform/rate-limiter.ts';
import { asError, errorCode, errorMessage } from '../../platform/plain-error.ts';
import { sleep, systemClock, type Clock } from '../../platform/clock.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import { cutOpenResponses } from './cut-connection.ts';

/** A listener could not be opened; the message has the remedy. */
export class ListenError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'ListenError';
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another program',
  EACCES: 'may not be used by this user',
  EADDRNOTAVAIL: 'is not an address of this machine',
};

function listenError(host: string, port: number, setting: string, error: unknown): ListenError {
  const reason = REASONS[errorCode(error) ?? ''] ?? errorMessage(error);
  return new ListenError(`the address ${host}:${port} ${reason}; \`--${setting}\` selects another port`, {
    cause: error,
  });
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Opens the listener of the REST APIs. @returns its port @throws {ListenError} */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<number> {
  logListenerErrors(app.server, app.log);
  try {
    await app.listen({ host, port, listenTextResolver: () => 'listening' });
  } catch (error) {
    if ((asError(error) as NodeJS.ErrnoException).syscall === 'listen') throw listenError(host, port, 'port', error);
    throw error;
  }
  return portOf(app.server);
}

/** A listener that cannot accept a connection, such as without free file descriptors, goes on. */
function logListenerErrors(server: Server, log: Pick<FastifyBaseLogger, 'warn'>): void {
  const lines = new RateLimiter(systemClock, LOG_LIMITS);
  server.on('error', (error) => {
    // That it cannot listen is reported by its caller.
    const suppressed = server.listening ? lines.admit(String(errorCode(error))) : undefined;
    if (suppressed !== undefined) log.warn({ err: error, suppressed }, 'a connection could not be accepted');
  });
}

/** Opens the listener of probes and metrics. @returns its port @throws {ListenError} */
export async function listenProbes(
  server: Server,
  { host, port, log }: { readonly host: string; readonly port: number; readonly log: Pick<FastifyBaseLogger, 'warn'> },
): Promise<number> {
  logListenerErrors(server, log);
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError(host, port, 'metrics-port', error);
  }
  return portOf(server);
}

/** Closes the listener and all connections at once. */
export async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

const IDLE_CHECK_MS = 50;
/** How long responses have `Connection: close` before the server closes. */
const CONNECTION_CLOSE_GRACE_MS = 1_000;

type DrainClock = Pick<Clock, 'monotonic' | 'schedule'>;

/**
 * Closing a connection while its client sends the next request makes that request fail. So responses have `Connection: close` for a while
 * first; afterwards only idle connections are left to close.
 */
async function announceConnectionClose(app: FastifyInstance, limitMs: number, clock: DrainClock): Promise<void> {
  const { server } = app;
  server.prependListener('request', (_request, response: ServerResponse) => response.setHeader('connection', 'close'));
  const connections = promisify(server.getConnections.bind(server));
  const end = clock.monotonic() + limitMs;
  while (clock.monotonic() < end && (await connections()) > 0) await sleep(clock, IDLE_CHECK_MS, undefined);
}

/**
 * Waits for running requests, then closes the app. Connections that are still busy after `graceMs` are closed. For at most one second it still
 * accepts requests, with `Connection: close` in the responses.
 * @returns false where busy connections were closed
 */
export async function drain(app: FastifyInstance, graceMs: number, clock: DrainClock = systemClock): Promise<boolean> {
  let completed = true;
  await announceConnectionClose(app, Math.min(CONNECTION_CLOSE_GRACE_MS, graceMs), clock);
  const cancel = clock.schedule(() => {
    completed = false;
    cutOpenResponses(app.server);
    app.server.closeAllConnections();
  }, graceMs);
  // app.close() leaves connections open that become idle later.
  const stop = runPeriodically(async () => app.server.closeIdleConnections(), {
    clock,
    intervalMs: IDLE_CHECK_MS,
    onError: (error) => app.log.error({ err: error }, 'failed to close idle connections'),
  });
  try {
    await app.close();
  } finally {
    cancel();
    await stop();
  }
  return completed;
}

/** Uses a renewed certificate for new connections. Does nothing for a server without TLS. @param https all options of the listener */
export function renewCertificate(app: FastifyInstance, https: SecureContextOptions): void {
  const server: unknown = app.server;
  if (server instanceof TlsServer) server.setSecureContext(https);
}
