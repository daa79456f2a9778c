import type { FastifyRequest } from 'fastify';
import { tableNames } from '../../access/sql/table-names.ts';
import { clusterResource, tableResource } from '../../access/policy/srn.ts';
import { DELETING_ACTIONS, UNKNOWN_CALL_ACTIONS } from '../../pinot/call-actions.ts';
import { databaseOfTable, isDatabaseName, type TableName } from '../../pinot/table-name.ts';
import type { KnownTables } from '../../pinot/types.ts';
import { requireAllowed, requireNotDenied } from '../server/context.ts';
import { HttpError } from '../server/errors.ts';
import { requireNoRows } from './partial-tables.ts';
import { shownTable } from '../server/reading.ts';
import { databaseOf } from '../server/request/request-headers.ts';

/*
 * Calls on the cluster reach tables without a right to each of them. A statement that denies the action on such a table stops the call, and conditions on its
 * rows stop a call that shows values or statistics of them.
 */

/** @throws {HttpError} 403 */
export function requireNoneDenied(request: FastifyRequest, actions: readonly string[], table: TableName): void {
  for (const action of actions) requireNotDenied(request, action, tableResource(table));
  requireNoRows(request, actions, table);
}

/** Instance partitions are named after their table. */
const PARTITIONS_SUFFIX = /_(?:CONSUMING|COMPLETED)(?:__.*)?$/;
const TYPE_SUFFIX = /_(?:OFFLINE|REALTIME)$/;

/**
 * A statement that denies the actions on a table stops a call that names it, with or without the database of the header. Only names of existing
 * tables and names with a type suffix count, because the parts can be anything.
 */
export function requirePartsNotDenied(
  request: FastifyRequest,
  actions: readonly string[],
  parts: readonly string[],
  known: KnownTables,
): void {
  if (parts.length === 0) return;
  const database = databaseOf(request.headers);
  const listed = known.tableNames();
  const existing = listed && new Set(listed.map((name) => name.toLowerCase()));
  for (const part of new Set(parts)) {
    const name = part.replace(PARTITIONS_SUFFIX, '');
    for (const table of new Set([...(tableNames(name) ?? []), ...(tableNames(name, database) ?? [])])) {
      if (existing?.has(table.toLowerCase()) !== false || TYPE_SUFFIX.test(name)) {
        requireNoneDenied(request, actions, table);
      }
    }
  }
}

/** A statement that denies the deletion of a table stops that of its database. The lists are read again, because any table in it counts. */
export async function requireNoTableDenied(
  request: FastifyRequest,
  database: string,
  known: KnownTables,
): Promise<void> {
  // The engine takes a blank name for the default database, and the tables of other such names are not listed.
  if (!isDatabaseName(database)) {
    throw new HttpError(
      400,
      `invalid database name \`${database.slice(0, 128)}\`: it must be 1 to 128 letters, digits, \`_\` and \`-\``,
    );
  }
  const deleted = database.toLowerCase();
  for (const table of await known.currentTables(0)) {
    if (databaseOfTable(table).toLowerCase() !== deleted) continue;
    for (const action of DELETING_ACTIONS)
      requireNotDenied(request, action, tableResource(table), { shown: shownTable(request, table) });
  }
}

/** What a query that the gateway does not read needs. */
const ANY_TABLE_RIGHTS = `it needs ${UNKNOWN_CALL_ACTIONS.map((action) => `\`${action}\``).join(', ')} on the cluster, and no statement may deny \`Query\` on a table`;
/** Maximum age of the list of tables for this check, in milliseconds. */
const ANY_TABLE_MAX_AGE_MS = 2_000;

/** For queries in other languages than SQL, such as those of time series. @param unread why the gateway cannot read it; default: its language */
export async function requireQueryOnAnyTable(
  request: FastifyRequest,
  known: KnownTables,
  unread = 'the language is unknown',
): Promise<void> {
  const why = `The gateway cannot read this query (${unread}), so it could read any table: ${ANY_TABLE_RIGHTS}`;
  for (const action of UNKNOWN_CALL_ACTIONS) {
    requireAllowed(request, action, clusterResource, { why });
  }
  for (const table of await known.currentTables(ANY_TABLE_MAX_AGE_MS)) {
    requireNotDenied(request, 'Query', tableResource(table), {
      why,
      shown: shownTable(request, table),
    });
    requireNoRows(request, ['Query'], table);
  }
}
