import type { FastifyRequest } from 'fastify';
import { readDdl, type DdlStatement } from '../../access/sql/ddl.ts';
import { refusedSql, SqlRefusal } from '../../access/sql/refusal.ts';
import { parseStrictJson, StrictJsonError, type StrictJsonLimits } from '../../platform/strict-json.ts';
import { withBodyOf } from '../server/bodies/read-body.ts';
import { HttpError } from '../server/errors.ts';
import type { RequestTarget } from '../server/request/target.ts';

/** What a statement requires: on the cluster, and on its table. */
export const DDL_ACTIONS: Readonly<
  Record<DdlStatement['operation'], { readonly onCluster: readonly string[]; readonly onTable: readonly string[] }>
> = {
  create: { onCluster: [], onTable: ['CreateTable', 'CreateSchema'] },
  drop: { onCluster: [], onTable: ['DeleteTable', 'DeleteSchema'] },
  show: { onCluster: ['GetTable'], onTable: [] },
  'show-create': { onCluster: [], onTable: ['GetTableConfig', 'GetSchema'] },
};

/** Whether the call runs a statement of Pinot's DDL. */
export function isDdl(method: string, { segments }: RequestTarget): boolean {
  return method === 'POST' && segments.join('/') === 'sql/ddl';
}

/** The statement of a body `{"sql": "…"}`. @throws {HttpError} 400, 413 */
export function readDdlBody(
  request: FastifyRequest,
  limits: StrictJsonLimits & { readonly maxBytes: number },
): Promise<DdlStatement> {
  return withBodyOf(request, limits.maxBytes, (bytes) => {
    const sql = sqlOf(bytes, limits);
    try {
      return readDdl(sql);
    } catch (error) {
      if (error instanceof SqlRefusal)
        throw new HttpError(400, `the statement is rejected: ${refusedSql(sql, error).reason}`);
      throw error;
    }
  });
}

function sqlOf(bytes: Buffer, limits: StrictJsonLimits): string {
  let body: unknown;
  try {
    body = parseStrictJson(bytes, limits);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    throw new HttpError(400, `the body must be JSON in UTF-8 with each key once: ${error.message}`, { cause: error });
  }
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  const [name, sql] = fields[0] ?? [];
  if (fields.length === 1 && name === 'sql' && typeof sql === 'string') return sql;
  throw new HttpError(400, 'the body must be an object with the field `sql` only');
}
