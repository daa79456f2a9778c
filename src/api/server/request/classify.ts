import type { IncomingMessage } from 'node:http';
import { readTarget, type Target } from './target.ts';

/** Purpose of a request. The plane, limits, time-outs, authorization, audit and metrics follow from this value. */
export type RequestKind =
  /** A query whose result is stored for paging. */
  | 'submit'
  /** A query whose response is streamed to the client. */
  | 'pass'
  | 'page'
  | 'metadata'
  | 'result-list'
  | 'result-delete'
  /** The state of one query, or its cancellation. */
  | 'query-state'
  /** The caller's own queries. */
  | 'query-list'
  | 'identity'
  | 'rbac'
  | 'health'
  | 'task'
  | 'info'
  | 'docs'
  | 'ui'
  /** A path below the gateway's own prefixes without a route. */
  | 'unknown'
  /** A query in a language other than SQL, which the controller runs. */
  | 'other-query'
  /** Any other request to the controller. */
  | 'controller';

/** A path of the engine that accepts SQL. */
export interface SqlPath {
  /** The path in the engine. */
  readonly path: '/query/sql' | '/query' | '/sql' | '/query/sql/queryFingerprint' | '/validateMultiStageQuery';
  readonly runner: 'broker' | 'controller';
  readonly methods: readonly ('GET' | 'POST')[];
}

export interface RequestClass extends Target {
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
  validateMultiStageQuery: { path: '/validateMultiStageQuery', runner: 'controller', methods: ['POST'] },
};

const EXACT: Readonly<Record<string, RequestKind>> = {
  '': 'ui',
  'query/gateway': 'identity',
  'query/mine': 'query-list',
  'query/resultStore': 'result-list',
  'query/resultStore/usage': 'result-list',
  'api/v1/gateway': 'info',
  'openapi.json': 'docs',
  clusterHealth: 'health',
  'clusterHealth/list': 'health',
  'clusterHealth/history': 'health',
  'clusterHealth/mutes': 'health',
  'periodictask/run': 'task',
  'periodictask/names': 'task',
  'timeseries/languages': 'controller',
};

/** By first path segment. */
const PREFIXES: Readonly<Record<string, RequestKind>> = {
  docs: 'docs',
  ui: 'ui',
  timeseries: 'other-query',
};

/** Either parameter makes the gateway store the result. */
const PAGING = ['doPaginate', 'getCursor'] as const;

/** @throws {HttpError} 400 for an ambiguous URL */
export function classify(method: string, url: string): RequestClass {
  const target = readTarget(url);
  const path = target.segments.join('/');
  const sql = Object.hasOwn(SQL_PATHS, path) ? SQL_PATHS[path] : undefined;
  return { ...target, sql, kind: sql === undefined ? kindOf(method, target, path) : sqlKind(sql, target) };
}

function sqlKind({ path }: SqlPath, { parameters }: Target): RequestKind {
  const paged = PAGING.some((name) => parameters.has(name) && parameters.get(name) !== 'false');
  return path === '/query/sql' && paged ? 'submit' : 'pass';
}

function kindOf(method: string, { segments }: Target, path: string): RequestKind {
  if (Object.hasOwn(EXACT, path)) return EXACT[path] as RequestKind;
  const [first = '', second] = segments;
  if (first === 'query') return storedResultKind(method, segments);
  if (first === 'responseStore') return cursorKind(method, segments);
  if (first === 'clusterHealth' && second === 'mutes' && segments.length === 3) return 'health';
  if (first === 'api' && second === 'v1') return segments[2] === 'rbac-manager' ? 'rbac' : 'unknown';
  return Object.hasOwn(PREFIXES, first) ? (PREFIXES[first] as RequestKind) : 'controller';
}

/** Paths of stored results below `/query`. */
function storedResultKind(method: string, segments: readonly string[]): RequestKind {
  const [, second, third] = segments;
  if (segments.length === 3) {
    if (second === 'resultStore') return 'result-delete';
    if (third === 'results') return 'page';
    if (third === 'metadata') return 'metadata';
  }
  if (segments.length === 2 && (method === 'GET' || method === 'DELETE')) return 'query-state';
  return method === 'POST' ? 'other-query' : 'controller';
}

/** The paths of Pinot's cursors, at which the gateway serves its own results. */
function cursorKind(method: string, { length, 2: third }: readonly string[]): RequestKind {
  if (length === 3) return third === 'results' ? 'page' : 'controller';
  if (method === 'GET' && length <= 2) return length === 1 ? 'result-list' : 'metadata';
  return method === 'DELETE' && length === 2 ? 'result-delete' : 'controller';
}

/** Whether requests of this kind run a query in the engine. */
export function runsQuery(kind: RequestKind): boolean {
  return kind === 'submit' || kind === 'pass' || kind === 'other-query';
}

const classes = new WeakMap<IncomingMessage, RequestClass>();

/** Keeps the class of a request for `classOf`. */
export function keepClass(request: IncomingMessage, requestClass: RequestClass): void {
  classes.set(request, requestClass);
}

/** The class of a request, which is classified once. @throws {HttpError} 400 */
export function classOf(request: IncomingMessage): RequestClass {
  let known = classes.get(request);
  if (known === undefined) classes.set(request, (known = classify(request.method ?? '', request.url ?? '')));
  return known;
}
