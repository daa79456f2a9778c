import { awaitRows, createTable, loadSampleTables, uploadRows, type TargetCluster } from '../../tools/pinot/tables.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

const LOGICAL = 'alllog';

interface SmallTable {
  readonly name: string;
  readonly columns: Readonly<Record<string, 'STRING' | 'LONG' | 'INT'>>;
  /** Its only row. */
  readonly row: Readonly<Record<string, string | number>>;
}

const LINES = { line: 'STRING', num: 'LONG' } as const;
const NAMES = { customerId: 'INT', name: 'STRING' } as const;

const SMALL_TABLES: readonly SmallTable[] = [
  { name: 'log_a', columns: LINES, row: { line: 'of log_a', num: 1 } },
  { name: 'log_b', columns: LINES, row: { line: 'of log_b', num: 1 } },
  { name: 'sales.customers', columns: NAMES, row: { customerId: 1, name: 'of customers' } },
  { name: 'sales.deals', columns: NAMES, row: { customerId: 1, name: 'of deals' } },
];

/** Creates the tables of the recordings that a cluster of Pinot 1.4 or newer lacks: the sample tables, two databases and a logical table. */
export async function loadRecordedTables(cluster: TargetCluster): Promise<void> {
  await loadSampleTables(cluster, () => undefined);
  for (const { name, columns, row } of SMALL_TABLES) {
    if (await exists(cluster, `/tables/${name}`)) continue;
    await createTable(cluster.controllerUrl, schemaOf(name, columns), {
      tableName: `${name}_OFFLINE`,
      tableType: 'OFFLINE',
      segmentsConfig: { replication: '1', schemaName: name },
      tenants: {},
      tableIndexConfig: { loadMode: 'MMAP' },
      metadata: {},
    });
    await uploadRows(cluster.controllerUrl, name, [JSON.stringify(row)]);
    await awaitRows(cluster.brokerUrls, name, 1);
  }
  if (await exists(cluster, `/logicalTables/${LOGICAL}`)) return;
  await post(cluster, '/schemas', schemaOf(LOGICAL, LINES));
  await post(cluster, '/logicalTables', {
    tableName: LOGICAL,
    physicalTableConfigMap: { log_a_OFFLINE: {}, log_b_OFFLINE: {} },
    brokerTenant: 'DefaultTenant',
    refOfflineTableName: 'log_a_OFFLINE',
  });
  await awaitRows(cluster.brokerUrls, LOGICAL, 2);
}

function schemaOf(name: string, columns: SmallTable['columns']): Record<string, unknown> {
  const dimensionFieldSpecs = Object.entries(columns).map(([column, dataType]) => ({ name: column, dataType }));
  return { schemaName: name, dimensionFieldSpecs };
}

async function exists({ controllerUrl }: TargetCluster, path: string): Promise<boolean> {
  const answer = await fetch(controllerUrl + path, { signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
  const text = await answer.text();
  return answer.status === 200 && text !== '{}';
}

async function post({ controllerUrl }: TargetCluster, path: string, body: object): Promise<void> {
  const answer = await fetch(controllerUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
  });
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
}
