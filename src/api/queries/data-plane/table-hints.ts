import type { KnownTables } from '../../../pinot/types.ts';
import type { TableName } from '../../../pinot/table-name.ts';
import { judgedTableNames } from '../../engine/table-names.ts';
import { HttpError } from '../../server/errors.ts';
import { databaseOf } from '../../server/request/request-headers.ts';
import { requireQuery } from '../access.ts';
import type { Exchange } from './exchange.ts';

const MAX_TABLE_HINTS = 64;

/**
 * The tables of a query, plus those in `FORWARD_TABLE` headers, which the broker must serve, too. Both are authorized in the same way.
 * @throws {HttpError} 400, 403
 */
export async function tableHints(
  exchange: Exchange,
  tables: readonly TableName[],
  known: KnownTables,
): Promise<readonly TableName[]> {
  const header = exchange.headers['forward_table'];
  if (header === undefined) return tables;
  const hints = [header]
    .flat()
    .flatMap((value) => value.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (hints.length > MAX_TABLE_HINTS) {
    throw new HttpError(400, `\`FORWARD_TABLE\` names more than ${MAX_TABLE_HINTS} tables`);
  }
  const database = databaseOf(exchange.headers);
  const written = hints.flatMap((name) => judgedTableNames(name, database));
  const named = await known.actualTables(written, exchange.signal, exchange.principal.srn);
  requireQuery(exchange, named);
  return [...new Set([...tables, ...named])];
}
