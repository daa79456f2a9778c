import { QueryError } from '../errors.ts';
import type { RecordAdditions } from './submit.ts';
import type { ScannedResponse } from '../scanner/response-scanner.ts';
import { countIn } from '../scanner/fields.ts';

/**
 * Names and types of the columns are only in a `resultTable`. They cannot be derived from the text of the query: the engine itself chooses the
 * names of expressions, the order of `*`, and the types of expressions, differently in its versions.
 */
const NO_COLUMNS = '{"columnNames":[],"columnDataTypes":[]}';

const NO_SERVER_WARNING =
  'the engine queried no server and named no columns: either no segment of the tables can have matching rows, or no server with their ' +
  'segments is available. The response of this version of the engine is the same for both; `QUERY_HEALTH_CHECK` finds tables without servers';

/** Columns of a result, and what its reader should know about them. */
export type ResultColumns = Pick<RecordAdditions, 'warnings'> & { readonly dataSchema: string };

/**
 * The columns of a response without exceptions. Pinot before 1.4 leaves out `resultTable` if the broker queries no server, because the tables have no
 * segments or all of them are pruned: an empty result without columns. A response that may have lost rows is not an empty result.
 * @throws {QueryError} bad-response for a response that is neither a result nor an empty one
 */
export function columnsIn(response: ScannedResponse): ResultColumns {
  if (response.hasTable) return { dataSchema: dataSchemaOf(response) };
  const { fields } = response;
  if (!fields.some(({ name, value }) => name === 'exceptions' && value.startsWith('['))) {
    throw noResult('`exceptions` is not a list');
  }
  const queried = countIn(fields, 'numServersQueried');
  const responded = countIn(fields, 'numServersResponded');
  if (queried === undefined || queried !== responded) {
    throw noResult(`\`numServersQueried\` is ${shown(queried)}, \`numServersResponded\` is ${shown(responded)}`);
  }
  // `dropResults` removes the table and keeps the number of its rows.
  const rows = fields.some(({ name }) => name === 'numRowsResultSet') ? countIn(fields, 'numRowsResultSet') : 0;
  if (rows !== 0) {
    throw noResult(
      `\`numRowsResultSet\` is ${shown(rows)}. The query option \`dropResults\` cannot be combined with pagination`,
    );
  }
  if (fields.some(({ name, value }) => name === 'partialResult' && value === 'true')) {
    throw noResult('`partialResult` is true');
  }
  const isPruned = (countIn(fields, 'numSegmentsPrunedByBroker') ?? 0) > 0;
  return { dataSchema: NO_COLUMNS, ...(queried === 0 && !isPruned && { warnings: [NO_SERVER_WARNING] }) };
}

function dataSchemaOf({ hasRows, dataSchema }: ScannedResponse): string {
  if (hasRows && dataSchema !== undefined) return dataSchema;
  const missing = hasRows ? '`dataSchema`, an object' : '`rows`, a list';
  throw new QueryError('bad-response', `\`resultTable\` in the engine's response has no ${missing}`);
}

function noResult(reason: string): QueryError {
  return new QueryError(
    'bad-response',
    `the engine's response has no \`resultTable\` and is not an empty result: ${reason}`,
  );
}

function shown(count: number | undefined): string {
  return count === undefined ? 'unknown' : String(count);
}
