import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { engineCall, tablesOfBody, type EngineCall } from '../../access/engine-actions.ts';
import { tableNames } from '../../access/sql-tables.ts';
import { clusterResource, tableResource } from '../../access/srn.ts';
import { readBody } from '../../engine/controller.ts';
import { responseHeaders } from '../../engine/headers.ts';
import type { Engine, KnownTables } from '../../engine/types.ts';
import { requireAllowed } from '../context.ts';
import { HttpError } from '../errors.ts';
import { clientSignal, forwardToEngine } from '../forward.ts';
import { addressOf, rewriteOf, visibleTo, type Address, type Rewrite } from './lists.ts';
import { databaseHeader, readJsonBody, readSqlRequest, requireQueryable } from './sql-request.ts';
import { readTarget, singleParameter, type Target } from './target.ts';

export interface EngineProxyOptions {
  readonly engine: Engine & KnownTables;
  /** Where clients reach the gateway as a broker; by the `Host` header of each request where absent. */
  readonly brokerAddress?: Address;
  /** Bytes of a body that has to be read before it is passed on: a query, a table's configuration. 8 MB by default. */
  readonly maxBodyBytes?: number;
}

const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** A list of tables, or which brokers serve them. */
const MAX_LIST_BYTES = 64 * 1024 * 1024;

/**
 * Everything of the engine's interface that has no route of its own, under `/*`: passed to the controller (SQL to a broker) when the caller may.
 * Register it last.
 */
export async function engineProxy(app: FastifyInstance, options: EngineProxyOptions): Promise<void> {
  app.removeAllContentTypeParsers();
  // Bodies stay streams: most go on as they come.
  app.addContentTypeParser('*', (_request, _body, done) => done(null));
  app.all('/*', { schema: { hide: true } }, (request, reply) => pass(request, reply, options));
}

async function pass(request: FastifyRequest, reply: FastifyReply, options: EngineProxyOptions): Promise<unknown> {
  const target = readTarget(request.url);
  const runsSql = sqlPath(request.method, target.segments);
  if (runsSql !== undefined) return passSql(request, reply, target, { ...options, runsSql });
  const call = engineCall(request.method, target.segments, (name) => singleParameter(target.parameters, name));
  const body = await requireCall(request, call, target, options);
  const { controller } = options.engine;
  const rewrite = rewriteOf(request.method, target.segments);
  if (rewrite !== undefined) return passRewritten(request, reply, rewrite, options);
  return forwardToEngine(request, reply, controller, body === undefined ? {} : { body });
}

type Runner = 'broker' | 'controller';

/** Who runs the SQL of a path, for those that hold SQL. */
function sqlPath(method: string, segments: readonly string[]): Runner | undefined {
  const path = segments.join('/');
  const reads = method === 'GET' || method === 'POST';
  if (reads && (path === 'query' || path === 'query/sql')) return 'broker';
  if (method === 'POST' && path === 'query/sql/queryFingerprint') return 'broker';
  if (reads && path === 'sql') return 'controller';
  if (method === 'POST' && path === 'validateMultiStageQuery') return 'controller';
  return undefined;
}

async function passSql(
  request: FastifyRequest,
  reply: FastifyReply,
  target: Target,
  options: EngineProxyOptions & { runsSql: Runner },
): Promise<FastifyReply> {
  const { engine, runsSql } = options;
  const body = request.method === 'POST' ? await readOwnBody(request, options) : undefined;
  const tables = await requireQueryable(request, readSqlRequest(request, target, body), engine);
  const endpoint = runsSql === 'broker' ? await engine.brokerFor(tables) : engine.controller;
  return forwardToEngine(request, reply, endpoint, {
    repeatable: true,
    allowedTables: tables,
    ...(body === undefined ? {} : { body }),
  });
}

/**
 * Ends the request with 403 unless the caller may make it.
 * @returns the body, where it had to be read for that
 */
async function requireCall(
  request: FastifyRequest,
  call: EngineCall,
  target: Target,
  options: EngineProxyOptions,
): Promise<Buffer | undefined> {
  if (call.filtered) return undefined;
  const write = request.method !== 'GET' && request.method !== 'HEAD';
  if (call.on === 'body-table') return requireBodyTables(request, call, options);
  if (call.on === 'cluster' || call.table === undefined) {
    for (const action of call.actions) requireAllowed(request, action, clusterResource, { write });
    return undefined;
  }
  await requireOnTables(request, call.actions, [call.table], options.engine);
  if (target.segments[0] === 'logicalTables' && write) {
    const body = await readOwnBody(request, options);
    await requireReadTables(request, body, options.engine);
    return body;
  }
  return undefined;
}

async function requireBodyTables(
  request: FastifyRequest,
  call: EngineCall,
  options: EngineProxyOptions,
): Promise<Buffer> {
  const body = await readOwnBody(request, options);
  const tables = isJson(request) ? tablesOfBody(readJsonBody(request, body)) : undefined;
  if (tables === undefined) {
    // A schema may come as a file of a form: whose it is cannot be told without reading it as the engine does.
    for (const action of call.actions) requireAllowed(request, action, clusterResource, { write: true });
    return body;
  }
  await requireOnTables(request, call.actions, tables.named, options.engine);
  await requireOnTables(request, ['Query'], tables.read, options.engine);
  return body;
}

async function requireReadTables(request: FastifyRequest, body: Buffer, known: KnownTables): Promise<void> {
  if (body.length === 0) return;
  const tables = tablesOfBody(readJsonBody(request, body));
  await requireOnTables(request, ['Query'], tables?.read ?? [], known);
}

async function requireOnTables(
  request: FastifyRequest,
  actions: readonly string[],
  tables: readonly string[],
  known: KnownTables,
): Promise<void> {
  const write = request.method !== 'GET' && request.method !== 'HEAD';
  const database = databaseHeader(request);
  for (const table of tables) {
    const names = tableNames(table, database);
    if (names === undefined) throw new HttpError(400, `\`${table}\` is no name of a table`);
    for (const name of new Set([...names, ...(await known.actualTables(names))])) {
      for (const action of actions) requireAllowed(request, action, tableResource(name), { write });
    }
  }
}

function isJson(request: FastifyRequest): boolean {
  return !/^multipart\//i.test(request.headers['content-type'] ?? '');
}

/** Reads the whole body, by events: an iterator would cost more than all else here. @throws {HttpError} 413, 400 where it breaks off */
function readOwnBody({ raw }: FastifyRequest, options: EngineProxyOptions): Promise<Buffer> {
  const max = options.maxBodyBytes ?? MAX_BODY_BYTES;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size <= max) chunks.push(chunk);
    else {
      raw.off('data', take).resume();
      reject(new HttpError(413, `the body is too large: at most ${max} bytes are allowed here`));
    }
  };
  const broken = (cause?: Error) => reject(new HttpError(400, 'the body broke off', { cause }));
  raw.on('data', take);
  raw.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
  raw.once('error', broken);
  raw.once('close', () => {
    if (!raw.readableEnded) broken();
  });
  return promise;
}

/** Asks for a list, and passes on what of it the caller may see. */
async function passRewritten(
  request: FastifyRequest,
  reply: FastifyReply,
  rewrite: Rewrite,
  options: EngineProxyOptions,
): Promise<FastifyReply> {
  const answer = await options.engine.controller.request({
    method: 'GET',
    path: request.url,
    // Only what is not packed can be cut down.
    headers: { ...request.headers, 'accept-encoding': 'identity' },
    signal: clientSignal(reply),
  });
  const bytes = await readBody(answer.body, MAX_LIST_BYTES, `\`GET ${request.url}\` of the engine`);
  const headers = responseHeaders(answer.headers);
  delete headers['content-length'];
  reply.code(answer.status).headers(headers);
  if (answer.status !== 200) return reply.send(bytes);
  let list: unknown;
  try {
    list = JSON.parse(bytes.toString());
  } catch (error) {
    throw new HttpError(502, 'the engine answered with a list that is no JSON', { cause: error });
  }
  const context = { visible: visibleTo(request), broker: options.brokerAddress ?? addressOf(request) };
  return reply.type('application/json').send(JSON.stringify(rewrite(list, context)));
}
