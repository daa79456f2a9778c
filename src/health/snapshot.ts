/**
 * What the checks know of a cluster: one plain value, read once. It holds counts for each table and server, never a list of segments
 * (but for a bounded sample of those that are not well), so that its size follows tables and servers.
 */

/** A part of the cluster that was read, or why it could not be. `error` is for people and holds no credential. */
export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string };

export function readOk<T>(value: T): Read<T> {
  return { ok: true, value };
}

export function readFailed(error: string): { readonly ok: false; readonly error: string } {
  return { ok: false, error };
}

/** A part that no check of the run asked for. */
export const NOT_READ = readFailed('it was not asked for in this run');

export type InstanceType = 'controller' | 'broker' | 'server' | 'minion' | 'other';

export interface Instance {
  /** The Helix instance id, such as `Server_10.0.0.1_8098`. */
  readonly id: string;
  readonly type: InstanceType;
  readonly host: string;
  readonly port: string;
  /** Where a server answers `/health`; undefined where its configuration does not say. */
  readonly adminPort: string | undefined;
  readonly enabled: boolean;
  readonly live: boolean;
  readonly tags: readonly string[];
  /** Pool number by tag. */
  readonly pools: Readonly<Record<string, string>>;
}

export interface InstanceHealth {
  readonly healthy: boolean;
  /** True where no answer came at all. */
  readonly unreachable: boolean;
  /** Status and text of the answer, or the error. */
  readonly detail: string;
  readonly url: string;
}

export type TableType = 'OFFLINE' | 'REALTIME';

/** The parts of a table configuration that a check looks at. */
export interface TableConfig {
  readonly brokerTenant: string;
  readonly serverTenant: string;
  /** Tags whose servers may hold segments of the table: the tenant's, overrides of it, and those of storage tiers. */
  readonly serverTags: readonly string[];
  readonly replication: string | undefined;
  readonly retentionTimeUnit: string | undefined;
  readonly retentionTimeValue: string | undefined;
  readonly timeColumn: string | undefined;
  readonly schemaName: string | undefined;
  readonly isDimension: boolean;
  /** REFRESH where every push replaces all segments. */
  readonly isRefresh: boolean;
  readonly upsert: boolean;
  readonly dedup: boolean;
  readonly snapshot: Switch;
  readonly preload: Switch;
  /** One for each entry of `instanceAssignmentConfigMap`. */
  readonly instanceAssignments: readonly InstanceAssignment[];
  /** Index types by column, for engines that do not tell whether a segment needs a reload. */
  readonly indexes: readonly ColumnIndex[];
}

/** A flag that a table sets or leaves to the default of the servers. */
export type Switch = 'on' | 'off' | 'default';

export interface InstanceAssignment {
  readonly name: string;
  readonly poolBased: boolean;
  readonly replicaGroupBased: boolean;
}

export interface ColumnIndex {
  readonly column: string;
  /** As the engine names it in a segment's metadata, such as `inverted-index`. */
  readonly index: string;
}

/** A count, and the first few names of what was counted. */
export interface Sample {
  readonly count: number;
  readonly names: readonly string[];
}

export interface ServerLoad {
  /** Replicas of segments, consuming ones included. */
  readonly segments: number;
  readonly consuming: number;
}

export interface Assignment {
  /** Segments of the ideal state. */
  readonly segments: number;
  readonly consumingSegments: number;
  /** By server: what the ideal state puts there. Servers without a segment are absent. */
  readonly servers: ReadonlyMap<string, ServerLoad>;
  /** Servers by stream partition; for upsert tables only. */
  readonly partitions: ReadonlyMap<number, readonly string[]>;
  /** Segments of upsert tables whose name does not tell their partition. */
  readonly segmentsWithoutPartition: number;
}

/** How the external view differs from the ideal state. */
export interface ViewDifference {
  /** True where the table has no external view at all. */
  readonly viewMissing: boolean;
  readonly segments: Sample;
}

/** From the segments' metadata in ZooKeeper; consuming segments lack all of it and are not counted. */
export interface SegmentSummary {
  readonly completed: number;
  /** Documents by server. */
  readonly documents: ReadonlyMap<string, number>;
  /** Sum of the sizes that the metadata has; packed where the segment was uploaded. */
  readonly packedBytes: ReadonlyMap<string, number>;
  /** Completed segments by packed size: below the limit that sizes were asked for. */
  readonly packedBelowLimit: number;
  readonly packedUnknown: number;
  /** Segments whose end is before the end of the one that precedes them when sorted by start and end. */
  readonly outOfOrder: Sample;
  readonly withoutTime: number;
}

export interface SizeSummary {
  /** How many completed segments are smaller on disk than the limit asked for, and of how many. */
  readonly small: Sample;
  readonly measured: number;
  /** Bytes on disk by server. */
  readonly bytes: ReadonlyMap<string, number>;
  /** Set where a server did not answer, so that sizes are estimates. */
  readonly incomplete: string | undefined;
}

export interface ReloadSummary {
  /** Servers (or segments, on engines that only tell these) that need a reload. */
  readonly needed: Sample;
  readonly unit: 'server' | 'segment';
  /** Servers of the table that did not answer. */
  readonly silent: readonly string[];
}

export interface PrimaryKeys {
  /** Count by partition, then by server. */
  readonly partitions: ReadonlyMap<number, ReadonlyMap<string, number>>;
  /** True where they were counted by a query, since the engine does not tell them. */
  readonly estimated: boolean;
}

export interface RebalanceSummary {
  readonly needed: boolean;
  /** What the engine said. */
  readonly detail: string;
}

export interface QueryOutcome {
  readonly ok: boolean;
  readonly detail: string;
}

export interface TableSnapshot {
  /** With its type suffix, `events_REALTIME`. */
  readonly name: string;
  /** Without its type suffix. */
  readonly rawName: string;
  readonly type: TableType;
  readonly config: TableConfig;
  /** False for a table that an administrator disabled. */
  readonly enabled: boolean;
  readonly assignment: Read<Assignment>;
  readonly difference: Read<ViewDifference>;
  readonly segments: Read<SegmentSummary>;
  readonly size: Read<SizeSummary>;
  readonly reload: Read<ReloadSummary>;
  readonly primaryKeys: Read<PrimaryKeys>;
  /** Rows of consuming segments by server; undefined for tables without any. */
  readonly consumingRows: Read<ReadonlyMap<string, number>>;
  readonly rebalance: Read<RebalanceSummary>;
}

export interface SchemaSummary {
  readonly columns: number;
  /** Granularity as the schema spells it, by date-time column. */
  readonly granularities: ReadonlyMap<string, string>;
}

/** A stored assignment of servers to replica groups; server names by `<partition>_<replicaGroup>`. */
export interface InstancePartitions {
  readonly name: string;
  readonly servers: ReadonlyMap<string, readonly string[]>;
}

export interface ClusterSnapshot {
  /** Why nothing at all could be read; undefined where the controller answered. */
  readonly unreachable: string | undefined;
  readonly clusterName: string;
  /** Version of the controller; undefined where it does not tell. */
  readonly engineVersion: string | undefined;
  readonly instances: Read<readonly Instance[]>;
  readonly instanceHealth: ReadonlyMap<string, InstanceHealth>;
  readonly clusterConfig: Read<Readonly<Record<string, string>>>;
  readonly tables: Read<readonly TableSnapshot[]>;
  readonly schemas: Read<ReadonlyMap<string, SchemaSummary>>;
  readonly instancePartitions: Read<readonly InstancePartitions[]>;
  /** Online brokers by table name with type. */
  readonly brokerResource: Read<ReadonlyMap<string, readonly string[]>>;
  /** Count of tables by lead controller. */
  readonly leaders: Read<ReadonlyMap<string, number>>;
  /** By raw table name. */
  readonly queries: ReadonlyMap<string, Read<QueryOutcome>>;
}
