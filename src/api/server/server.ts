import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { LOG_LIMITS, RateLimiter } from '../../platform/rate-limiter.ts';
import { asError, errorCode, errorMessage } from '../../platform/plain-error.ts';
import { systemClock } from '../../platform/clock.ts';

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

/** Uses a renewed certificate for new connections. Does nothing for a server without TLS. @param https all options of the listener */
export function renewCertificate(app: FastifyInstance, https: SecureContextOptions): void {
  const server: unknown = app.server;
  if (server instanceof TlsServer) server.setSecureContext(https);
}
