import type { FastifyRequest } from 'fastify';
import { tablesOfSql } from '../../access/sql-tables.ts';
import { tableResource } from '../../access/srn.ts';
import type { KnownTables } from '../../engine/types.ts';
import { requireAllowed } from '../context.ts';
import { HttpError } from '../errors.ts';
import '../limits.ts';
import { tooManyAsked } from '../row-limit.ts';
import { singleParameter, type Target } from './target.ts';

type WithHeaders = Pick<FastifyRequest, 'headers'>;

/** What a request asks the engine to run. */
export interface SqlRequest {
  readonly sql: string;
  /** `key=value;…` beside the text. */
  readonly queryOptions: string | undefined;
}

/**
 * The SQL of a request, read so that the engine cannot find another one in it.
 * @param body the bytes of a POST
 * @throws {HttpError} 400, 415
 */
export function readSqlRequest(request: FastifyRequest, target: Target, body: Buffer | undefined): SqlRequest {
  if (request.method !== 'POST') {
    return {
      sql: required(singleParameter(target.parameters, 'sql')),
      queryOptions: singleParameter(target.parameters, 'queryOptions'),
    };
  }
  return readSqlBody(request, body);
}

/** The SQL of a JSON body. @throws {HttpError} 400, 415 */
export function readSqlBody(request: WithHeaders, body: Buffer | undefined): SqlRequest {
  const { sql, queryOptions } = readJsonBody(request, body) as { sql?: unknown; queryOptions?: unknown };
  if (queryOptions !== undefined && typeof queryOptions !== 'string') {
    throw new HttpError(400, '`queryOptions` must be a string such as `key=value;key=value`');
  }
  return { sql: required(sql), queryOptions };
}

function required(sql: unknown): string {
  if (typeof sql === 'string' && sql !== '') return sql;
  throw new HttpError(400, '`sql` must be a text: the query');
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The JSON object of a body, whose encoding the engine cannot take for another: UTF-8 without packing.
 * @throws {HttpError} 400, 415
 */
export function readJsonBody(request: WithHeaders, body: Buffer | undefined): object {
  requirePlainEncoding(request);
  let value: unknown;
  try {
    value = JSON.parse(UTF_8.decode(body ?? new Uint8Array()));
  } catch (error) {
    throw new HttpError(400, 'the body is not valid JSON in UTF-8', { cause: error });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new HttpError(400, 'the body must be a JSON object');
}

/** @throws {HttpError} 415 for a body in another character set than UTF-8, or packed: the engine would read other text than is checked here */
export function requirePlainEncoding(request: WithHeaders): void {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new HttpError(415, `the body must not be packed: \`Content-Encoding: ${encoding}\` is not taken here`);
  }
  const charset = /charset\s*=\s*"?([^;"\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  if (!/^utf-?8$/i.test(charset)) throw new HttpError(415, `the body must be in UTF-8, not in \`${charset}\``);
}

/**
 * Ends a request with 403 unless its caller may `Query` every table that the text reads.
 * @returns the tables, as the engine calls them
 * @throws {HttpError} 403 also for a text that cannot be understood for sure
 */
export async function requireQueryable(
  request: FastifyRequest,
  { sql, queryOptions }: SqlRequest,
  known: KnownTables,
): Promise<readonly string[]> {
  const found = tablesOfSql(sql, { database: databaseHeader(request), queryOptions });
  if (!found.ok) {
    throw new HttpError(403, `which tables the query reads cannot be told for sure, so it is refused: ${found.reason}`);
  }
  const tooMany = request.maxRows === undefined ? undefined : tooManyAsked(found, request.maxRows);
  if (tooMany !== undefined) throw new HttpError(400, tooMany);
  const tables = found.tables.length === 0 ? [] : await known.actualTables(found.tables);
  for (const table of tables) requireAllowed(request, 'Query', tableResource(table));
  return tables;
}

/** The database that names without one belong to. @throws {HttpError} 400 where it is given twice */
export function databaseHeader(request: FastifyRequest): string | undefined {
  const { database } = request.headers;
  if (Array.isArray(database)) throw new HttpError(400, 'the header `Database` is given more than once');
  if (database?.includes(',')) throw new HttpError(400, 'the header `Database` must hold one name');
  return database;
}
