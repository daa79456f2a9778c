import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { FakeEngine, type SeenRequest } from './fake-engine.ts';
import { readRecording, type Recorded } from './replay-engine.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/pinot-1.5.1/databases');

/** The recordings of Pinot 1.5.1 with the databases `default` and `sales`, by name. */
export const DATABASE_RECORDINGS: readonly string[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.txt'))
  .map((file) => `databases/${file.slice(0, -4)}`);

/** A query in one spelling: without quotes of names, blanks around `=`, and an option `database` that agrees with the header. */
function plain(sql: string, database: string): string {
  return sql.replaceAll('"', '').replaceAll(/ = /g, '=').replaceAll(`SET database='${database}'; `, '');
}

function keyOf(method: string, path: string, database: string | undefined, body: string | undefined): string {
  const { sql } = JSON.parse(body || '{}') as { sql?: string };
  return [method, path, database ?? '', sql === undefined ? '' : plain(sql, database ?? 'default')].join(' ');
}

/** A server with the databases `default` and `sales`, as recorded. A request without a recording gets 501 and is recorded in `unknown`. */
export class DatabasesEngine extends FakeEngine {
  /** Method, path, database and text of each request that was never recorded. */
  readonly unknown: string[] = [];
}

export function databasesEngine(): DatabasesEngine {
  const engine = new DatabasesEngine();
  const recorded = new Map<string, Recorded>();
  for (const name of DATABASE_RECORDINGS) {
    const { method, path, requestHeaders, requestBody, ...answer } = readRecording('1.5.1', name);
    recorded.set(keyOf(method, path, requestHeaders['database'], requestBody), answer);
  }
  // Not recorded: the same logical tables, as the nodes of the property store.
  const logicalTables = ['default', 'sales'].flatMap(
    (name) => JSON.parse(readRecording('1.5.1', `databases/logicalTables_${name}`).body) as string[],
  );
  const derive = (path: string, value: unknown): void => {
    recorded.set(keyOf('GET', path, undefined, undefined), { status: 200, body: JSON.stringify(value) });
  };
  derive('/cluster/info', { clusterName: 'pinot15' });
  derive('/zk/ls?path=/pinot15/PROPERTYSTORE/LOGICAL/TABLE', logicalTables);
  const answerTo = ({ method, url, headers, body }: SeenRequest): Recorded => {
    const path = decodeURIComponent(url);
    const key = keyOf(method, path, headers['database'] as string | undefined, body);
    const found = recorded.get(key);
    if (found === undefined) {
      engine.unknown.push(key);
      return { status: 501, body: JSON.stringify({ error: `nothing is recorded for \`${key}\`` }) };
    }
    // Both recorded brokers are this engine.
    return path.endsWith('livebrokers')
      ? { ...found, body: found.body.replaceAll(/2180\d/g, `${engine.port}`) }
      : found;
  };
  engine.answers.clear();
  engine.otherwise = (request, response) => {
    const { status, body } = answerTo(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  };
  return engine;
}
