import { HttpError } from '../server/errors.ts';

/** The names in a JSON body for the controller, unchanged. */
export interface BodyTables {
  /** `tableName` of the body itself. */
  readonly tableName: string | undefined;
  /** Tables and schemas that are created, changed or checked. */
  readonly named: readonly string[];
  /** Physical tables of a logical table. The caller needs `Query` on them. */
  readonly read: readonly string[];
  /** Schemas that a table configuration refers to. */
  readonly schemas: readonly string[];
  /** Whether it reads tables that it does not name: a task with SQL, which is not parsed, or a logical table over another cluster. */
  readonly readsOthers: boolean;
}

type BodyFields = Readonly<Record<string, unknown>>;

/** Fields of a body that hold a table configuration or a schema. */
const PARTS = ['schema', 'offline', 'realtime', 'tableConfig'] as const;
const NAMES = ['tableName', 'schemaName'] as const;
const REFERENCES = ['refOfflineTableName', 'refRealtimeTableName'] as const;
const READ_FIELDS = [...PARTS, ...NAMES, ...REFERENCES, 'instancePartitionsName', 'physicalTableConfigMap'] as const;
const SPELLING: ReadonlyMap<string, string> = new Map(READ_FIELDS.map((name) => [name.toLowerCase(), name]));
const PARTITIONS_SUFFIX = /_(?:OFFLINE|REALTIME|CONSUMING|COMPLETED)(?:__.*)?$/;

/**
 * Finds all tables in a body: a table configuration, `{tableName, schema, offline, realtime}`, a schema, a logical table, instance partitions or an
 * ad-hoc task.
 * @param body result of `parseStrictJson`
 * @throws {HttpError} 400 for a name that is not a string (the engine would convert `1` to `"1"`), and for more than 1,000 names
 */
export function tablesOfBody(body: unknown): BodyTables {
  if (!isObject(body)) return { tableName: undefined, named: [], read: [], schemas: [], readsOthers: false };
  const parts = [body, ...PARTS.map((name) => objectAt(body, name))];
  for (const part of parts) requireSpelling(part);
  const partitions = textAt(body, 'instancePartitionsName')?.replace(PARTITIONS_SUFFIX, '');
  const task = objectAt(body, 'taskConfigs');
  const named = parts.flatMap((part) => NAMES.map((name) => textAt(part, name)));
  const ofTask = ['tableName', 'tableNameWithType', 'rawTableName'].map((name) => textAt(task, name));
  const physicalTables = objectAt(body, 'physicalTableConfigMap');
  return {
    tableName: textAt(body, 'tableName'),
    named: distinctNames([...named, partitions, ...ofTask]),
    read: distinctNames([...Object.keys(physicalTables), ...REFERENCES.map((name) => textAt(body, name))]),
    schemas: distinctNames(parts.map((part) => textAt(objectAt(part, 'segmentsConfig'), 'schemaName'))),
    readsOthers:
      [task, ...parts.flatMap(taskConfigs)].some(holdsSql) || Object.values(physicalTables).some(isOfOtherCluster),
  };
}

const TABLE_KEY = /table|schema|entity|whitelist|blacklist|^id$/i;

/**
 * The texts of a body that can be names of tables: for calls on the cluster, whose bodies name tables in various fields.
 * @param body result of `parseStrictJson`
 * @throws {HttpError} 400 for more than 1,000 texts
 */
export function textsOfTables(body: unknown): readonly string[] {
  const texts: string[] = [];
  const collect = (value: unknown, key: string): void => {
    if (typeof value === 'string' && TABLE_KEY.test(key)) texts.push(value);
    else if (Array.isArray(value)) for (const one of value) collect(one, key);
    else if (isObject(value)) for (const [name, one] of Object.entries(value)) collect(one, name);
  };
  collect(body, '');
  return distinctNames(texts);
}

function taskConfigs(part: BodyFields): BodyFields[] {
  return Object.values(objectAt(objectAt(part, 'task'), 'taskTypeConfigsMap')).filter(isObject);
}

function holdsSql(task: BodyFields): boolean {
  return Object.keys(task).some((key) => /sql|query/i.test(key));
}

/**
 * Whether a physical table is one of another Pinot cluster. The engine takes `"true"` and 1 for true, too, and a value in place of the object for the value
 * of `multiCluster`.
 */
function isOfOtherCluster(table: unknown): boolean {
  return isObject(table) ? (table['multiCluster'] ?? false) !== false : table !== null;
}

function requireSpelling(part: BodyFields): void {
  for (const key of Object.keys(part)) {
    const spelling = SPELLING.get(key.toLowerCase());
    if (spelling !== undefined && spelling !== key) {
      throw new HttpError(400, `unknown field \`${key}\` in the body: did you mean \`${spelling}\`?`);
    }
  }
}

function textAt(part: BodyFields, name: string): string | undefined {
  const value = part[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && value !== '') return value;
  throw new HttpError(400, `\`${name}\` in the body must be a non-empty string`);
}

function objectAt(part: BodyFields, name: string): BodyFields {
  const value = part[name];
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  throw new HttpError(400, `\`${name}\` in the body must be an object`);
}

function isObject(value: unknown): value is BodyFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** High enough for logical tables, which name each of their physical tables. */
const MAX_NAMES = 1000;

function distinctNames(names: readonly (string | undefined)[]): string[] {
  const distinct = [...new Set(names.filter((name) => name !== undefined && name !== ''))] as string[];
  if (distinct.length <= MAX_NAMES) return distinct;
  throw new HttpError(400, `the body names ${distinct.length} tables: at most ${MAX_NAMES} are allowed`);
}
