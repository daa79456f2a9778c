import { admit } from '../../server/admission/admit.ts';
import { HIGH_WATER_BYTES } from '../../engine/response-writer.ts';
import { passResponse } from '../../engine/forward.ts';
import { MAX_PLAN_BYTES } from '../../engine/plan-tables.ts';
import { authorizedTables } from '../../engine/tables-guard.ts';
import type { DataPlaneDependencies } from './dependencies.ts';
import type { Exchange } from './exchange.ts';
import { engineRequest, readableEndpoint, type AuthorizedQuery } from './judge-query.ts';

/** Maximum memory of a response that is streamed: the write buffer and the end that is held back for the check. */
const PASS_BYTES = HIGH_WATER_BYTES + 128 * 1024;
/** The plan of an `EXPLAIN`, compressed and not. */
const PLAN_BYTES = 2 * MAX_PLAN_BYTES;

/** Runs a query and streams the response. */
export async function passQuery(
  exchange: Exchange,
  query: AuthorizedQuery,
  dependencies: DataPlaneDependencies,
): Promise<void> {
  const { engine, memory } = dependencies;
  const { path, served, explains } = query;
  const { signal } = exchange;
  const endpoint = path.runner === 'broker' ? await engine.brokerFor(served, signal) : engine.controller;
  const units = PASS_BYTES + (explains ? PLAN_BYTES : 0);
  const place = admit(memory, exchange.principal.srn, { units, signal });
  const lease = place instanceof Promise ? await place : place;
  exchange.onClose(() => lease.release());
  await passResponse(exchange, readableEndpoint(endpoint, query), engineRequest(query, exchange), {
    tables: authorizedTables(exchange, query),
    maxRows: exchange.maxRows,
  });
}
