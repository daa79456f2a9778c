import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { installed } from './jvm.ts';
import { SAMPLE_TABLES, type SampleTable } from './sample-tables.ts';

const CALL_LIMIT_MS = 60_000;
const ROUTING_LIMIT_MS = 120_000;

type Json = Readonly<Record<string, unknown>>;

/** Calls Pinot's REST API. @throws {Error} with Pinot's message when the call fails */
async function call(url: string, init: RequestInit): Promise<string> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(CALL_LIMIT_MS) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${init.method ?? 'GET'} ${url}: ${answer.status} ${text.slice(0, 1_000)}`);
  return text;
}

function postJson(url: string, body: Json): Promise<string> {
  return call(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

/** Creates a schema and its table. */
export async function createTable(controllerUrl: string, schema: Json, config: Json): Promise<void> {
  await postJson(`${controllerUrl}/schemas`, schema);
  const deadline = Date.now() + ROUTING_LIMIT_MS;
  for (;;) {
    try {
      await postJson(`${controllerUrl}/tables`, config);
      return;
    } catch (error) {
      // Pinot 1.x refuses a name until the external view of a deleted table of this name is gone.
      if (!String(error).includes('still exists') || Date.now() > deadline) throw error;
      await delay(50);
    }
  }
}

export async function deleteTable(controllerUrl: string, name: string): Promise<void> {
  await call(`${controllerUrl}/tables/${name}`, { method: 'DELETE' });
  await call(`${controllerUrl}/schemas/${name}`, { method: 'DELETE' });
}

/** Uploads a built segment (a `.tar.gz`) to an offline table. */
export async function uploadSegment(controllerUrl: string, table: string, file: string): Promise<void> {
  const form = new FormData();
  form.set('file', new Blob([await readFile(file)]), basename(file));
  await call(`${controllerUrl}/v2/segments?tableName=${table}&tableType=OFFLINE`, { method: 'POST', body: form });
}

/** Ingests lines of JSON as one segment into an offline table. */
export async function uploadRows(controllerUrl: string, table: string, lines: readonly string[]): Promise<void> {
  const form = new FormData();
  form.set('file', new Blob([lines.map((line) => `${line}\n`).join('')]), 'rows.json');
  const batch = encodeURIComponent(JSON.stringify({ inputFormat: 'json' }));
  const name = encodeURIComponent(`${table}_OFFLINE`);
  await call(`${controllerUrl}/ingestFromFile?tableNameWithType=${name}&batchConfigMapStr=${batch}`, {
    method: 'POST',
    body: form,
  });
}

/** The number of rows that a query returns now; 0 while the broker has no route to the table. */
export async function countRows(brokerUrl: string, table: string): Promise<number> {
  const text = await postJson(`${brokerUrl}/query/sql`, { sql: `SELECT COUNT(*) FROM ${table}` });
  const answer = JSON.parse(text) as { resultTable?: { rows: [[number]] } };
  return answer.resultTable?.rows[0][0] ?? 0;
}

/** Waits until all brokers return that many rows. @throws {Error} after two minutes, with the last count */
export async function awaitRows(brokerUrls: readonly string[], table: string, rows: number): Promise<void> {
  const deadline = Date.now() + ROUTING_LIMIT_MS;
  for (const brokerUrl of brokerUrls) {
    let seen = await countRows(brokerUrl, table);
    while (seen < rows) {
      if (Date.now() > deadline) throw new Error(`\`${table}\` shows ${seen} of ${rows} rows at ${brokerUrl}`);
      await delay(50);
      seen = await countRows(brokerUrl, table);
    }
  }
}

export interface TargetCluster {
  readonly controllerUrl: string;
  readonly brokerUrls: readonly string[];
}

/** The configuration with which a sample table is created. */
type Arrange = (config: SampleTable['config']) => SampleTable['config'];

async function loadOne(cluster: TargetCluster, table: SampleTable, folder: string): Promise<void> {
  await createTable(cluster.controllerUrl, table.schema, table.config);
  const files = (await readdir(join(folder, table.name))).sort();
  for (const file of files) await uploadSegment(cluster.controllerUrl, table.name, join(folder, table.name, file));
}

/** Loads the missing sample tables and waits until all brokers return all of their rows. */
export async function loadSampleTables(
  cluster: TargetCluster,
  say: (message: string) => void,
  names: readonly string[] = SAMPLE_TABLES.map((table) => table.name),
  arrange: Arrange = (config) => config,
): Promise<void> {
  const folder = await installed('sample');
  const wanted = SAMPLE_TABLES.filter((table) => names.includes(table.name));
  const { tables: present } = JSON.parse(await call(`${cluster.controllerUrl}/tables`, {})) as { tables: string[] };
  for (const table of wanted) {
    if (present.includes(table.name)) continue;
    say(`loading ${table.name} (${table.segments * table.rowsPerSegment} rows)`);
    await loadOne(cluster, { ...table, config: arrange(table.config) }, folder);
  }
  for (const table of wanted) await awaitRows(cluster.brokerUrls, table.name, table.segments * table.rowsPerSegment);
}
