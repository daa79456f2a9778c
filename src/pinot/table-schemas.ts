import { LruCache } from '../platform/lru.ts';
import { untilAborted } from '../platform/until-aborted.ts';
import { requestJson } from './controller.ts';
import { tableNameOf, type TableName } from './table-name.ts';
import { EngineError, type EngineEndpoint } from './types.ts';

/** Maximum age of what was read. A column that is added meanwhile cannot be read yet, and one that is removed is an error of the engine. */
const MAX_AGE_MS = 5_000;
const TIMEOUT_MS = 5_000;
const MAX_TABLES = 1_000;
/** Columns of all tables that are kept. */
const MAX_COLUMNS = 200_000;
const MAX_JSON_BYTES = 4 * 1024 * 1024;

interface Known<T> {
  readonly value: T;
  readonly readAt: number;
}

/** Major and minor version of the engine, such as `[1, 5]`. */
export type EngineVersion = readonly [major: number, minor: number];

const VERSION_PATH = '/version';

/** Schemas of tables, the tables of logical tables, and the version of the controller, which are read when they are needed. */
export class TableSchemas {
  readonly #controller: EngineEndpoint;
  /** Milliseconds of the monotonic clock. */
  readonly #now: () => number;
  readonly #columns = new LruCache<TableName, Known<ReadonlySet<string> | undefined>>({
    maxWeight: MAX_COLUMNS,
    weightOf: ({ value }) => (value?.size ?? 0) + 1,
  });
  readonly #physical = new LruCache<TableName, Known<readonly TableName[]>>({ maxWeight: MAX_TABLES });
  readonly #version = new LruCache<string, Known<EngineVersion | undefined>>({ maxWeight: 1 });
  /** Readings in progress, which callers share. */
  readonly #reading = new Map<string, Promise<unknown>>();

  constructor(controller: EngineEndpoint, now: () => number) {
    this.#controller = controller;
    this.#now = now;
  }

  /**
   * Names of the columns of a table, without those that the engine adds; undefined for a table without a schema.
   * @throws {EngineError} if they cannot be read
   */
  columnsOf(table: TableName, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    return this.#read('columns', this.#columns, table, signal, (limit) => readColumns(this.#controller, table, limit));
  }

  /**
   * The tables that a logical table consists of; empty for another table.
   * @throws {EngineError} if they cannot be read
   */
  tablesOf(logical: TableName, signal: AbortSignal): Promise<readonly TableName[]> {
    return this.#read('tables', this.#physical, logical, signal, (limit) =>
      readTables(this.#controller, logical, limit),
    );
  }

  /**
   * The version of the controller; undefined if it does not tell.
   * @throws {EngineError} if it cannot be read
   */
  version(signal: AbortSignal): Promise<EngineVersion | undefined> {
    return this.#read('version', this.#version, VERSION_PATH, signal, (limit) => readVersion(this.#controller, limit));
  }

  async #read<K extends string, T>(
    what: string,
    cache: LruCache<K, Known<T>>,
    name: K,
    signal: AbortSignal,
    read: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const known = cache.get(name);
    if (known !== undefined && this.#now() - known.readAt < MAX_AGE_MS) return known.value;
    const key = `${what} ${name}`;
    let reading = this.#reading.get(key) as Promise<T> | undefined;
    if (reading === undefined) {
      const readAt = this.#now();
      reading = read(AbortSignal.timeout(TIMEOUT_MS))
        .then((value) => {
          cache.set(name, { value, readAt });
          return value;
        })
        .finally(() => this.#reading.delete(key));
      this.#reading.set(key, reading);
    }
    return untilAborted(reading, signal);
  }
}

async function readColumns(
  controller: EngineEndpoint,
  table: TableName,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  for (const path of [`/tables/${encodeURIComponent(table)}/schema`, `/schemas/${encodeURIComponent(table)}`]) {
    const { status, value } = await requestJson(controller, { path, signal }, MAX_JSON_BYTES);
    if (status === 200) return columnsIn(value, table);
    if (status !== 404)
      throw new EngineError('bad-response', `the controller responded with status ${status} to \`GET ${path}\``);
  }
  return undefined;
}

const LISTS = ['dimensionFieldSpecs', 'metricFieldSpecs', 'dateTimeFieldSpecs', 'complexFieldSpecs'] as const;

function columnsIn(schema: unknown, table: TableName): ReadonlySet<string> {
  const fields = (schema ?? {}) as Readonly<Record<string, unknown>>;
  const specs = LISTS.flatMap((list) => (Array.isArray(fields[list]) ? (fields[list] as unknown[]) : []));
  const names = [...specs.map(nameIn), timeColumn(fields['timeFieldSpec'])].filter((name) => name !== undefined);
  // The engine adds columns such as `$docId`, which are not columns of the table.
  const columns = new Set(names.filter((name) => !name.startsWith('$')));
  if (columns.size > 0) return columns;
  throw new EngineError('bad-response', `the schema of \`${table}\` has no columns`);
}

function nameIn(spec: unknown): string | undefined {
  const { name } = (spec ?? {}) as { readonly name?: unknown };
  return typeof name === 'string' ? name : undefined;
}

/** Of old schemas: the column has the name of the outgoing granularity. */
function timeColumn(spec: unknown): string | undefined {
  const { incomingGranularitySpec: incoming, outgoingGranularitySpec: outgoing } = (spec ?? {}) as Readonly<
    Record<string, unknown>
  >;
  return nameIn(outgoing) ?? nameIn(incoming);
}

/** `{"pinot-controller": "1.5.1-020ff0d0…", …}` */
async function readVersion(controller: EngineEndpoint, signal: AbortSignal): Promise<EngineVersion | undefined> {
  const { status, value } = await requestJson(controller, { path: VERSION_PATH, signal }, MAX_JSON_BYTES);
  if (status !== 200)
    throw new EngineError('bad-response', `the controller responded with status ${status} to \`GET ${VERSION_PATH}\``);
  const { 'pinot-controller': version } = (value ?? {}) as { readonly 'pinot-controller'?: unknown };
  const [, major, minor] = /^(\d{1,4})\.(\d{1,4})(?!\d)/.exec(typeof version === 'string' ? version : '') ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor)];
}

async function readTables(
  controller: EngineEndpoint,
  logical: TableName,
  signal: AbortSignal,
): Promise<readonly TableName[]> {
  const path = `/logicalTables/${encodeURIComponent(logical)}`;
  const { status, value } = await requestJson(controller, { path, signal }, MAX_JSON_BYTES);
  if (status === 404) return [];
  const { physicalTableConfigMap: tables } = (value ?? {}) as { readonly physicalTableConfigMap?: unknown };
  if (status !== 200 || typeof tables !== 'object' || tables === null)
    throw new EngineError('bad-response', `the controller responded with status ${status} to \`GET ${path}\``);
  return [...new Set(Object.keys(tables).map(tableNameOf))];
}
