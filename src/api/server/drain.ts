import type { Server } from 'node:http';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { sleep, systemClock, type Clock } from '../../platform/clock.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import { cutOpenResponses } from './cut-connection.ts';

const IDLE_CHECK_MS = 50;
/** How long responses have `Connection: close` before the listener is closed, at most. */
const CONNECTION_CLOSE_GRACE_MS = 1_000;
/** The listener is closed when no client has connected for this long. */
const QUIET_MS = 50;
/** Or when this has passed and no connection waits. */
const MAX_QUIET_WAIT_MS = 250;
/** Or when this has passed. */
const MAX_HOLD_MS = 1_000;
const QUIET_CHECK_MS = 10;
/** Turns of the event loop; each one accepts a connection, if one waits. */
const QUIET_TURNS = 3;
/** How long a connection may be without a request after the listener was closed. */
const SILENT_MS = 1_000;

/** What draining needs of the admission of requests. */
interface DrainedAdmission {
  announceClose(): void;
  hold(): () => void;
  closeSilent(): void;
}

declare module 'fastify' {
  interface FastifyInstance {
    admission: DrainedAdmission;
  }
}

type DrainClock = Pick<Clock, 'monotonic' | 'schedule'>;

/**
 * Waits for running requests, then closes the app. Connections that are still busy `graceMs` after the call are closed. For at most one second it
 * still accepts requests, with `Connection: close` in the responses.
 * @returns false where busy connections were closed
 */
export async function drain(app: FastifyInstance, graceMs: number, clock: DrainClock = systemClock): Promise<boolean> {
  const end = clock.monotonic() + graceMs;
  const arrivals = new NewConnections(app.server, clock);
  await announceConnectionClose(app, arrivals, Math.min(CONNECTION_CLOSE_GRACE_MS, graceMs / 2), clock);
  await closeListener(app, arrivals, graceMs / 4, clock);
  return await closeConnections(app, end, clock);
}

/**
 * Closing a connection while its client sends the next request makes that request fail. So responses have `Connection: close` for a while
 * first; afterwards only idle connections are left to close.
 */
async function announceConnectionClose(
  { admission }: FastifyInstance,
  arrivals: NewConnections,
  limitMs: number,
  clock: DrainClock,
): Promise<void> {
  admission.announceClose();
  const end = clock.monotonic() + limitMs;
  while (clock.monotonic() < end && ((await arrivals.open()) > 0 || !(await arrivals.noneWaits())))
    await sleep(clock, IDLE_CHECK_MS, undefined);
}

/**
 * The operating system resets the connections that wait to be accepted when the listener is closed. Each `Connection: close` makes its client connect
 * again, so under load some always wait. Clients that wait for a response do not connect: no request is started until the connections that wait have
 * been accepted and the listener is closed. A client that connects afterwards is refused, which it or its load balancer can distinguish from a request
 * that may have had an effect.
 */
async function closeListener(
  { server, admission }: FastifyInstance,
  arrivals: NewConnections,
  limitMs: number,
  clock: DrainClock,
): Promise<void> {
  const resume = admission.hold();
  const start = clock.monotonic();
  for (;;) {
    const isUnused = (await arrivals.open()) === 0;
    const noneWaits = await arrivals.noneWaits();
    const waitedMs = clock.monotonic() - start;
    const isQuiet = isUnused || arrivals.quietMs() >= QUIET_MS || waitedMs >= Math.min(MAX_QUIET_WAIT_MS, limitMs);
    // In the turn in which nothing waited.
    if ((noneWaits && isQuiet) || waitedMs >= Math.min(MAX_HOLD_MS, limitMs)) break;
    if (!isQuiet) await sleep(clock, QUIET_CHECK_MS, undefined);
  }
  server.close();
  resume();
}

/** @returns false where busy connections were closed */
async function closeConnections(app: FastifyInstance, end: number, clock: DrainClock): Promise<boolean> {
  const { server, admission } = app;
  let completed = true;
  const closedAt = clock.monotonic();
  const cancel = clock.schedule(
    () => {
      completed = false;
      cutOpenResponses(server);
      server.closeAllConnections();
    },
    Math.max(0, end - closedAt),
  );
  // app.close() leaves connections open that become idle later, and those that never had a request.
  const closeUnused = async (): Promise<void> => {
    server.closeIdleConnections();
    if (clock.monotonic() - closedAt >= SILENT_MS) admission.closeSilent();
  };
  const stop = runPeriodically(closeUnused, {
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

/** The connections of a server from now on. */
class NewConnections {
  /** The open connections; without those that wait to be accepted. */
  readonly open: () => Promise<number>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #count = 0;
  #lastAt: number;

  constructor(server: Server, clock: Pick<Clock, 'monotonic'>) {
    this.open = promisify(server.getConnections.bind(server));
    this.#clock = clock;
    this.#lastAt = clock.monotonic();
    server.on('connection', () => {
      this.#count++;
      this.#lastAt = this.#clock.monotonic();
    });
  }

  /** Milliseconds since the last one. */
  quietMs(): number {
    return this.#clock.monotonic() - this.#lastAt;
  }

  /** Whether no connection waits to be accepted. It resolves in the turn of the event loop in which this was so. */
  async noneWaits(): Promise<boolean> {
    const before = this.#count;
    for (let i = 0; i < QUIET_TURNS; i++) await new Promise((resolve) => void setImmediate(resolve));
    return this.#count === before;
  }
}
