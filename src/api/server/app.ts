import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import underPressure from '@fastify/under-pressure';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, LogController, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { systemClock, type Clock, type MonotonicClock } from '../../platform/clock.ts';
import type { Authenticator } from '../../access/authenticators/authenticator.ts';
import type { Authorizer } from '../../access/authorizer.ts';
import { type AccessLog, accessLog, sentStatus } from './logs/access-log.ts';
import { clientError, frameworkError, registerErrors } from './app-errors.ts';
import { serializerCompiler } from './app-serialization.ts';
import { validatorCompiler } from './app-validation.ts';
import { Authentication, registerAuthentication } from './authentication.ts';
import { AuditLog } from './logs/audit.ts';
import { trustOf } from './request/client-address.ts';
import type { Audit } from './context.ts';
import { DataPlane } from '../queries/data-plane/data-plane.ts';
import type { DataPlaneParts } from '../queries/data-plane/parts.ts';
import { OPERATIONS } from '../queries/data-plane/operations.ts';
import { createDispatcher } from './dispatcher.ts';
import { registerDocs } from '../docs/index.ts';
import { HttpError } from './errors.ts';
import { type JsonLimits, registerJsonBodies } from './request/json-bodies.ts';
import { refuseUnknownParameters } from './request/known-parameters.ts';
import { registerCompression } from './compression.ts';
import { LongWork } from './bounds/long-work.ts';
import { registerLimits, type Limits } from './admission/callers.ts';
import { reserveOwnPaths, methodGuard } from './request/methods.ts';
import { registerOpenApi } from '../docs/openapi.ts';
import type { Listener } from './bounds/pipelining.ts';
import { requestIdOf } from './request/request-id.ts';
import { RequestLog } from './logs/request-log.ts';
import { beginTrail } from './logs/request-trail.ts';
import type { Tracing } from '../../platform/tracing.ts';
import { securityHeaders } from './security-headers.ts';
import { processSessionKeys } from '../ui/session-keys.ts';
import { Sessions } from '../ui/sessions.ts';

/** Registers the routes of one API. */
export type RegisterRoutes = (app: FastifyInstance) => Promise<void>;

export interface AppParts {
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
  /** Called for each response with the route pattern (never the path) and the duration in seconds. */
  readonly observe?: (method: string, route: string, status: number, seconds: number) => void;
  readonly limits?: AppLimits;
  /** Serves queries and pages; their paths are 404 where absent. */
  readonly dataPlane?: DataPlaneParts | undefined;
  /** Limits per caller; none where absent. */
  readonly callerLimits?: Limits;
  /** Addresses of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted; none where absent. */
  readonly trustProxy?: boolean | string | readonly string[];
  /** Key and certificate for TLS, PEM; plain HTTP where absent. */
  readonly https?: { readonly key: Buffer; readonly cert: Buffer } | undefined;
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
  /** Event loop delay in milliseconds above which new requests get 503; 0 for never. */
  readonly maxEventLoopDelayMs?: number;
}

const MB = 1024 * 1024;
const BODY_LIMIT_BYTES = MB;
/** Enough for a percent-encoded SRN with several levels of long names. */
const MAX_PARAM_LENGTH = 2048;
const MAX_EVENT_LOOP_DELAY_MS = 3000;
/** Startup blocks the event loop as modules and resources are loaded. This does not indicate overload. */
const STARTUP_MS = 5000;
const REQUEST_TIMEOUT_MS = 300_000;
const DEFAULT_SESSION_MS = 7 * 86_400_000;
/** Longer than the idle time-out of common load balancers (60 s), so that they do not reuse a connection that is closing. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** Builds the HTTP server without listening. Close it to free its resources. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { clock = systemClock } = parts;
  const { controlPlane, app } = createServers(parts, clock);

  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  registerErrors(app, clock);
  const { maxFailuresPerMinute, bodyBytes = BODY_LIMIT_BYTES, json = {} } = parts.limits ?? {};
  registerJsonBodies(app, json);
  const refuseOtherMethods = methodGuard(app);
  const headers = await securityHeaders(parts.https !== undefined);
  const record = accessLog(parts.logger, clock, parts.observe);
  registerAccessLog(app, record, headers, { clock, tracing: parts.tracing });
  const refuseOverload = await registerPressureLimit(app, parts.limits?.maxEventLoopDelayMs ?? MAX_EVENT_LOOP_DELAY_MS);
  const audit = parts.audit ?? auditToLog(app, parts.logger);
  const server = { authorizer: parts.authorizer, audit, longWork: new LongWork({ clock }) };
  app.decorate('authorizer', server.authorizer);
  app.decorate('audit', server.audit);
  app.decorate('longWork', server.longWork);
  const sessions = parts.sessions ?? new Sessions({ keys: processSessionKeys(), maxAgeMs: DEFAULT_SESSION_MS, clock });
  app.decorate('sessions', sessions);
  const authentication = new Authentication({
    authenticator: parts.authenticator,
    sessions,
    clock,
    viewProblem: parts.viewProblem,
    ...(maxFailuresPerMinute !== undefined && { maxFailuresPerMinute }),
  });
  registerAuthentication(app, authentication);
  registerLimits(app, parts.callerLimits);
  refuseUnknownParameters(app);
  registerCompression(app);
  await registerOpenApi(app, parts.version, parts.dataPlane === undefined ? [] : OPERATIONS);
  await app.register(registerDocs);
  for (const plugin of parts.plugins) await app.register((scope) => plugin(scope));
  reserveOwnPaths(app);
  refuseOtherMethods();
  const trust = trustOf(parts.trustProxy ?? false);
  const headerList = Object.entries(headers).flat();
  const exchange = { server, logger: parts.logger, headers, headerList, record, trust, clock, tracing: parts.tracing };
  const checks = { authentication, limits: parts.callerLimits, refuseOverload, bodyBytes, json };
  const dataPlane = parts.dataPlane && new DataPlane(parts.dataPlane, checks, exchange);
  controlPlane.dispatch = createDispatcher({ dataPlane, controlPlane: controlPlane.handler, exchange });
  return app;
}

/** The request listeners: the handler of fastify, and the dispatcher in front of it. */
interface ControlPlane {
  handler: Listener;
  dispatch: Listener;
}

function createServers(parts: AppParts, clock: Clock): { app: FastifyInstance; controlPlane: ControlPlane } {
  const noop: Listener = () => undefined;
  const controlPlane: ControlPlane = { handler: noop, dispatch: noop };
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
    clientErrorHandler: clientError(clock),
    serverFactory: (handler) => {
      controlPlane.handler = handler;
      const listener: Listener = (request, response) => controlPlane.dispatch(request, response);
      return createNodeServer(parts.https, listener);
    },
  }).withTypeProvider<TypeBoxTypeProvider>() as unknown as FastifyInstance;
  return { app, controlPlane };
}

function createNodeServer(https: AppParts['https'], listener: Listener): Server {
  const options = {
    requestTimeout: REQUEST_TIMEOUT_MS,
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

/** Audit records in the log only. */
function auditToLog(app: FastifyInstance, logger: Logger): Audit {
  const audit = new AuditLog({ write: (record) => logger.info({ audit: record }, 'audit'), clock: systemClock });
  app.addHook('onClose', async () => audit.close());
  return audit;
}

/** @returns a function that throws 503 while the event loop is overloaded, or for a request that waited as long for its turn */
async function registerPressureLimit(
  app: FastifyInstance,
  maxEventLoopDelay: number,
): Promise<(waitedMs: number) => void> {
  if (maxEventLoopDelay === 0) return () => undefined;
  const startedAt = systemClock.monotonic();
  const pressureHandler = (): void => {
    if (systemClock.monotonic() - startedAt < STARTUP_MS) return;
    throw new HttpError(503, 'the gateway is overloaded: try again in a few seconds', {
      headers: { 'retry-after': '5' },
    });
  };
  await app.register(underPressure.default, { maxEventLoopDelay, pressureHandler });
  return (waitedMs) => {
    if (waitedMs > maxEventLoopDelay || app.isUnderPressure()) pressureHandler();
  };
}
