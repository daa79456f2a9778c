/// <reference types="@fastify/swagger" />
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RbacManager } from '../../access/manager/manager.ts';
import { requireDocument } from '../../access/manager/policies.ts';
import { ANY_CALLER, triedValues } from '../../access/policy/conditions/caller-values.ts';
import type { Reading } from '../../access/conditions.ts';
import { clusterResource, tableResource } from '../../access/policy/srn.ts';
import { judgingSql } from '../../access/sql/judge.ts';
import type { TableName } from '../../pinot/table-name.ts';
import { inTurns } from '../../platform/long-work.ts';
import {
  limitedText,
  type LimitedQueryDependencies,
  QueryRefusal,
  requireTables,
  type TableReader,
} from '../engine/limited-query.ts';
import { clientSignal } from '../server/client-signal.ts';
import { requireAllowed, targetOf } from '../server/context.ts';
import { isVisibleTable, shownTable } from '../server/reading.ts';
import { PolicyPreview, PreviewPolicyRequest } from './schemas/preview.ts';
import { mayRead, POLICY_BODY_BYTES, responsesOf } from './support.ts';

/** `POST /preview-policy`: what a policy makes of a query. It reads no rows. */
export function previewRoutes(app: FastifyInstance, manager: RbacManager, queries: LimitedQueryDependencies): void {
  app.post<{ Body: PreviewPolicyRequest }>(
    '/preview-policy',
    {
      bodyLimit: POLICY_BODY_BYTES,
      schema: {
        operationId: 'previewPolicy',
        'x-docs': {
          ok: 'The query as the engine would get it, or why it would be rejected.',
          request: {
            policyDocument: {
              version: 'v1',
              statements: [
                {
                  effect: 'allow',
                  actions: ['Query'],
                  resources: ['srn2:table#events'],
                  conditions: { rowFilters: ['owner = ${subject.email}'] },
                },
              ],
            },
            sql: 'SELECT * FROM events LIMIT 10',
            values: { 'subject.email': ['ada@example.com'] },
          },
          response: { sql: `SELECT * FROM "events" WHERE ("owner" = 'ada@example.com') LIMIT 10`, mayRun: true },
        },
        tags: ['access'],
        summary: 'A query with the conditions of a policy that need not be stored. Reads no rows.',
        description:
          'Needs `SimulateAccess` on the cluster, or `CreatePolicy` or `UpdatePolicy` on a policy; and on each table of the query `GetSchema`, or `Query` without conditions, because the text names its columns.',
        body: PreviewPolicyRequest,
        response: responsesOf(PolicyPreview, 400),
      },
    },
    async (request, reply): Promise<PolicyPreview> => {
      requirePreview(request, manager);
      const spec = requireDocument(request.body);
      const { sql, values = {} } = request.body;
      if (sql === undefined) return {};
      const draft = { grants: manager.directory.engine.simulatedGrants([], spec), values };
      return preview(draftReader(request, reply, { manager, draft }), request, sql, queries);
    },
  );
}

/** Who writes policies sees what they do, also without the right to simulate others. @throws {HttpError} 403 */
function requirePreview(request: FastifyRequest, { directory }: RbacManager): void {
  const grants = directory.grantsOf(request.principal);
  if (grants.mayAllow('UpdatePolicy', 'policy') || grants.mayAllow('CreatePolicy', 'policy')) return;
  requireAllowed(request, 'SimulateAccess', clusterResource, {
    why: 'A preview is for callers who may simulate access or write policies',
  });
}

/** @throws {HttpError} 403 for a table whose columns the caller may not see; 503 */
async function preview(
  reader: TableReader,
  request: FastifyRequest,
  text: string,
  queries: LimitedQueryDependencies,
): Promise<PolicyPreview> {
  const judged = await inTurns(judgingSql(text, { limits: queries.sqlLimits }), reader.turn);
  if (!judged.ok) return { refusal: `the query is rejected: ${judged.reason}` };
  const named = [...new Set(judged.tables)];
  if (named.length === 0) return { ...previewOf(judged), mayRun: true };
  try {
    const { conditions, tables } = await requireTables(reader, named, queries);
    const mayRun = tables.every((table) => mayQuery(request, table));
    if (conditions.size === 0) return { ...previewOf(judged), mayRun };
    const { sql } = await limitedText(reader, { text, context: {}, named }, queries);
    return { ...previewOf(sql), mayRun };
  } catch (error) {
    if (error instanceof QueryRefusal) return { refusal: error.message };
    throw error;
  }
}

function previewOf(judged: {
  readonly text: string;
  readonly database: string | undefined;
  readonly columnNames: ReadonlyMap<number, string>;
}): PolicyPreview {
  const { text, database, columnNames } = judged;
  return {
    sql: text,
    ...(database !== undefined && { database }),
    ...(columnNames.size > 0 && { columnNames: Object.fromEntries(columnNames) }),
  };
}

/** Whether the caller may read a part of the table at least. */
function mayQuery({ principal, server }: FastifyRequest, table: TableName): boolean {
  return server.authorizer.reading(principal, tableResource(table)).allowed;
}

interface Draft {
  readonly grants: ReturnType<RbacManager['directory']['engine']['simulatedGrants']>;
  readonly values: Readonly<Record<string, readonly string[]>>;
}

/** Somebody who has only the policy of the request. */
function draftReader(
  request: FastifyRequest,
  reply: FastifyReply,
  { manager, draft: { grants, values } }: { readonly manager: RbacManager; readonly draft: Draft },
): TableReader {
  const { engine } = manager.directory;
  const tried = triedValues(values);
  const known = new Map<TableName, Reading>();
  const reading = (table: TableName): Reading => {
    const found = known.get(table) ?? engine.readingWith(grants, tableResource(table), tried);
    known.set(table, found);
    return found;
  };
  return {
    caller: request.principal.srn,
    // Lists of tables and schemas are read with time-outs of their own.
    signal: clientSignal(reply),
    turn: request.server.work.turns(request.principal.srn),
    conditionsOf(table, written) {
      const shown = targetOf(tableResource(written.find((one) => one.toLowerCase() === table.toLowerCase()) ?? table));
      requireVisible(request, table, shown);
      const found = reading(table);
      if (found.allowed) return found.conditions;
      const needsValues = engine.readingWith(grants, tableResource(table), ANY_CALLER).allowed;
      throw new QueryRefusal(
        needsValues
          ? `no statement of the policy applies to ${shown}: the caller does not have the values that its row filters use, or more of them than a query can have`
          : `the policy does not allow \`Query\` on ${shown}`,
      );
    },
    hasConditions: () => grants.isConditional,
    isReadInPart(table) {
      // Of a logical table: whether the policy names one of its tables would tell the name.
      if (!isVisibleTable(request, table))
        throw new QueryRefusal(
          'a logical table of the query consists of a table, which you may not see, so that a preview cannot say whether the policy allows all of it',
        );
      const found = reading(table);
      return found.allowed && found.conditions !== undefined;
    },
    shown: (table) => shownTable(request, table),
  };
}

/** A printed query names the columns of a table, and an error those that it does not have. @throws {HttpError} 403 */
function requireVisible(request: FastifyRequest, table: TableName, shown: string): void {
  const resource = tableResource(table);
  if (mayRead(request, { action: 'Query', resource })) return;
  requireAllowed(request, 'GetSchema', resource, {
    shown,
    why: 'The text of a preview names the columns of its tables',
  });
}
