import { randomUUID } from 'node:crypto';
import { compile as compileTrust } from '@fastify/proxy-addr';
import underPressure from '@fastify/under-pressure';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, LogController, type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Authenticator } from '../access/authenticator.ts';
import type { Authorizer } from '../access/authorizer.ts';
import { accessLog } from './access-log.ts';
import { clientError, frameworkError, registerErrors } from './app-errors.ts';
import { validatorCompiler } from './app-validation.ts';
import { registerAuthentication } from './authentication.ts';
import { auditToLog, type Audit } from './audit.ts';
import './context.ts';
import { registerDocs } from './docs.ts';
import { HttpError } from './errors.ts';
import { Front } from './front/front.ts';
import type { FileSender } from './front/file-sender.ts';
import { registerLimits, type Limits } from './limits.ts';
import { keepOwnPaths, methodGuard } from './methods.ts';
import { registerOpenApi } from './openapi.ts';
import { PageLane, type PageLaneParts } from './query/page-lane.ts';
import { QueryLane, type QueryLaneParts } from './query-lane.ts';
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
  /** Who answers plain queries on a way of their own, and an authorizer that counts nothing. The interfaces hold the same route. */
  readonly queryLane?: Pick<QueryLaneParts, 'engine' | 'uncounted'>;
  /** The stored results whose pages go a way of their own, and an authorizer that counts nothing. The interfaces hold the same route. */
  readonly pageLane?: Pick<PageLaneParts, 'queries' | 'settings' | 'uncounted'>;
  /** How files of results are sent; they are read and written where absent. */
  readonly fileSender?: FileSender | undefined;
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
    genReqId: ({ headers }) => requestId(headers['x-request-id']),
    frameworkErrors: frameworkError(now),
    clientErrorHandler: clientError(now),
    https: parts.https ?? null,
  }).withTypeProvider<TypeBoxTypeProvider>() as unknown as FastifyInstance;

  app.setValidatorCompiler(validatorCompiler);
  registerErrors(app, now);
  const refuseOtherMethods = methodGuard(app);
  const headers = await securityHeaders(parts.https !== undefined);
  const record = accessLog(parts.logger, parts.observe);
  registerAccessLog(app, record, headers);
  await registerPressureLimit(app, parts.limits?.maxEventLoopDelayMs ?? MAX_EVENT_LOOP_DELAY_MS);
  app.decorate('authorizer', parts.authorizer);
  app.decorate('audit', parts.audit ?? auditToLog);
  const authenticate = registerAuthentication(app, {
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
  const headerList = Object.entries(headers).flat();
  const lane = { authenticate, headers, headerList, record, requestId, now, overloaded: () => isUnderPressure(app) };
  installLanes(app, parts, lane);
  return app;
}

function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

function installLanes(
  app: FastifyInstance,
  { queryLane, pageLane, authorizer, logger, callerLimits: limits, trustProxy = false, fileSender }: AppParts,
  made: Pick<QueryLaneParts, 'authenticate' | 'headers' | 'headerList' | 'record' | 'requestId' | 'now' | 'overloaded'>,
): void {
  const shared = { ...made, authorizer, logger, limits, trust: trustOf(trustProxy) };
  const lanes = [
    ...(pageLane ? [new PageLane({ ...pageLane, ...shared })] : []),
    ...(queryLane ? [new QueryLane({ ...queryLane, ...shared })] : []),
  ];
  const onDefect = (error: unknown): void => logger.error({ err: error }, 'defect: a short way failed');
  const front = new Front(app.server, lanes, onDefect, fileSender);
  front.install();
  app.decorate('front', front);
}

function isUnderPressure(app: FastifyInstance): boolean {
  return app.hasDecorator('isUnderPressure') && app.isUnderPressure();
}

/** As the framework reads the same setting. */
function trustOf(setting: boolean | string | readonly string[]): QueryLaneParts['trust'] {
  if (typeof setting === 'boolean') return setting ? () => true : undefined;
  const list = typeof setting === 'string' ? setting.split(',').map((address) => address.trim()) : [...setting];
  return compileTrust(list);
}

/** A record for each answer, and the headers that every one has. */
function registerAccessLog(
  app: FastifyInstance,
  record: ReturnType<typeof accessLog>,
  headers: Readonly<Record<string, string>>,
): void {
  // Without promises: it runs for every request, and has nothing to wait for.
  app.addHook('onRequest', (request, reply, done) => {
    const startedAt = performance.now();
    void reply.headers(headers).header('x-request-id', request.id);
    // Also told when the client leaves before its answer is out.
    reply.raw.once('close', () => {
      const { id, method, url, ip: clientAddress } = request;
      const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none');
      // Null before authentication, whatever the type says.
      const principal = (request.principal as typeof request.principal | null)?.srn;
      record({ id, method, url, route, principal, clientAddress, startedAt }, reply.raw);
    });
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
