import type { FairQueue } from '../../platform/fair-queue.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { engineCall, type EngineCall } from '../../pinot/call-actions.ts';
import { clusterResource, tableResource } from '../../access/policy/srn.ts';
import type { TableName } from '../../pinot/table-name.ts';
import type { Engine, KnownTables } from '../../pinot/types.ts';
import { PROXY_ROUTE } from '../server/app-errors.ts';
import { memoryQueue } from '../server/admission/memory.ts';
import { classOf, type RouteKind } from '../server/request/classify.ts';
import { requireAllowed } from '../server/context.ts';
import { writeForwardedAs } from '../server/pending-writes.ts';
import type { JsonLimits } from '../server/bodies/read-body.ts';
import { forwardToEngine } from '../engine/forward.ts';
import { databaseOf } from '../server/request/request-headers.ts';
import { DDL_ACTIONS, isDdl, readDdlBody } from './ddl.ts';
import type { BodyTables } from './body-tables.ts';
import { hasBody, JSON_HEADER, judgedBody } from './call-body.ts';
import { callHeaders, fetchesSegment } from './call-headers.ts';
import { canonicalName, judgedTableNames } from '../engine/table-names.ts';
import { canonicalPath, pathOfBody } from './canonical-call.ts';
import {
  requireNoneDenied,
  requireNoTableDenied,
  requirePartsNotDenied,
  requireQueryOnAnyTable,
} from './denied-tables.ts';
import { rewriteOf, type Address } from './lists.ts';
import { requireNoRows } from './partial-tables.ts';
import { ListMemory, passList } from './pass-list.ts';
import { readOtherQuery } from './time-series.ts';
import { requirePath } from './unknown-path.ts';
import { singleParameter, type RequestTarget } from '../server/request/target.ts';

export interface EngineProxyOptions {
  readonly engine: Engine & KnownTables;
  /** Address under which clients reach the gateway as a broker; taken from the `Host` header where absent. */
  readonly brokerAddress?: Address;
  /** Bounds the lists in memory; default: a memory of its own. */
  readonly memory?: FairQueue;
  /** Maximum bytes of a body that is read before forwarding, such as a schema or table configuration. 2 MiB by default. */
  readonly maxBodyBytes?: number;
  /** JSON limits of such a body. */
  readonly json?: JsonLimits;
}

const MAX_BODY_BYTES = 2 * 1024 * 1024;

/**
 * Catch-all route `/*` for the rest of the engine's API: authorizes requests and forwards them to the controller. Register it last.
 */
export async function engineProxy(app: FastifyInstance, options: EngineProxyOptions): Promise<void> {
  app.removeAllContentTypeParsers();
  // No body parsing: most bodies are streamed.
  app.addContentTypeParser('*', (_request, _body, done) => done(null));
  const lists = new ListMemory(options.memory ?? memoryQueue());
  app.all(PROXY_ROUTE, { config: { kind: callKind }, schema: { hide: true } }, (request, reply) =>
    forwardCall(request, reply, options, lists),
  );
}

/** Queries in other languages are below `/timeseries`, and `POST` below `/query`. */
function callKind({ method, raw }: FastifyRequest): RouteKind {
  const { segments } = classOf(raw);
  const [first, second] = segments;
  if (first === 'timeseries') return segments.length === 2 && second === 'languages' ? 'controller' : 'other-query';
  return first === 'query' && method === 'POST' ? 'other-query' : 'controller';
}

async function forwardCall(
  request: FastifyRequest,
  reply: FastifyReply,
  options: EngineProxyOptions,
  lists: ListMemory,
): Promise<unknown> {
  const target = classOf(request.raw);
  const call = engineCall(request.method, target.segments, (name) => singleParameter(target.parameters, name));
  const judged = await judge(request, call, target, options);
  writeForwardedAs(request, judged.path);
  const rewrite = rewriteOf(request.method, target.segments);
  if (rewrite !== undefined) return passList(request, reply, { rewrite, judged }, options, lists);
  return forwardToEngine(request, reply, options.engine.controller, judged);
}

interface JudgedCall {
  /** Path and query string for the controller. */
  readonly path: string;
  readonly headers: Record<string, string>;
  /** The body, where it was read; the client's stream is forwarded where absent. */
  readonly body?: Buffer;
}

/**
 * Authorizes a request.
 * @returns the validated request for the controller
 * @throws {HttpError} 400, 403, 404, 413, 415
 */
async function judge(
  request: FastifyRequest,
  call: EngineCall,
  target: RequestTarget,
  options: EngineProxyOptions,
): Promise<JudgedCall> {
  const path = canonicalPath(target, call, databaseOf(request.headers));
  const headers = callHeaders(request.headers, { upload: call.upload, streamed: hasBody(request) });
  if (callKind(request) === 'other-query') return judgeOtherQuery(request, call, { target, headers }, options);
  if (isDdl(request.method, target)) return { path, ...(await judgeDdl(request, headers, options)) };
  if (!call.isKnown) await requirePath(request, target, options.engine.controller);
  if (!call.filtered) await requireCall(request, call, options);
  const body = await judgedBody(request, call, bodyLimits(options));
  if (body.kind === 'unread') requireOnCluster(request, call.onTable, call);
  if (body.kind === 'stream' || body.kind === 'unread') return { path, headers };
  if (body.kind === 'read') await requireBody(request, call, body.tables, options);
  else requirePartsNotDenied(request, call.onCluster, body.parts, options.engine);
  const named = body.kind === 'read' && call.repeatsName ? body.tables.tableName : undefined;
  const judgedPath = named === undefined ? path : pathOfBody(target, call, named, databaseOf(request.headers));
  return { path: judgedPath, headers: { ...headers, 'content-type': JSON_HEADER }, body: body.bytes };
}

/** A query in another language than SQL: `Query` on its table where the gateway can read it, else on every table. */
async function judgeOtherQuery(
  request: FastifyRequest,
  call: EngineCall,
  { target, headers }: { readonly target: RequestTarget; readonly headers: Record<string, string> },
  options: EngineProxyOptions,
): Promise<JudgedCall> {
  const { engine } = options;
  const database = databaseOf(request.headers);
  const read = await readOtherQuery(request, target, bodyLimits(options));
  const named = read.query === undefined ? [] : await tablesNamed(request, [read.query.table], database, engine);
  // The tables of a logical table may have conditions.
  const logical = named.find((table) => engine.isLogical(table));
  if (read.query === undefined || logical !== undefined) {
    await requireQueryOnAnyTable(
      request,
      engine,
      logical === undefined ? read.unread : `\`${logical}\` is a logical table`,
    );
    await requireCall(request, call, options);
    return {
      path: canonicalPath(target, call, database),
      headers,
      ...(read.body !== undefined && { body: read.body }),
    };
  }
  for (const table of named) {
    requireAllowed(request, 'Query', tableResource(table));
    requireNoRows(request, ['Query'], table);
  }
  const { table } = read.query;
  const { target: printed, body } = read.printed(canonicalName(table, database));
  const path = canonicalPath(printed, call, database);
  return body === undefined ? { path, headers } : { path, headers: { ...headers, 'content-type': JSON_HEADER }, body };
}

/** A statement of the DDL, by the rights on its table. */
async function judgeDdl(
  request: FastifyRequest,
  headers: Record<string, string>,
  options: EngineProxyOptions,
): Promise<Omit<JudgedCall, 'path'>> {
  const { operation, table, readsOthers, text } = await readDdlBody(request, bodyLimits(options));
  const { onCluster, onTable } = DDL_ACTIONS[operation];
  const changes = operation === 'create' || operation === 'drop';
  requireOnCluster(request, readsOthers ? [...onCluster, 'Query'] : onCluster, { changes });
  const database = databaseOf(request.headers);
  const tables = table === undefined ? [] : [table];
  await requireOnTables(request, onTable, tables, { changes, known: options.engine, database });
  return { headers: { ...headers, 'content-type': JSON_HEADER }, body: Buffer.from(JSON.stringify({ sql: text })) };
}

function bodyLimits({
  json,
  maxBodyBytes = MAX_BODY_BYTES,
}: EngineProxyOptions): JsonLimits & { readonly maxBytes: number } {
  return { ...json, maxBytes: maxBodyBytes };
}

/** Authorizes path, parameters and headers. */
async function requireCall(request: FastifyRequest, call: EngineCall, options: EngineProxyOptions): Promise<void> {
  requireOnCluster(request, call.onCluster, call);
  // The engine fetches from any URI that it can reach, as for `/ingestFromURI`.
  if (call.upload && fetchesSegment(request.headers)) requireOnCluster(request, ['IngestFile'], call);
  const database = databaseOf(request.headers);
  const { changes } = call;
  await requireOnTables(request, call.onTable, call.tables, { changes, known: options.engine, database });
  if (call.onCluster.length > 0) {
    const tables = await tablesNamed(request, call.tables, database, options.engine);
    for (const table of tables) requireNoneDenied(request, call.onCluster, table);
  }
  requirePartsNotDenied(request, call.onCluster, call.parts, options.engine);
  if (call.deletedDatabase !== undefined) await requireNoTableDenied(request, call.deletedDatabase, options.engine);
}

async function requireBody(
  request: FastifyRequest,
  call: EngineCall,
  { named, read, schemas, readsOthers }: BodyTables,
  options: EngineProxyOptions,
): Promise<void> {
  const rest = { changes: call.changes, known: options.engine, database: databaseOf(request.headers) };
  if (call.body === 'tables' && named.length === 0) requireOnCluster(request, call.onTable, call);
  await requireOnTables(request, call.onTable, named, rest);
  if (call.ignoresDatabase) await requireOnTables(request, call.onTable, named, { ...rest, database: undefined });
  await requireOnTables(request, ['Query'], read, rest);
  const ownNames = new Set([...call.tables, ...named].map(rawName));
  const otherSchemas = schemas.filter((name) => !ownNames.has(rawName(name)));
  await requireOnTables(request, ['GetSchema'], otherSchemas, rest);
  if (readsOthers) requireOnCluster(request, ['Query'], call);
}

function rawName(name: string): string {
  return name.replace(/_(?:OFFLINE|REALTIME)$/, '');
}

function requireOnCluster(
  request: FastifyRequest,
  actions: readonly string[],
  { changes }: { changes: boolean },
): void {
  const write = changes || isWrite(request);
  for (const action of actions) requireAllowed(request, action, clusterResource, { write });
}

async function requireOnTables(
  request: FastifyRequest,
  actions: readonly string[],
  tables: readonly string[],
  {
    changes,
    known,
    database,
  }: { readonly changes: boolean; readonly known: KnownTables; readonly database: string | undefined },
): Promise<void> {
  const write = changes || isWrite(request);
  for (const table of await tablesNamed(request, tables, database, known)) {
    for (const action of actions) requireAllowed(request, action, tableResource(table), { write });
    requireNoRows(request, actions, table);
  }
}

/** The tables that names in a path, a parameter or a body may mean: as written, because a call may create them, and in the engine's spelling. */
async function tablesNamed(
  { principal }: FastifyRequest,
  names: readonly string[],
  database: string | undefined,
  known: KnownTables,
): Promise<readonly TableName[]> {
  if (names.length === 0) return [];
  const written = names.flatMap((name) => judgedTableNames(name, database));
  return [...new Set([...written, ...(await known.actualTables(written, undefined, principal.srn))])];
}

function isWrite({ method }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD';
}
