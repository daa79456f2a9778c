import { ON_CLUSTER, ON_CLUSTER_AND_TABLE, ON_TABLE, ON_TABLE_OF_BODY } from '../../../src/pinot/call-list.ts';

/** A call of the engine's controller or brokers. */
export interface EngineCallLine {
  readonly method: string;
  /** As in the list of calls. */
  readonly pattern: string;
  readonly path: string;
  readonly body: unknown;
}

const TABLE_CONFIG = {
  tableName: 'orders_OFFLINE',
  tableType: 'OFFLINE',
  segmentsConfig: { replication: '1', schemaName: 'orders' },
  tenants: {},
  tableIndexConfig: {},
  metadata: {},
};

/** Bodies that name the table `orders`, for the calls that read one; `{}` for others. */
const BODIES: Readonly<Record<string, unknown>> = {
  'POST /tables': TABLE_CONFIG,
  'POST /tables/validate': TABLE_CONFIG,
  'POST /tables/validateTableAndSchema': { tableConfig: TABLE_CONFIG, schema: { schemaName: 'orders' } },
  'POST /tableConfigs': { tableName: 'orders', schema: { schemaName: 'orders' }, offline: TABLE_CONFIG },
  'POST /tableConfigs/validate': { tableName: 'orders', schema: { schemaName: 'orders' }, offline: TABLE_CONFIG },
  'PUT /tableConfigs/{table}': { tableName: 'orders', schema: { schemaName: 'orders' }, offline: TABLE_CONFIG },
  'PUT /tables/{table}': TABLE_CONFIG,
  'POST /schemas': { schemaName: 'orders' },
  'POST /schemas/validate': { schemaName: 'orders' },
  'PUT /schemas/{table}': { schemaName: 'orders' },
  'POST /logicalTables': { tableName: 'orders', physicalTableConfigMap: {} },
  'PUT /logicalTables/{table}': { tableName: 'orders', physicalTableConfigMap: {} },
  'POST /tasks/execute': { taskType: 'MergeTask', tableName: 'orders_OFFLINE' },
};

/** Required query strings. */
const QUERIES: Readonly<Record<string, string>> = { '/periodictask/run': '?taskName=RetentionManager' };

/** Calls that are not in the list: they may do anything. */
const UNKNOWN = ['GET /no/such/call', 'POST /no/such/call'];
/** Paths on which the gateway reads SQL, without those of the OpenAPI document. */
const SQL_CALLS = [
  ['POST /query', { sql: 'SELECT city FROM orders LIMIT 2' }],
  ['POST /sql', { sql: 'SELECT city FROM orders LIMIT 2' }],
  ['POST /query/sql/queryFingerprint', { sql: 'SELECT city FROM orders LIMIT 2' }],
  ['POST /query/sql/validateSyntax', { sql: 'SELECT city FROM orders LIMIT 2' }],
  ['POST /validateMultiStageQuery', { sql: 'SELECT city FROM orders LIMIT 2' }],
  ['GET /timeseries/api/v1/query_range', undefined],
] as const;

/** A valid request for each call of the list, on the table `orders`. */
export function engineCalls(): EngineCallLine[] {
  const listed = [ON_TABLE, ON_TABLE_OF_BODY, ON_CLUSTER, ON_CLUSTER_AND_TABLE].flatMap((text) =>
    text
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/ +/).slice(0, 2) as [string, string]),
  );
  const unknown = UNKNOWN.map((call) => call.split(' ') as [string, string]);
  const calls = [...listed, ...unknown].map(([method, target]) => {
    const [pattern = '', parameter] = target.split('?');
    const path = pattern.replaceAll('{table}', 'orders').replaceAll('{database}', 'empty').replaceAll('*', 'x1');
    return {
      method,
      pattern: target,
      path: parameter === undefined ? path + (QUERIES[path] ?? '') : `${path}?${parameter}=orders_OFFLINE`,
      body: method === 'GET' || method === 'DELETE' ? undefined : (BODIES[`${method} ${pattern}`] ?? {}),
    };
  });
  const queries = SQL_CALLS.map(([call, body]) => {
    const [method = '', path = ''] = call.split(' ');
    return { method, pattern: path, path, body };
  });
  return [...queries, ...calls].toSorted((a, b) => order(a).localeCompare(order(b), 'en'));
}

function order({ pattern, method }: EngineCallLine): string {
  return `${pattern} ${method}`;
}
