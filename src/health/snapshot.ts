/**
 * The input of the checks: one plain value, read once for each run. It has counts by table and server and bounded samples of faulty
 * segments, but no list of segments, so its size is proportional to the number of tables and servers.
 */

/** The value of a read, or the reason of its failure. */
export type Read<T> = { readonly ok: true; readonly value: T } | FailedRead;

export interface FailedRead {
  readonly ok: false;
  /** The message contains no credentials. */
  readonly error: string;
  /** True if there was no response in time: reading it again in the same run would only take time. */
  readonly hung?: true;
  /** The check whose finding is the reason: other checks leave the entity out, and their messages refer to that check. */
  readonly reportedBy?: string;
}

export function readOk<T>(value: T): Read<T> {
  return { ok: true, value };
}

export function readFailed(error: string): FailedRead {
  return { ok: false, error };
}

export function readHung(error: string): FailedRead {
  return { ok: false, error, hung: true };
}

/** The check that reports what only some sources of the cluster know, and nodes that cannot be read. */
export const CONSISTENCY_CHECK = 'TABLE_CONSISTENCY_CHECK';

/** A part of an entity whose fault is the finding of another check. */
export function readReported(error: string, reportedBy: string): FailedRead {
  return { ok: false, error, reportedBy };
}

/** A part that no check of the run needs. */
export const NOT_READ = readFailed('no check of this run needs it');

export type InstanceType = 'controller' | 'broker' | 'server' | 'minion' | 'other';

export interface Instance {
  /** The Helix instance id, such as `Server_10.0.0.1_8098`. */
  readonly id: string;
  readonly type: InstanceType;
  readonly host: string;
  readonly port: string;
  /** Port on which a server serves `/health`; undefined if it is not configured. */
  readonly adminPort: string | undefined;
  readonly enabled: boolean;
  readonly live: boolean;
  /** Start of its session in ZooKeeper, milliseconds since the epoch; undefined if it is not live, or not known. */
  readonly joinedAt?: number | undefined;
  readonly tags: readonly string[];
  /** Pool number by tag. */
  readonly pools: Readonly<Record<string, string>>;
}

export interface InstanceHealth {
  readonly healthy: boolean;
  /** True if there was no response. */
  readonly unreachable: boolean;
  /** True if the instance neither responded nor refused the connection in time. */
  readonly hangs?: boolean;
  /** True if the instance was not called, because others of its type hang. */
  readonly skipped?: boolean;
  /** Status and body of the response, or the error. */
  readonly detail: string;
  readonly url: string;
}

/** The disk of a server with its segments. */
export interface DiskUsage {
  readonly path: string;
  readonly totalBytes: number;
  readonly usedBytes: number;
}

/** The tasks of one type that ended on minions. */
export interface MinionTasks {
  readonly type: string;
  readonly ended: number;
  /** Number of the latest tasks, one after the other, with subtasks that failed. */
  readonly failedInARow: number;
  /** Name of the latest task; undefined if none ended. */
  readonly lastTask: string | undefined;
  readonly lastFailedSubtasks: number;
  readonly lastSubtasks: number;
  /** Tasks that have not ended, the oldest one first by its time of creation. */
  readonly open: readonly OpenTask[];
}

/** A task that has not ended. One whose subtasks neither run nor wait has not begun. */
export interface OpenTask {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly running: number;
  readonly waiting: number;
}

/** A node in ZooKeeper, and the bytes of its content as they are stored and transferred: Pinot compresses large ones. */
export interface NodeSize {
  /** Such as `orders_OFFLINE`. */
  readonly name: string;
  readonly kind: 'ideal state' | 'external view';
  readonly bytes: number;
}

export const TABLE_TYPES = ['OFFLINE', 'REALTIME'] as const;
export type TableType = (typeof TABLE_TYPES)[number];

/** The parts of a table configuration that the checks use. */
export interface TableConfig {
  readonly brokerTenant: string;
  readonly serverTenant: string;
  /** Servers with one of these tags may host segments of the table: tags of the tenant, of its overrides, and of storage tiers. */
  readonly serverTags: readonly string[];
  /** The tag of servers for consuming segments; undefined for offline tables. */
  readonly consumingTag: string | undefined;
  readonly completedTag: string;
  /** The tags of storage tiers. */
  readonly tierTags: readonly string[];
  readonly replication: string | undefined;
  readonly retentionTimeUnit: string | undefined;
  readonly retentionTimeValue: string | undefined;
  readonly timeColumn: string | undefined;
  /** True if partitions of the stream can end, as shards of Kinesis do. */
  readonly partitionsEnd: boolean;
  /** True if the table consumes all partitions of its streams, and they are numbered from 0, as those of Kafka are. */
  readonly partitionsFromZero: boolean;
  /** Milliseconds after which Pinot commits a consuming segment that has rows. */
  readonly flushTimeMs: number;
  /** The tag of the minions that run the table's tasks, by type of task. */
  readonly minionTags: ReadonlyMap<string, string>;
  readonly schemaName: string | undefined;
  readonly isDimension: boolean;
  /** True for push type REFRESH: every push replaces all segments. */
  readonly isRefresh: boolean;
  readonly upsert: boolean;
  readonly dedup: boolean;
  readonly snapshot: Switch;
  readonly preload: Switch;
  /** The entries of `instanceAssignmentConfigMap`. */
  readonly instanceAssignments: readonly InstanceAssignment[];
  /** Configured indexes, for engine versions that do not report whether a segment needs a reload. */
  readonly indexes: readonly ColumnIndex[];
  /** Columns without a dictionary; undefined if the engine chooses the encoding of some columns itself. */
  readonly rawColumns: readonly string[] | undefined;
}

/** A table setting; `default` means the default of the servers. */
export type Switch = 'on' | 'off' | 'default';

export interface InstanceAssignment {
  readonly name: string;
  readonly poolBased: boolean;
  readonly replicaGroupBased: boolean;
  /** Number of replica groups, which is the number of replicas; undefined if not based on them, or not set. */
  readonly replicaGroups: number | undefined;
}

export interface ColumnIndex {
  readonly column: string;
  /** Name of the index type in the segment metadata, such as `inverted-index`. */
  readonly index: string;
}

/** A count, and the first few of the counted names. */
export interface Sample {
  readonly count: number;
  readonly names: readonly string[];
}

export interface ServerLoad {
  /** Segment replicas, including consuming ones. */
  readonly segments: number;
  readonly consuming: number;
}

export interface Assignment {
  /** Segments of the ideal state. */
  readonly segments: number;
  readonly consumingSegments: number;
  /** Segments in the ideal state by server. Servers without segments are absent. */
  readonly servers: ReadonlyMap<string, ServerLoad>;
  /** Servers by stream partition; for upsert tables only. */
  readonly partitions: ReadonlyMap<number, readonly string[]>;
  /** Number of segments of an upsert table whose name has no partition id. */
  readonly segmentsWithoutPartition: number;
  /** Servers of the consuming segment by stream partition; for realtime tables only. */
  readonly consumingPartitions: ReadonlyMap<number, readonly string[]>;
  /** Stream partitions with consumed segments and without a consuming one, ascending; for realtime tables only. */
  readonly idlePartitions: readonly number[];
}

/** What a server reports about its replica of a consuming segment. Engine versions before 1.0 report only whether it consumes. */
export interface ReplicaConsumption {
  readonly server: string;
  readonly consumes: boolean;
  /** Offset of the end of the stream partition, as the engine writes it. */
  readonly latestOffset: string | undefined;
  /** Rows of the stream partition that are not consumed yet. */
  readonly recordsLag: number | undefined;
  /** Age of the last consumed row in milliseconds; it grows also while the stream has no new rows. */
  readonly availabilityLagMs: number | undefined;
  /** Time since the first of several runs in a row that saw the same offset while further rows waited, in milliseconds. */
  readonly stalledMs: number | undefined;
}

export interface PartitionConsumption {
  readonly partition: number;
  /** The servers that have the consuming segment in the ideal state. */
  readonly servers: readonly string[];
  /** The servers that reported. */
  readonly replicas: readonly ReplicaConsumption[];
}

/** The consumption of a realtime table. */
export interface Consumption {
  /** True if it is paused, and the ideal state therefore lacks consuming segments. */
  readonly paused: boolean;
  /** Why Pinot itself paused it; undefined if an administrator did. Engine versions before 1.3 report no reason. */
  readonly pausedBecause: string | undefined;
  /** Stream partitions without any segment, below a partition that has or had one; ascending. */
  readonly missingPartitions: readonly number[];
  readonly partitions: readonly PartitionConsumption[];
}

/** Differences between the external view and the ideal state. */
export interface ViewDifference {
  /** True if the table has no external view. */
  readonly viewMissing: boolean;
  readonly segments: Sample;
  /** Those of the segments that no server has in the state ONLINE or CONSUMING. */
  readonly unserved: Sample;
  /** The replicas that differ, by server and state; the groups with the most segments, largest first. */
  readonly replicas: readonly ReplicaFault[];
  /** Number of groups that are not in `replicas`. */
  readonly moreReplicaGroups: number;
}

/** Replicas on one server that are in the same state in the external view, and should be in another one. */
export interface ReplicaFault {
  readonly server: string;
  /** The state in the external view; `missing`: none; `unexpected`: the ideal state has no such replica. */
  readonly state: string;
  readonly segments: Sample;
}

/** Summary of the segment metadata in ZooKeeper, over completed segments. */
export interface SegmentSummary {
  readonly completed: number;
  /** Documents by server. */
  readonly documents: ReadonlyMap<string, number>;
  /** Sum of the sizes in the metadata by server. For uploaded segments these are sizes of the compressed files. */
  readonly packedBytes: ReadonlyMap<string, number>;
  /** Number of completed segments whose packed size is below the limit for small segments. */
  readonly packedBelowLimit: number;
  readonly packedUnknown: number;
  /** Segments, sorted by start and end time, that end before the previous one. */
  readonly outOfOrder: Sample;
  readonly withoutTime: number;
  /** When completed segments arrived; undefined if none has a time of creation. */
  readonly arrivals: Arrivals | undefined;
  /** Differences between the metadata and the ideal state that two reads have. */
  readonly orphans: Read<SegmentOrphans>;
  readonly files: SegmentFiles;
}

/** What the metadata of completed segments tells about their files in the deep store. */
export interface SegmentFiles {
  /** Segments whose metadata has an empty URL: only servers have them. */
  readonly withoutUrl: Sample;
  /** The oldest and the newest segment whose file the controller serves: it tells whether it has the file without sending it. */
  readonly served: readonly string[];
  /** Number of segments with another URL: only their store can tell whether it has the file. */
  readonly elsewhere: number;
}

/** Which of the files that the controller was asked for it has. */
export interface FileSample {
  readonly asked: number;
  readonly missing: Sample;
}

/** The rows of consuming segments. */
export interface ConsumingRows {
  readonly servers: ReadonlyMap<string, number>;
  /** Segments with rows, by their names. */
  readonly segments: ReadonlyMap<string, ConsumingSegment>;
}

export interface ConsumingSegment {
  /** Milliseconds since the epoch; NaN if the metadata has no time. */
  readonly createdAt: number;
  /** Rows of the replica that has the most. */
  readonly rows: number;
  /** Time since the first run that saw rows in it, in milliseconds; 0 in that run. */
  readonly withRowsMs: number;
}

/** Creation times of completed segments in the 30 days before the last one, milliseconds since the epoch. */
export interface Arrivals {
  readonly last: number;
  readonly first: number;
  /** The longest time between two of them, one after the other. */
  readonly longestGapMs: number;
}

export interface SegmentOrphans {
  /** Segments that are in the metadata but not in the ideal state: no server has them. */
  readonly unassigned: Sample;
  /** Segments that are in the ideal state but not in the metadata. */
  readonly withoutMetadata: Sample;
}

export interface SizeSummary {
  /** Completed segments whose size on disk is below the limit. */
  readonly small: Sample;
  /** Number of completed segments with a known size. */
  readonly measured: number;
  /** Bytes on disk by server. */
  readonly bytes: ReadonlyMap<string, number>;
  /** Why some sizes are missing; undefined if all are known. */
  readonly incomplete: string | undefined;
}

export interface ReloadSummary {
  /** Servers that need a reload; segments if the engine version reports only these. */
  readonly needed: Sample;
  readonly unit: 'server' | 'segment';
  /** Servers of the table that did not respond. */
  readonly silent: readonly string[];
  /** True if only one replica of each segment is known, and there are more: older engine versions merge what the servers report. */
  readonly oneReplica: boolean;
}

export interface PrimaryKeys {
  /** Count by partition, then by server. */
  readonly partitions: ReadonlyMap<number, ReadonlyMap<string, number>>;
  /** True if they were counted by a query because the engine version does not report them. */
  readonly estimated: boolean;
}

export interface RebalanceSummary {
  readonly needed: boolean;
  /** The engine's description of the dry run. */
  readonly detail: string;
}

export interface QueryOutcome {
  readonly ok: boolean;
  readonly detail: string;
  /** What a response without exceptions lacks: no server was queried, or there is no result table. Normal for a table without segments. */
  readonly lacks?: 'servers' | 'result' | undefined;
  /** True if there was no response in time. */
  readonly hung?: boolean;
}

export interface TableSnapshot {
  /** The name with its type suffix, `events_REALTIME`. */
  readonly name: string;
  /** The name without its type suffix. */
  readonly rawName: string;
  readonly type: TableType;
  readonly config: TableConfig;
  /** False if an administrator disabled the table. */
  readonly enabled: boolean;
  readonly assignment: Read<Assignment>;
  readonly difference: Read<ViewDifference>;
  readonly segments: Read<SegmentSummary>;
  readonly size: Read<SizeSummary>;
  readonly reload: Read<ReloadSummary>;
  readonly primaryKeys: Read<PrimaryKeys>;
  readonly consumingRows: Read<ConsumingRows>;
  /** Files of segments that the controller was asked for. */
  readonly files: Read<FileSample>;
  readonly rebalance: Read<RebalanceSummary>;
  /** Only realtime tables have it. */
  readonly consumption: Read<Consumption>;
}

export interface SchemaSummary {
  readonly columns: number;
  /** Granularity as written in the schema, by date-time column. */
  readonly granularities: ReadonlyMap<string, string>;
}

/** The table's schema; undefined if it is missing. Older engine versions have its name in the table configuration. */
export function schemaOf<T>(
  schemas: ReadonlyMap<string, T>,
  { rawName, config }: Pick<TableSnapshot, 'rawName' | 'config'>,
): T | undefined {
  return schemas.get(rawName) ?? schemas.get(config.schemaName ?? rawName);
}

/**
 * The names that one source lists. Names are read again a few seconds later if the sources differ, because creating or deleting a table looks
 * like a fault for a moment.
 */
export interface NameList {
  /** Names that every read had. */
  readonly always: ReadonlySet<string>;
  /** Names that at least one read had. */
  readonly ever: ReadonlySet<string>;
}

/** The tables by name with type, as each source knows them. */
export interface TableSources {
  readonly configurations: Read<NameList>;
  readonly idealStates: Read<NameList>;
  readonly externalViews: Read<NameList>;
  readonly segmentMetadata: Read<NameList>;
  /** Raw names of tables, as `GET /tables` lists them: of the default database only. */
  readonly listed: Read<NameList>;
}

/** Whether every read of the source had the name; false if the source could not be read. */
export function isIn(source: Read<NameList>, name: string): boolean {
  return source.ok && source.value.always.has(name);
}

/** Whether no read of the source had the name; false if the source could not be read. */
export function isMissingIn(source: Read<NameList>, name: string): boolean {
  return source.ok && !source.value.ever.has(name);
}

/** A list that lacks a table, although the part that it lists could be read: it is not known what else it lacks. */
export function contradictingLists(
  { name, rawName, assignment, difference, segments }: Omit<TableSnapshot, 'type' | 'config'>,
  sources: TableSources,
): readonly string[] {
  const hasView = difference.ok && !difference.value.viewMissing;
  // `GET /tables` lists the tables of the default database.
  const isInDefaultDatabase = !rawName.includes('.');
  const lists: readonly [list: Read<NameList>, listed: string, exists: boolean, what: string][] = [
    [sources.configurations, name, true, 'table configurations'],
    [sources.idealStates, name, assignment.ok, 'ideal states'],
    [sources.externalViews, name, hasView, 'external views'],
    [sources.segmentMetadata, name, segments.ok && segments.value.completed > 0, 'segment metadata'],
    [sources.listed, rawName, isInDefaultDatabase && assignment.ok, 'tables (`GET /tables`)'],
  ];
  return lists.flatMap(([list, listed, exists, what]) => (exists && isMissingIn(list, listed) ? [what] : []));
}

/** A stored assignment of servers to replica groups. `servers` has server ids by `<partition>_<replicaGroup>`. */
export interface InstancePartitions {
  readonly name: string;
  readonly servers: ReadonlyMap<string, readonly string[]>;
}

/** A policy with conditions on rows and columns. */
export interface PolicyConditions {
  readonly name: string;
  /** The reason in its status why its conditions cannot be used; undefined if they fit the schemas of their tables. */
  readonly fault: Read<string | undefined>;
}

export interface ClusterSnapshot {
  /** Why the controller could not be reached; undefined if it responded. */
  readonly unreachable: string | undefined;
  readonly clusterName: string;
  /** Version of the controller; undefined if it does not report one. */
  readonly engineVersion: string | undefined;
  readonly instances: Read<readonly Instance[]>;
  /** Ids of live instances that have no configuration. */
  readonly unconfiguredInstances: readonly string[];
  readonly instanceHealth: ReadonlyMap<string, InstanceHealth>;
  /** The key is the server. Servers that are down or do not report it are absent. */
  readonly disks: ReadonlyMap<string, Read<DiskUsage>>;
  /** Tables with a rebalance in progress, as Pinot itself says; empty where it does not say, as before 1.0. */
  readonly rebalancing?: ReadonlySet<string>;
  readonly minionTasks: Read<readonly MinionTasks[]>;
  readonly nodeSizes: Read<readonly NodeSize[]>;
  readonly clusterConfig: Read<Readonly<Record<string, string>>>;
  readonly sources: TableSources;
  readonly tables: Read<readonly TableSnapshot[]>;
  /** Why the configuration of a table could not be read, by name with type. These tables are not in `tables`. */
  readonly unreadableTables: ReadonlyMap<string, string>;
  /** A schema that is not valid is a failed read. */
  readonly schemas: Read<ReadonlyMap<string, Read<SchemaSummary>>>;
  readonly instancePartitions: Read<readonly InstancePartitions[]>;
  /** Online brokers by table name with type. */
  readonly brokerResource: Read<ReadonlyMap<string, readonly string[]>>;
  /** Number of tables by lead controller. */
  readonly leaders: Read<ReadonlyMap<string, number>>;
  /** The key is the raw table name. */
  readonly queries: ReadonlyMap<string, Read<QueryOutcome>>;
  /** `unavailable` in a run without access to policies. */
  readonly policies: Read<readonly PolicyConditions[] | 'unavailable'>;
}
