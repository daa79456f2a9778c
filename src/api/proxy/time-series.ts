import type { FastifyRequest } from 'fastify';
import { readM3ql, type TimeSeriesQuery } from '../../access/sql/m3ql.ts';
import { SqlRefusal } from '../../access/sql/refusal.ts';
import { parseStrictJson, StrictJsonError, type StrictJsonLimits } from '../../platform/strict-json.ts';
import { withBodyOf } from '../server/bodies/read-body.ts';
import { hasBody } from './call-body.ts';
import type { RequestTarget } from '../server/request/target.ts';

/** A call whose query is in another language than SQL. */
export interface OtherQuery {
  /** Where the gateway can read it. */
  readonly query: TimeSeriesQuery | undefined;
  /** Why it cannot be read; undefined for a call that is not one of time series. */
  readonly unread: string | undefined;
  /** The body, if there is one and it was read. */
  readonly body: Buffer | undefined;
  /** With the printed query. @param table what to write for the name of the table */
  printed(table: string): { readonly target: RequestTarget; readonly body?: Buffer };
}

/** What Pinot reads of a query of time series. Others could mean something in a newer version. */
const PARAMETERS: ReadonlySet<string> = new Set(
  'language query start end step timeout limit numGroupsLimit'.split(' '),
);
const PLAIN_VALUE = /^[\w.:-]{0,64}$/;

/** Reads a query of time series: `GET /timeseries/api/v1/query_range` and `POST /query/timeseries`. @throws {HttpError} 413 */
export async function readOtherQuery(
  request: FastifyRequest,
  target: RequestTarget,
  limits: StrictJsonLimits & { readonly maxBytes: number },
): Promise<OtherQuery> {
  const call = `${request.method} /${target.segments.join('/')}`;
  if (call === 'GET /timeseries/api/v1/query_range') return ofParameters(target);
  if (call !== 'POST /query/timeseries' || !hasBody(request)) return { ...UNREAD, unread: undefined };
  return withBodyOf(request, limits.maxBytes, async (bytes) => ofBody(target, bytes, limits));
}

const UNREAD = {
  query: undefined,
  body: undefined,
  printed: (): never => {
    throw new Error('a query that was not read cannot be printed');
  },
} as const;

function ofParameters(target: RequestTarget): OtherQuery {
  const { parameters } = target;
  const found = fieldsOf([...parameters]);
  if (typeof found === 'string') return { ...UNREAD, unread: found };
  return {
    query: found,
    unread: undefined,
    body: undefined,
    printed(table) {
      const printed = new URLSearchParams(parameters);
      printed.set('query', found.print(table));
      return { target: { ...target, parameters: printed } };
    },
  };
}

function ofBody(target: RequestTarget, bytes: Buffer, limits: StrictJsonLimits): OtherQuery {
  const unread = (why: string): OtherQuery => ({ ...UNREAD, body: bytes, unread: why });
  let body: unknown;
  try {
    body = parseStrictJson(bytes, limits);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    return unread(error.message);
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return unread('the body is not an object');
  const fields = body as Readonly<Record<string, unknown>>;
  if (target.parameters.size > 0) return unread('the URL has parameters in addition to the body');
  const found = fieldsOf(Object.entries(fields));
  if (typeof found === 'string') return unread(found);
  return {
    query: found,
    unread: undefined,
    body: bytes,
    printed: (table) => ({ target, body: Buffer.from(JSON.stringify({ ...fields, query: found.print(table) })) }),
  };
}

/** @returns why it cannot be read */
function fieldsOf(fields: readonly (readonly [string, unknown])[]): TimeSeriesQuery | string {
  const values = new Map<string, string>();
  for (const [name, value] of fields) {
    if (!PARAMETERS.has(name)) return `\`${name.slice(0, 64)}\` is not a parameter of a query of time series`;
    if (values.has(name)) return `\`${name}\` is given twice`;
    if (typeof value !== 'string' && typeof value !== 'number') return `\`${name}\` is not a text or a number`;
    if (name !== 'query' && !PLAIN_VALUE.test(String(value))) return `\`${name}\` has an unusual value`;
    values.set(name, String(value));
  }
  if (values.get('language') !== 'm3ql') return 'its language is not `m3ql`';
  try {
    return readM3ql(values.get('query') ?? '');
  } catch (error) {
    if (error instanceof SqlRefusal) return error.message;
    throw error;
  }
}
