import { createHash } from 'node:crypto';
import type { TableConditions } from '../../access/conditions.ts';
import { TABLE_VISIBILITY_ACTIONS } from '../../access/policy/actions.ts';
import { tableResource } from '../../access/policy/srn.ts';
import type { TableName } from '../../pinot/table-name.ts';
import { noteDecision, refuseAction, targetOf, type RequestContext } from './context.ts';
import { HttpError } from './errors.ts';

/** Which conditions of its caller a query obeyed, by table. Tables without conditions are absent. */
export type NamedConditions = readonly { readonly table: TableName; readonly id: string }[];

/** The logical tables of a query with what they consisted of when it was submitted; without tables where these could not be read. */
export type LogicalTables = readonly { readonly table: TableName; readonly tables?: readonly TableName[] }[];

/** What a query has read. */
interface Read {
  readonly tables: readonly TableName[];
  readonly conditions?: NamedConditions;
  readonly logicalTables?: LogicalTables;
}

/** Names conditions where their text must not be shown: it has values of the caller. Equal for equal conditions. */
export function conditionsId({ key }: TableConditions): string {
  return createHash('sha256').update(key).digest('base64url');
}

/**
 * Requires that the caller may query a part of the table at least.
 * @param table in the spelling of the engine, where it exists
 * @param written the tables as the request names them: a message names a table as it was written, so that it is the same whether the table exists
 * @returns undefined for the whole table
 * @throws {HttpError} 403
 */
export function requireReading(
  request: RequestContext,
  table: TableName,
  written: readonly TableName[] = [table],
): TableConditions | undefined {
  const { principal, server, trail } = request;
  const resource = tableResource(table);
  const reading = server.authorizer.reading(principal, resource);
  if (!reading.allowed) {
    const name = written.find((one) => one.toLowerCase() === table.toLowerCase()) ?? table;
    return refuseAction(request, 'Query', resource, targetOf(tableResource(name)));
  }
  noteDecision(request, 'Query', resource, true);
  if (reading.conditions !== undefined) trail?.addConditions(table, conditionsId(reading.conditions));
  return reading.conditions;
}

/** How a message names a table that the request does not name: by its name only for callers who may see it. */
export function shownTable(request: Pick<RequestContext, 'server' | 'principal'>, table: TableName): string {
  return isVisibleTable(request, table) ? targetOf(tableResource(table)) : 'a table, which you may not see';
}

/** Whether a right of the caller shows the name of the table. */
export function isVisibleTable(
  { server, principal }: Pick<RequestContext, 'server' | 'principal'>,
  table: TableName,
): boolean {
  const resource = tableResource(table);
  return TABLE_VISIBILITY_ACTIONS.some((action) => server.authorizer.wouldAllow(principal, action, resource));
}

/** Whether the caller may query the table only in part. */
export function isReadInPart({ principal, server }: RequestContext, table: TableName): boolean {
  if (!server.authorizer.hasConditions(principal)) return false;
  const reading = server.authorizer.reading(principal, tableResource(table));
  return reading.allowed && reading.conditions !== undefined;
}

/** Whether the caller may still query all tables of its query, by the conditions that it obeys. */
export function isSameReading(request: RequestContext, read: Read): boolean {
  const { principal, server } = request;
  const { tables, conditions = [] } = read;
  const isSame = tables.every((table) => {
    const reading = server.authorizer.reading(principal, tableResource(table));
    const id = reading.allowed && reading.conditions !== undefined ? conditionsId(reading.conditions) : undefined;
    return reading.allowed && id === conditions.find((one) => one.table === table)?.id;
  });
  return isSame && limitedLogicalTable(request, read) === undefined;
}

/**
 * A logical table that the caller may read as a whole while it may read one of its tables in part only. A query of it would be refused now. Where the tables are not known, any condition may be on one of them.
 */
function limitedLogicalTable(request: RequestContext, { logicalTables = [] }: Read): TableName | undefined {
  const { principal, server } = request;
  if (logicalTables.length === 0 || !server.authorizer.hasConditions(principal)) return undefined;
  const whole = logicalTables.filter(({ table }) => !isReadInPart(request, table));
  return whole.find(({ tables }) => tables === undefined || tables.some((table) => isReadInPart(request, table)))
    ?.table;
}

/**
 * Requires that the caller may read what a query returned: all its tables, by the conditions that the query obeyed.
 * @param isOwner whether the caller submitted it. Another caller may read all rows, too
 * @throws {HttpError} 403; 410 where the conditions are others now
 */
export function requireSameReading(request: RequestContext, read: Read, isOwner: boolean): void {
  const { tables, conditions = [] } = read;
  for (const table of tables) {
    const now = requireReading(request, table);
    const then = conditions.find((one) => one.table === table)?.id;
    if (now === undefined ? then === undefined || !isOwner : conditionsId(now) === then) continue;
    throw new HttpError(
      410,
      `the result was made when the caller might read another part of \`${table}\` than now: run the query again`,
    );
  }
  const limited = limitedLogicalTable(request, read);
  if (limited === undefined) return;
  throw new HttpError(
    410,
    `the result was made when the caller might read all tables of \`${limited}\`, and now it may read one of them in part only: run the query again`,
  );
}
