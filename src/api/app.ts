import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { TlsOptions } from 'node:tls';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, LogController, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { QueueMetrics } from '../platform/fair-queue.ts';
import { systemClock, type Clock, type MonotonicClock } from '../platform/clock.ts';
import type { Authenticator } from '../access/authenticators/authenticator.ts';
import type { Authorizer } from '../access/authorizer.ts';
import { type AccessLog, accessLog, sentStatus } from './server/logs/access-log.ts';
import { Admission, type Listener, type MinRates } from './server/admission/admission.ts';
import type { ConnectionLimits } from './server/admission/connections.ts';
import { connectionsWithin } from './server/admission/descriptors.ts';

import { memoryQueue } from './server/admission/memory.ts';
import { Rejects } from './server/admission/rejects.ts';
import { frameworkError, registerErrors } from './server/app-errors.ts';
import { serializerCompiler } from './server/app-serialization.ts';
import { validatorCompiler } from './server/app-validation.ts';
import { Authentication, registerAuthentication } from './server/authentication/authentication.ts';
import { AuditLog } from './server/logs/audit.ts';
import { type Trust, trustOf } from './server/request/client-address.ts';
import type { Audit, RequestContext } from './server/context.ts';
import { trackConnections } from './server/cut-connection.ts';
import { DataPlane } from './queries/data-plane/data-plane.ts';
import type { DataPlaneDependencies } from './queries/data-plane/dependencies.ts';
import { OPERATIONS } from './queries/data-plane/operations.ts';
import { createDispatcher } from './dispatcher.ts';
import { registerDocs } from './docs/index.ts';
import { type JsonLimits, registerJsonBodies } from './server/bodies/read-body.ts';
import { refuseUnknownParameters } from './server/request/known-parameters.ts';
import { registerCompression } from './server/compression.ts';
import { RequestWork } from './server/admission/work.ts';
import { registerLimits, type Limits } from './server/admission/callers.ts';
import { reserveOwnPaths, methodGuard } from './server/request/methods.ts';
import { registerOpenApi } from './docs/openapi.ts';
import { requestIdOf } from './server/request/request-id.ts';
import { RequestLog } from './server/logs/request-log.ts';
import { beginTrail } from './server/logs/request-trail.ts';
import type { Tracing } from '../platform/tracing.ts';
import { securityHeaders } from './server/security-headers.ts';
import { processSessionKeys } from './server/authentication/session-keys.ts';
import { Sessions } from './server/authentication/sessions.ts';

/** Registers the routes of one API. */
export type RegisterRoutes = (app: FastifyInstance) => Promise<void>;

export interface AppDependencies {
  readonly logger: Logger;
  readonly version: string;
  readonly authenticator: Authenticator;
  /** Why access cannot be decided now; undefined while there is no reason. Requests with a credential then get 503. */
  readonly viewProblem?: () => string | undefined;
  /** The sessions of the dashboard; by default with a key of this process. */
  readonly sessions?: Sessions;
  readonly authorizer: Authorizer;
  /** The APIs, in order; each one gets its own fastify context. A catch-all route (`/*`) comes last. */
  readonly plugins: readonly RegisterRoutes[];
  /** Records denied calls and writes; logs them where absent. */
  readonly audit?: Audit;
  /** Of the limits of connections. */
  readonly limitMetrics?: QueueMetrics;
  /** Counts what is rejected before it is a request, by the code of Node.js. */
  readonly onRejected?: (reason: string) => void;
  /** Called for each response with the route pattern (never the path) and the duration in seconds. */
  readonly observe?: (method: string, route: string, status: number, seconds: number) => void;
  readonly limits?: AppLimits;
  /** Serves queries and pages; their paths are 404 where absent. */
  readonly dataPlane?: DataPlaneDependencies | undefined;
  /** Limits per caller; none where absent. */
  readonly callerLimits?: Limits;
  /** When long work of requests begins. */
  readonly work?: RequestWork;
  /** Addresses of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted; none where absent. */
  readonly trustProxy?: boolean | string | readonly string[];
  /** Key and certificate for TLS, PEM; plain HTTP where absent. */
  readonly https?: TlsOptions | undefined;
  /** Creates the spans of requests; undefined where traces are off. */
  readonly tracing?: Tracing | undefined;
  /** The system clock by default. */
  readonly clock?: Clock;
}

export interface AppLimits {
  /** Maximum bytes of a request body, unless a route sets another limit. */
  readonly bodyBytes?: number;
  /** Limits of JSON bodies. */
  readonly json?: JsonLimits;
  readonly maxFailuresPerMinute?: number;
  /** Milliseconds that a request may wait for its turn of the event loop; it gets 503 then. */
  readonly maxTurnWaitMs?: number;
  /** At most what the file descriptors of the process allow. */
  readonly connections?: ConnectionLimits;
  readonly minRates?: MinRates;
}

const MB = 1024 * 1024;
const BODY_LIMIT_BYTES = MB;
/** Enough for a percent-encoded SRN with several levels of long names. */
const MAX_PARAM_LENGTH = 2048;
const MAX_TURN_WAIT_MS = 3000;
const MAX_CONNECTIONS = 4000;
const REQUEST_TIMEOUT_MS = 300_000;
/** A connection that has not sent a whole request head by then is closed, and so is one without a complete handshake of TLS. */
const HEAD_TIMEOUT_MS = 10_000;
/** How often Node looks for connections above the time-outs. */
const CHECK_MS = 2_000;
const DEFAULT_SESSION_MS = 7 * 86_400_000;
/** Longer than the idle time-out of common load balancers (60 s), so that they do not reuse a connection that is closing. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** Builds the HTTP server without listening. Close it to free its resources. */
export async function buildApp(parts: AppDependencies): Promise<FastifyInstance> {
  const { clock = systemClock } = parts;
  const trust = trustOf(parts.trustProxy ?? false);
  const admission = admissionOf(parts, trust, clock);
  const { controlPlane, app } = createServers(parts, admission, clock);

  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  registerErrors(app, clock);
  const { bodyBytes = BODY_LIMIT_BYTES, json = {}, maxTurnWaitMs: maxWaitMs = MAX_TURN_WAIT_MS } = parts.limits ?? {};
  registerJsonBodies(app, json);
  const refuseOtherMethods = methodGuard(app);
  const headers = await securityHeaders(parts.https !== undefined);
  const record = accessLog(parts.logger, clock, parts.observe);
  registerAccessLog(app, record, headers, { clock, tracing: parts.tracing });
  const server = decorate(app, parts);
  app.decorate('admission', admission);
  app.decorate('memory', parts.dataPlane?.memory ?? memoryQueue());
  const authentication = authenticationOf(app, parts, clock);
  registerAuthentication(app, authentication);
  registerLimits(app, parts.callerLimits, admission);
  refuseUnknownParameters(app);
  registerCompression(app);
  await registerOpenApi(app, parts.version, parts.dataPlane === undefined ? [] : OPERATIONS);
  await app.register(registerDocs);
  for (const plugin of parts.plugins) await app.register((scope) => plugin(scope));
  reserveOwnPaths(app);
  refuseOtherMethods();
  const headerList = Object.entries(headers).flat();
  const exchange = { server, logger: parts.logger, headers, headerList, record, trust, clock, tracing: parts.tracing };
  const checks = { authentication, limits: parts.callerLimits, admission, bodyBytes, json };
  const dataPlane = parts.dataPlane && new DataPlane(parts.dataPlane, checks, exchange);
  const { handler } = controlPlane;
  controlPlane.dispatch = createDispatcher({ dataPlane, controlPlane: handler, exchange, admission, maxWaitMs });
  return app;
}

/** The request listeners: the handler of fastify, and the dispatcher in front of it. */
interface ControlPlane {
  handler: Listener;
  dispatch: Listener;
}

function authenticationOf(app: FastifyInstance, parts: AppDependencies, clock: Clock): Authentication {
  const sessions = parts.sessions ?? new Sessions({ keys: processSessionKeys(), maxAgeMs: DEFAULT_SESSION_MS, clock });
  app.decorate('sessions', sessions);
  const { authenticator, viewProblem, limits: { maxFailuresPerMinute } = {} } = parts;
  return new Authentication({
    authenticator,
    sessions,
    clock,
    viewProblem,
    ...(maxFailuresPerMinute !== undefined && { maxFailuresPerMinute }),
  });
}

function admissionOf(
  { limits = {}, limitMetrics: metrics }: AppDependencies,
  trust: Trust | undefined,
  clock: Clock,
): Admission {
  const { connections = { total: MAX_CONNECTIONS }, minRates } = limits;
  const withinDescriptors = { ...connections, total: connectionsWithin(connections.total) };
  return new Admission({ clock, connections: withinDescriptors, minRates, trust, metrics });
}

function createServers(
  parts: AppDependencies,
  admission: Admission,
  clock: Clock,
): { app: FastifyInstance; controlPlane: ControlPlane } {
  const noop: Listener = () => undefined;
  const controlPlane: ControlPlane = { handler: noop, dispatch: noop };
  const rejects = new Rejects({ clock, log: parts.logger, onRejected: parts.onRejected });
  const app = fastify({
    loggerInstance: parts.logger,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger, bindings, options) =>
      new RequestLog(logger, bindings, options) as unknown as FastifyBaseLogger,
    bodyLimit: parts.limits?.bodyBytes ?? BODY_LIMIT_BYTES,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    trustProxy: typeof parts.trustProxy === 'object' ? [...parts.trustProxy] : (parts.trustProxy ?? false),
    genReqId: ({ headers }) => requestIdOf(headers),
    frameworkErrors: frameworkError(clock),
    clientErrorHandler: rejects.clientError,
    serverFactory: (handler) => {
      controlPlane.handler = handler;
      const listener: Listener = (request, response) => controlPlane.dispatch(request, response);
      const server = createNodeServer(parts.https, admission, listener);
      trackConnections(server);
      admission.attach(server);
      rejects.attach(server);
      return server;
    },
  }).withTypeProvider<TypeBoxTypeProvider>() as unknown as FastifyInstance;
  return { app, controlPlane };
}

function createNodeServer(https: AppDependencies['https'], { serverOptions }: Admission, listener: Listener): Server {
  const options = {
    ...serverOptions,
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: HEAD_TIMEOUT_MS,
    handshakeTimeout: HEAD_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // `checkHeaders` rejects a missing Host with an Error body.
    requireHostHeader: false,
  };
  const server =
    https === undefined ? createServer(options, listener) : createTlsServer({ ...https, ...options }, listener);
  // Without this, Node responds to an unknown `Expect` itself, without an Error body.
  return server.on('checkExpectation', listener);
}

/** Writes an access record for each response, and adds the common headers. */
function registerAccessLog(
  app: FastifyInstance,
  record: AccessLog,
  headers: Readonly<Record<string, string>>,
  { clock, tracing }: { readonly clock: MonotonicClock; readonly tracing: Tracing | undefined },
): void {
  app.decorateRequest('clientAddress', '');
  app.decorateRequest('trail', undefined);
  app.decorateRequest('onAnswered', null as unknown as FastifyRequest['onAnswered']);
  // Callback style avoids a promise for every request.
  app.addHook('onRequest', (request, reply, done) => {
    const startedAt = clock.monotonic();
    // A closed socket has no address, despite the type.
    const clientAddress = (request.ip as string | undefined) ?? '';
    request.clientAddress = clientAddress;
    const trail = beginTrail(tracing, request.raw, request.id);
    request.trail = trail.trail;
    void reply.headers(headers).header('x-request-id', request.id);
    request.onAnswered = (call) => {
      if (reply.raw.closed) return false;
      reply.raw.once('close', () => call(sentStatus(reply.raw)));
      return true;
    };
    // Also emitted when the client disconnects before the response is complete.
    reply.raw.once('close', () => {
      const { id, method, url } = request;
      const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none');
      // Null before authentication, despite its type.
      const principal = (request.principal as typeof request.principal | null)?.srn;
      const agent = request.headers['user-agent'];
      record({ id, method, url, route, principal, clientAddress, startedAt, agent, trail }, reply.raw);
    });
    done();
  });
}

/** Adds what the handlers of both planes use. */
function decorate(
  app: FastifyInstance,
  { authorizer, logger, audit, work }: AppDependencies,
): RequestContext['server'] {
  const server = { authorizer, audit: audit ?? auditToLog(app, logger), work: work ?? new RequestWork() };
  app.decorate('authorizer', server.authorizer);
  app.decorate('audit', server.audit);
  app.decorate('work', server.work);
  return server;
}

/** Audit records in the log only. */
function auditToLog(app: FastifyInstance, logger: Logger): Audit {
  const audit = new AuditLog({ write: (record) => logger.info({ audit: record }, 'audit'), clock: systemClock });
  app.addHook('onClose', async () => audit.close());
  return audit;
}
