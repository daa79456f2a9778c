import { errorMessage } from '../../platform/plain-error.ts';
import type {
  ColumnIndex,
  Instance,
  InstanceAssignment,
  InstancePartitions,
  InstanceType,
  Read,
  SchemaSummary,
  Switch,
  TableConfig,
  TableType,
} from '../snapshot.ts';
import { CONSISTENCY_CHECK, readOk, readReported } from '../snapshot.ts';
import { objectOf, specsOf, textOf, type JsonValue } from './json-values.ts';
import { streamSettings } from './stream-settings.ts';

/** A node of the property store, as `/zk/get` and `/zk/getChildren` return it. */
interface ZNode {
  readonly id: string;
  readonly simpleFields: Readonly<Record<string, string>>;
  readonly mapFields: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly listFields: Readonly<Record<string, readonly string[]>>;
}

export interface TableEntry {
  readonly name: string;
  readonly rawName: string;
  readonly type: TableType;
  readonly config: TableConfig;
}

export interface SchemaEntry extends SchemaSummary {
  readonly columnNames: readonly string[];
}

function parseNodes(body: unknown): ZNode[] {
  if (!Array.isArray(body)) throw new Error('the response is not a list of nodes');
  return body.filter((node) => node !== null).map(parseNode);
}

function parseNode(body: unknown): ZNode {
  const node = objectOf(body);
  return {
    id: textOf(node.id) ?? '',
    simpleFields: objectOf(node.simpleFields) as Record<string, string>,
    mapFields: objectOf(node.mapFields) as ZNode['mapFields'],
    listFields: objectOf(node.listFields) as ZNode['listFields'],
  };
}

const TYPES: Readonly<Record<string, InstanceType>> = {
  Controller: 'controller',
  Broker: 'broker',
  Server: 'server',
  Minion: 'minion',
};

export function parseInstances(body: unknown, live: ReadonlySet<string>): Instance[] {
  return parseNodes(body).map(({ id, simpleFields, mapFields, listFields }) => ({
    id,
    type: TYPES[id.slice(0, Math.max(0, id.indexOf('_')))] ?? 'other',
    host: simpleFields.HELIX_HOST ?? '',
    port: simpleFields.HELIX_PORT ?? '',
    adminPort: simpleFields.adminPort,
    // Newer engine versions write the flag only after its first change.
    enabled: simpleFields.HELIX_ENABLED !== 'false',
    live: live.has(id),
    tags: listFields.TAG_LIST ?? [],
    pools: mapFields.pool ?? {},
  }));
}

export interface TableEntries {
  readonly tables: readonly TableEntry[];
  /** Why a configuration is invalid, by name of the table with type. */
  readonly broken: ReadonlyMap<string, string>;
}

export function parseTables(body: unknown): TableEntries {
  const tables: TableEntry[] = [];
  const broken = new Map<string, string>();
  for (const { id, simpleFields } of parseNodes(body)) {
    const match = /^(.+)_(OFFLINE|REALTIME)$/u.exec(id);
    if (match === null) continue;
    try {
      const type = match[2] as TableType;
      tables.push({ name: id, rawName: match[1] as string, type, config: tableConfig(simpleFields, type) });
    } catch (error) {
      broken.set(id, errorMessage(error));
    }
  }
  return { tables, broken };
}

/** @param fields the parts of a table configuration, each as JSON text */
function tableConfig(fields: Readonly<Record<string, string>>, type: TableType): TableConfig {
  const part = (name: string): JsonValue => objectOf(fields[name] === undefined ? {} : JSON.parse(fields[name]));
  const segments = part('segmentsConfig');
  const tenants = part('tenants');
  const upsert = part('upsertConfig');
  const dedup = part('dedupConfig');
  const isUpsert = upsert.mode !== undefined && upsert.mode !== 'NONE';
  const isDedup = dedup.dedupEnabled === true;
  const serverTenant = textOf(tenants.server) ?? 'DefaultTenant';
  const keyed = isUpsert ? upsert : dedup;
  return {
    brokerTenant: textOf(tenants.broker) ?? 'DefaultTenant',
    serverTenant,
    ...serverTags(serverTenant, type, objectOf(tenants.tagOverrideConfig), parseList(fields.tierConfigs)),
    replication: replicationOf(segments, type),
    retentionTimeUnit: textOf(segments.retentionTimeUnit),
    retentionTimeValue: textOf(segments.retentionTimeValue),
    timeColumn: textOf(segments.timeColumnName),
    ...streamSettings(part('tableIndexConfig'), part('ingestionConfig')),
    minionTags: minionTags(part('task')),
    schemaName: textOf(segments.schemaName),
    isDimension: fields.isDimTable === 'true',
    isRefresh: type === 'OFFLINE' && isRefresh(segments, part('ingestionConfig')),
    upsert: isUpsert,
    dedup: isDedup,
    snapshot: switchOf(keyed.snapshot, keyed.enableSnapshot),
    preload: switchOf(keyed.preload, keyed.enablePreload),
    instanceAssignments: instanceAssignments(part('instanceAssignmentConfigMap')),
    indexes: columnIndexes(part('tableIndexConfig'), parseList(fields.fieldConfigList)),
    rawColumns: rawColumns(part('tableIndexConfig'), parseList(fields.fieldConfigList)),
  };
}

type ServerTags = Pick<TableConfig, 'serverTags' | 'consumingTag' | 'completedTag' | 'tierTags'>;

function serverTags(tenant: string, type: TableType, overrides: JsonValue, tiers: readonly JsonValue[]): ServerTags {
  const own = `${tenant}_${type}`;
  const consumingTag = type === 'REALTIME' ? (textOf(overrides.realtimeConsuming) ?? own) : undefined;
  const completedTag = type === 'REALTIME' ? (textOf(overrides.realtimeCompleted) ?? own) : own;
  const tierTags = tiers.map((tier) => textOf(tier.serverTag)).filter((tag) => tag !== undefined);
  const all = [...(consumingTag === undefined ? [] : [consumingTag]), completedTag, ...tierTags];
  return { serverTags: [...new Set(all)], consumingTag, completedTag, tierTags };
}

/** Realtime tables of older engine versions use `replicasPerPartition`. */
function replicationOf(segments: JsonValue, type: TableType): string | undefined {
  const replication = textOf(segments.replication);
  return type === 'REALTIME' ? (textOf(segments.replicasPerPartition) ?? replication) : replication;
}

/** The tag of instances without one of their own, which run the tasks that name none. */
const UNTAGGED_MINION = 'minion_untagged';

/** The tags of minions by type of the table's tasks. */
function minionTags(task: JsonValue): Map<string, string> {
  const types = Object.entries(objectOf(task.taskTypeConfigsMap));
  return new Map(types.map(([type, config]) => [type, textOf(objectOf(config).minionInstanceTag) ?? UNTAGGED_MINION]));
}

function isRefresh(segments: JsonValue, ingestion: JsonValue): boolean {
  const batch = objectOf(ingestion.batchIngestionConfig);
  const kind = textOf(batch.segmentIngestionType) ?? textOf(segments.segmentPushType) ?? '';
  return kind.toUpperCase() === 'REFRESH';
}

/** Newer engine versions have `snapshot: ENABLE | DISABLE | DEFAULT`, older ones `enableSnapshot: true | false`. */
function switchOf(named: unknown, flag: unknown): Switch {
  if (named === 'ENABLE') return 'on';
  if (named === 'DISABLE') return 'off';
  if (flag === true) return 'on';
  return named === 'DEFAULT' || flag === undefined ? 'default' : 'off';
}

function instanceAssignments(map: JsonValue): InstanceAssignment[] {
  return Object.entries(map).map(([name, value]) => {
    const config = objectOf(value);
    const { replicaGroupBased, numReplicaGroups } = objectOf(config.replicaGroupPartitionConfig);
    const groups = Number(numReplicaGroups);
    return {
      name,
      poolBased: objectOf(config.tagPoolConfig).poolBased === true,
      replicaGroupBased: replicaGroupBased === true,
      replicaGroups: replicaGroupBased === true && groups > 0 ? groups : undefined,
    };
  });
}

/** The configuration fields that list the columns of each index type; the key is its name in the segment metadata. */
const INDEX_LISTS: readonly (readonly [index: string, lists: readonly string[], maps: readonly string[]])[] = [
  ['inverted-index', ['invertedIndexColumns'], []],
  ['range-index', ['rangeIndexColumns'], []],
  ['bloom-filter', ['bloomFilterColumns'], ['bloomFilterConfigs']],
  ['json-index', ['jsonIndexColumns'], ['jsonIndexConfigs']],
];
const FIELD_INDEXES: Readonly<Record<string, string>> = {
  INVERTED: 'inverted-index',
  RANGE: 'range-index',
  JSON: 'json-index',
  TEXT: 'text-index',
  FST: 'fst-index',
  H3: 'h3-index',
};

function columnIndexes(config: JsonValue, fields: readonly JsonValue[]): ColumnIndex[] {
  const indexes: ColumnIndex[] = [];
  for (const [index, lists, maps] of INDEX_LISTS) {
    for (const list of lists) for (const column of listOf(config[list])) indexes.push({ column, index });
    for (const map of maps) for (const column of Object.keys(objectOf(config[map]))) indexes.push({ column, index });
  }
  for (const field of fields) {
    const types = [...listOf(field.indexTypes), textOf(field.indexType) ?? ''];
    for (const type of types) {
      const index = FIELD_INDEXES[type];
      if (index !== undefined) indexes.push({ column: textOf(field.name) ?? '', index });
    }
  }
  return indexes;
}

function rawColumns(config: JsonValue, fields: readonly JsonValue[]): string[] | undefined {
  const optimized = ['optimizeDictionary', 'optimizeDictionaryForMetrics', 'optimizeDictionaryType'];
  if (optimized.some((flag) => config[flag] === true)) return undefined;
  const raw = fields.filter(({ encodingType }) => encodingType === 'RAW').map(({ name }) => textOf(name) ?? '');
  const listed = listOf(config.noDictionaryColumns);
  return [...new Set([...listed, ...Object.keys(objectOf(config.noDictionaryConfig)), ...raw])];
}

const FIELD_SPECS = ['dimensionFieldSpecs', 'metricFieldSpecs', 'dateTimeFieldSpecs', 'complexFieldSpecs'] as const;

/** The schemas by name; an invalid one is a failed read. */
export function parseSchemas(body: unknown): Map<string, Read<SchemaEntry>> {
  return new Map(parseNodes(body).map(({ id, simpleFields }) => [id, parseSchema(simpleFields.schemaJSON)]));
}

function parseSchema(json: string | undefined): Read<SchemaEntry> {
  try {
    if (json === undefined) throw new Error('the node has no `schemaJSON`');
    return readOk(schemaEntry(objectOf(JSON.parse(json))));
  } catch (error) {
    return readReported(errorMessage(error), CONSISTENCY_CHECK);
  }
}

function schemaEntry(schema: JsonValue): SchemaEntry {
  const columnNames = FIELD_SPECS.flatMap((list) => specsOf(schema[list]).map((spec) => textOf(spec.name) ?? ''));
  const granularities = new Map<string, string>();
  for (const spec of specsOf(schema.dateTimeFieldSpecs)) {
    granularities.set(textOf(spec.name) ?? '', textOf(spec.granularity) ?? '');
  }
  // Before date-time fields, a schema had one time column; its granularity is its unit.
  const time = objectOf(schema.timeFieldSpec);
  const legacy = objectOf(time.outgoingGranularitySpec ?? time.incomingGranularitySpec);
  const legacyName = textOf(legacy.name);
  if (legacyName !== undefined) {
    columnNames.push(legacyName);
    granularities.set(legacyName, textOf(legacy.timeType) ?? '');
  }
  return { columns: columnNames.length, columnNames, granularities };
}

export function parseInstancePartitions(body: unknown): InstancePartitions[] {
  return parseNodes(body).map(({ id, listFields }) => ({ name: id, servers: new Map(Object.entries(listFields)) }));
}

/** Online brokers by table. */
export function parseBrokerResource(body: unknown): Map<string, string[]> {
  const resource = new Map<string, string[]>();
  const node = parseNode(body);
  if (node.id === '') throw new Error('the response is not the node of the broker resource: it has no `id`');
  for (const [table, brokers] of Object.entries(node.mapFields)) {
    resource.set(
      table,
      Object.keys(brokers).filter((broker) => brokers[broker] === 'ONLINE'),
    );
  }
  return resource;
}

/** Number of tables by lead controller. */
export function parseLeaders(body: unknown): Map<string, number> {
  const { leadControllerEntryMap, leadControllerResourceEnabled } = objectOf(body);
  // Without the resource, one controller leads all tables, and the response has no entries.
  if (typeof leadControllerEntryMap !== 'object' && leadControllerResourceEnabled !== false) {
    throw new Error('the response to `GET /leader/tables` has no `leadControllerEntryMap`');
  }
  const entries = objectOf(leadControllerEntryMap);
  const leaders = new Map<string, number>();
  for (const value of Object.values(entries)) {
    const { leadControllerId, tableNames } = objectOf(value);
    if (typeof leadControllerId !== 'string') continue;
    const count = Array.isArray(tableNames) ? tableNames.length : 0;
    leaders.set(leadControllerId, (leaders.get(leadControllerId) ?? 0) + count);
  }
  return leaders;
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function parseList(text: string | undefined): JsonValue[] {
  return text === undefined ? [] : specsOf(JSON.parse(text));
}
