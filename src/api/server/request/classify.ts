import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { readTarget, type RequestTarget } from './target.ts';

/** What a request is for. The plane follows from it. */
export type RequestKind =
  /** A query whose result is stored for paging. */
  | 'submit'
  /** A query whose response is streamed to the client. */
  | 'pass'
  /** A page of a stored result. */
  | 'page'
  /** Everything else, which has a route of fastify. */
  | 'control';

/** The limits of a route of the control plane. */
export type RouteKind =
  /**
   * A call of the gateway itself that may be long and large. No call that other gateways take part in: two gateways that wait for each other's places
   * would never end.
   */
  | 'own'
  /** A call that is forwarded to the controller. */
  | 'controller'
  /** A query in a language other than SQL, which the controller runs. */
  | 'other-query';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Without it only the number of requests is limited. */
    kind?: RouteKind | ((request: FastifyRequest) => RouteKind);
  }
}

/** A path of the engine that accepts SQL. */
export interface SqlPath {
  /** The path in the engine. */
  readonly path:
    | '/query/sql'
    | '/query'
    | '/sql'
    | '/query/sql/queryFingerprint'
    | '/query/sql/validateSyntax'
    | '/validateMultiStageQuery';
  readonly runner: 'broker' | 'controller';
  readonly methods: readonly ('GET' | 'POST')[];
}

export interface RequestClass extends RequestTarget {
  readonly kind: RequestKind;
  /** Set for `submit` and `pass`. */
  readonly sql: SqlPath | undefined;
}

const GET_AND_POST = ['GET', 'POST'] as const;

/** By path without the first slash. The dispatcher serves them without the router. */
export const SQL_PATHS: Readonly<Record<string, SqlPath>> = {
  'query/sql': { path: '/query/sql', runner: 'broker', methods: GET_AND_POST },
  query: { path: '/query', runner: 'broker', methods: GET_AND_POST },
  sql: { path: '/sql', runner: 'controller', methods: GET_AND_POST },
  'query/sql/queryFingerprint': { path: '/query/sql/queryFingerprint', runner: 'broker', methods: ['POST'] },
  'query/sql/validateSyntax': { path: '/query/sql/validateSyntax', runner: 'broker', methods: ['POST'] },
  validateMultiStageQuery: { path: '/validateMultiStageQuery', runner: 'controller', methods: ['POST'] },
};

/** Either parameter makes the gateway store the result. */
const PAGING = ['doPaginate', 'getCursor'] as const;

/** @throws {HttpError} 400 for an ambiguous URL */
export function classify(url: string): RequestClass {
  return PLAIN_CLASSES.get(url) ?? classOfTarget(url);
}

function classOfTarget(url: string): RequestClass {
  const target = readTarget(url);
  const path = target.segments.join('/');
  const sql = Object.hasOwn(SQL_PATHS, path) ? SQL_PATHS[path] : undefined;
  return { ...target, sql, kind: sql === undefined ? kindOf(target) : sqlKind(sql, target) };
}

/** Paths of queries of a broker, whose results can be stored. */
export const PAGED_PATHS: ReadonlySet<string> = new Set(['/query/sql', '/query']);

/** The classes of most requests: paths of queries without parameters. */
const PLAIN_CLASSES: ReadonlyMap<string, RequestClass> = new Map(
  Object.keys(SQL_PATHS).map((path) => [`/${path}`, classOfTarget(`/${path}`)]),
);

function sqlKind({ path }: SqlPath, { parameters }: RequestTarget): RequestKind {
  const paged = PAGING.some((name) => parameters.has(name) && parameters.get(name) !== 'false');
  return PAGED_PATHS.has(path) && paged ? 'submit' : 'pass';
}

/** Pages are at the path of the gateway and at that of Pinot's cursors. */
function kindOf({ segments }: RequestTarget): RequestKind {
  const [first, second, third] = segments;
  const isPage = segments.length === 3 && third === 'results';
  return isPage && ((first === 'query' && second !== 'resultStore') || first === 'responseStore') ? 'page' : 'control';
}

/** Whether requests of this kind run a query in the engine. */
export function runsQuery(kind: RequestKind | RouteKind | undefined): boolean {
  return kind === 'submit' || kind === 'pass' || kind === 'other-query';
}

/** The kind of a request of the control plane, from its route. */
export function routeKindOf(request: FastifyRequest): RouteKind | undefined {
  const { kind } = request.routeOptions.config;
  return typeof kind === 'function' ? kind(request) : kind;
}

const classes = new WeakMap<IncomingMessage, RequestClass>();

/** Keeps the class of a request for `classOf`. */
export function keepClass(request: IncomingMessage, requestClass: RequestClass): void {
  classes.set(request, requestClass);
}

/** The class of a request, which is classified once. @throws {HttpError} 400 */
export function classOf(request: IncomingMessage): RequestClass {
  let known = classes.get(request);
  if (known === undefined) classes.set(request, (known = classify(request.url ?? '')));
  return known;
}
