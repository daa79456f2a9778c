/** How the fault of a check was made on a cluster, and what the check found. */
export interface MadeFault {
  readonly fault: string;
  readonly found: string;
  /** `live`: on a running Pinot 0.11. `lowered`: there, with lowered thresholds. `recorded`: by changing recorded responses. */
  readonly where: 'live' | 'lowered' | 'recorded';
}

const made = (where: MadeFault['where'], fault: string, found: string): MadeFault => ({ where, fault, found });

/** By check. The tests are test/integration/health (live, lowered) and test/unit/health (recorded). */
export const MADE_FAULTS: Readonly<Record<string, MadeFault>> = {
  IDEAL_STATE_EV_MISMATCH_CHECK: made('live', 'a server is stopped', 'the tables with segments on it'),
  TABLE_SEGMENTS_RELOAD_CHECK: made('live', 'an index is added to the configuration', 'the table, until its reload'),
  SEGMENT_COUNT_CHECK: made('lowered', 'a table has one segment more than allowed', 'the table'),
  SEGMENT_SIZE_CHECK: made('live', 'a table has segments of a few rows', 'the table'),
  SEGMENT_RETENTION_CHECK: made('live', 'a table without retention', 'the table, until it has one'),
  REPLICATION_CHECK: made('live', 'a table with 1 replica; a cluster with a threshold of 4', 'the table'),
  TABLE_COLUMN_COUNT_CHECK: made('live', 'a schema of 501 columns', 'the schema, until it has 500'),
  TIME_COLUMN_GRANULARITY_CHECK: made('live', 'a time column in milliseconds', 'the table'),
  UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK: made(
    'live',
    'completed segments of a partition are moved',
    'the table and the partition',
  ),
  INSTANCE_HEALTH_API_CHECK: made('live', 'a server is stopped', 'the server'),
  SEGMENT_SKEW_HEALTH_CHECK: made(
    'lowered',
    'all segments of a table on one server of three',
    'the table and the server',
  ),
  CONSUMING_PARTITION_SKEW_HEALTH_CHECK: made('lowered', 'one partition on one server of three', 'the table'),
  TABLE_SKEW_CHECK: made('lowered', 'a table on one server of three', 'the server'),
  CLUSTER_LEVEL_SEGMENT_SKEW_CHECK: made('lowered', 'all segments of a table on one server of three', 'the server'),
  CLUSTER_LEVEL_CONSUMING_PARTITION_SKEW_CHECK: made('lowered', 'one partition on one server of three', 'the server'),
  HIGH_NUMBER_OF_SEGMENTS_CHECK: made('lowered', 'a server has one segment more than allowed', 'the server'),
  HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK: made(
    'lowered',
    'a server has more consuming segments than allowed',
    'the server',
  ),
  HIGH_NUMBER_OF_DOCUMENTS_CHECK: made('lowered', 'a server has one row more than allowed', 'the server'),
  HIGH_NUMBER_OF_TABLES_CHECK: made('lowered', 'a server has one table more than allowed', 'the server'),
  DATA_SIZE_SKEW_CHECK: made('live', 'all data on one of five servers', 'the server, until each has some'),
  CONTROLLER_TABLES_SKEW_CHECK: made('live', 'one of five controllers leads every table', 'the controller'),
  HIGH_UPSERT_PK_PER_PARTITION_CHECK: made(
    'lowered',
    'a partition has one key more than allowed',
    'the server and the partition',
  ),
  UPSERT_PRIMARY_KEY_SKEW_CHECK: made('live', 'all keys on one of five servers', 'the server'),
  PREBUILT_SNAPSHOT_CHECK: made(
    'live',
    'an upsert table without snapshot and preload',
    'the table, until the property is set',
  ),
  UPSERT_PK_SKEW_PER_PARTITION_CHECK: made('live', 'all keys in one of five partitions', 'the table'),
  HIGH_UPSERT_PRIMARY_KEYS_CHECK: made('lowered', 'a server has one key more than allowed', 'the server'),
  INSTANCE_POOLS_CHECK: made('lowered', 'a server in no pool, and in two', 'the server'),
  INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK: made('live', 'a table without instance assignment', 'the table'),
  COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK: made(
    'live',
    'an instance with another host than its id',
    'the instance',
  ),
  TABLE_SEGMENT_ASSIGNMENT_CHECK: made('live', 'the replication is raised', 'the table, until its rebalance'),
  BROKER_RESOURCE_CHECK: made('live', 'all brokers leave the tenant', 'each table'),
  QUERY_HEALTH_CHECK: made('live', 'the only server of a table is stopped; all brokers are stopped', 'the table'),
  SEGMENTS_TIME_PARTITION_CHECK: made('live', 'a segment within the time of another one', 'the table'),
  SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK: made('live', 'the only server of a table is stopped', 'the table'),
  INGESTION_STOPPED_CHECK: made(
    'live',
    'the consuming segment is deleted (recorded: no consumer, an offset that does not move)',
    'the table',
  ),
  CONSUMER_LAG_CHECK: made(
    'recorded',
    'a lag of 9,900,000 rows in the response of 1.5',
    'the table, the partition and the server',
  ),
  SEGMENT_METADATA_MISMATCH_CHECK: made(
    'live',
    'the metadata of a segment is deleted in ZooKeeper',
    'the table and the segment',
  ),
  DATA_FRESHNESS_CHECK: made(
    'recorded',
    'built snapshots with arrival times; a live fault would take hours',
    'the table',
  ),
  SERVER_DISK_USAGE_CHECK: made('recorded', 'responses of 1.5 with a lowered threshold', 'the servers'),
  MINION_TASK_FAILURES_CHECK: made(
    'recorded',
    'built counts of subtasks; no recorded cluster had minions',
    'the type of the task',
  ),
};

const PLACES = {
  live: 'live',
  lowered: 'live, lowered threshold',
  recorded: 'recorded or built responses',
} as const;

/** The table of all faults that were made, for docs/checks/README.md. */
export function faultTable(names: readonly string[]): string {
  const rows = names.map((name) => {
    const { fault, found, where } = MADE_FAULTS[name] ?? made('recorded', '', '');
    return `| [${name}](${name}.md) | ${fault} | ${found} | ${PLACES[where]} |`;
  });
  return ['| check | fault | found | on |', '|---|---|---|---|', ...rows].join('\n');
}
