import { randomUUID } from 'node:crypto';
import underPressure from '@fastify/under-pressure';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, LogController, type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Authenticator } from '../access/authenticator.ts';
import type { Authorizer } from '../access/authorizer.ts';
import { clientError, frameworkError, registerErrors } from './app-errors.ts';
import { validatorCompiler } from './app-validation.ts';
import { registerAuthentication } from './authentication.ts';
import { auditToLog, type Audit } from './audit.ts';
import './context.ts';
import { registerDocs } from './docs.ts';
import { HttpError } from './errors.ts';
import { registerLimits, type Limits } from './limits.ts';
import { keepOwnPaths, methodGuard } from './methods.ts';
import { registerOpenApi } from './openapi.ts';
import { RequestLog } from './request-log.ts';
import { securityHeaders } from './security-headers.ts';

/** Registers the routes of one interface. */
export type RegisterRoutes = (app: FastifyInstance) => Promise<void>;

export interface AppParts {
  readonly logger: Logger;
  readonly version: string;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** The interfaces, in order; each one gets a context of its own. One that takes every path (`/*`) comes last. */
  readonly plugins: readonly RegisterRoutes[];
  /** Told of decisions that must leave a record; writes them to the log where absent. */
  readonly audit?: Audit;
  /** Told of each answer: the route's pattern (never the path itself), and how long it took in seconds. */
  readonly observe?: (method: string, route: string, status: number, seconds: number) => void;
  readonly limits?: AppLimits;
  /** What one caller may ask for; without bounds where absent. */
  readonly callerLimits?: Limits;
  /** Addresses of proxies whose `X-Forwarded-For` is believed; none where absent. */
  readonly trustProxy?: boolean | string | readonly string[];
  /** Reads the key and certificate for TLS; plain HTTP where absent. */
  readonly https?: { readonly key: Buffer; readonly cert: Buffer } | undefined;
  readonly now?: () => Date;
}

export interface AppLimits {
  /** Bytes of a request body, unless a route says otherwise. */
  readonly bodyBytes?: number;
  readonly maxFailuresPerMinute?: number;
  /** Milliseconds of delay of the event loop beyond which new requests are refused with 503; 0 for never. */
  readonly maxEventLoopDelayMs?: number;
}

const MB = 1024 * 1024;
const BODY_LIMIT_BYTES = MB;
/** An SRN with several levels of long names, percent-encoded. */
const MAX_PARAM_LENGTH = 2048;
const MAX_EVENT_LOOP_DELAY_MS = 3000;
/** Loading modules and reading the resources holds up the event loop at the start: that says nothing about the load. */
const START_MS = 5000;
const REQUEST_TIMEOUT_MS = 300_000;
/** Longer than the idle time-outs of usual load balancers (60 s), so that they never reuse a connection that closes. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** Composes the HTTP interface from its parts; does not listen. Close it to free its resources. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const now = parts.now ?? (() => new Date());
  const app = fastify({
    loggerInstance: parts.logger,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger, bindings, options) =>
      new RequestLog(logger, bindings, options) as unknown as FastifyBaseLogger,
    bodyLimit: parts.limits?.bodyBytes ?? BODY_LIMIT_BYTES,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    trustProxy: typeof parts.trustProxy === 'object' ? [...parts.trustProxy] : (parts.trustProxy ?? false),
    genReqId: ({ headers }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    },
    frameworkErrors: frameworkError(now),
    clientErrorHandler: clientError(now),
    https: parts.https ?? null,
  }).withTypeProvider<TypeBoxTypeProvider>() as unknown as FastifyInstance;

  app.setValidatorCompiler(validatorCompiler);
  registerErrors(app, now);
  const refuseOtherMethods = methodGuard(app);
  registerAccessLog(app, parts, await securityHeaders(parts.https !== undefined));
  await registerPressureLimit(app, parts.limits?.maxEventLoopDelayMs ?? MAX_EVENT_LOOP_DELAY_MS);
  app.decorate('authorizer', parts.authorizer);
  app.decorate('audit', parts.audit ?? auditToLog);
  registerAuthentication(app, {
    authenticator: parts.authenticator,
    now,
    ...(parts.limits?.maxFailuresPerMinute !== undefined && {
      maxFailuresPerMinute: parts.limits.maxFailuresPerMinute,
    }),
  });
  if (parts.callerLimits) registerLimits(app, parts.callerLimits);
  await registerOpenApi(app, parts.version);
  await app.register(registerDocs);
  for (const plugin of parts.plugins) await app.register((scope) => plugin(scope));
  keepOwnPaths(app);
  refuseOtherMethods();
  return app;
}

/** One record for each answer, and the request's id in it: no query string, no header, no body. Also the headers that every answer has. */
function registerAccessLog(
  app: FastifyInstance,
  { observe, logger }: AppParts,
  headers: Readonly<Record<string, string>>,
): void {
  // Without promises: these run for every request, and have nothing to wait for.
  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(headers).header('x-request-id', request.id);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none');
    observe?.(request.method, route, reply.statusCode, reply.elapsedTime / 1000);
    logger.info(
      {
        reqId: request.id,
        method: request.method,
        path: request.url.split('?', 1)[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        // Null before authentication, whatever the type says.
        principal: (request.principal as typeof request.principal | null)?.srn,
        clientAddress: request.ip,
      },
      'answered',
    );
    done();
  });
}

async function registerPressureLimit(app: FastifyInstance, maxEventLoopDelay: number): Promise<void> {
  if (maxEventLoopDelay === 0) return;
  const begun = performance.now();
  await app.register(underPressure.default, {
    maxEventLoopDelay,
    pressureHandler: () => {
      if (performance.now() - begun < START_MS) return;
      throw new HttpError(503, 'the gateway is overloaded: try again in a few seconds', {
        headers: { 'retry-after': '5' },
      });
    },
  });
}
