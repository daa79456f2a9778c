// Generated from the files of src/health/checks/ by `make generate`; do not edit.
import type { CheckDefinition } from './check.ts';
import { brokerResource } from './checks/broker-resource.ts';
import { clusterLevelConsumingPartitionSkew } from './checks/cluster-level-consuming-partition-skew.ts';
import { clusterLevelSegmentSkew } from './checks/cluster-level-segment-skew.ts';
import { consumerLag } from './checks/consumer-lag.ts';
import { consumingPartitionSkewHealth } from './checks/consuming-partition-skew-health.ts';
import { consumingSegmentAge } from './checks/consuming-segment-age.ts';
import { controllerTablesSkew } from './checks/controller-tables-skew.ts';
import { coordinatorHostNameInstanceNameMismatch } from './checks/coordinator-host-name-instance-name-mismatch.ts';
import { dataFreshness } from './checks/data-freshness.ts';
import { dataSizeSkew } from './checks/data-size-skew.ts';
import { deepStore } from './checks/deep-store.ts';
import { highNumberOfConsumingPartitions } from './checks/high-number-of-consuming-partitions.ts';
import { highNumberOfDocuments } from './checks/high-number-of-documents.ts';
import { highNumberOfSegments } from './checks/high-number-of-segments.ts';
import { highNumberOfTables } from './checks/high-number-of-tables.ts';
import { highUpsertPkPerPartition } from './checks/high-upsert-pk-per-partition.ts';
import { highUpsertPrimaryKeys } from './checks/high-upsert-primary-keys.ts';
import { idealStateEvMismatch } from './checks/ideal-state-ev-mismatch.ts';
import { ingestionStopped } from './checks/ingestion-stopped.ts';
import { instanceAvailability } from './checks/instance-availability.ts';
import { instanceHealthApi } from './checks/instance-health-api.ts';
import { instancePoolsNReplicaGroups } from './checks/instance-pools-n-replica-groups.ts';
import { instancePools } from './checks/instance-pools.ts';
import { minionTaskFailures } from './checks/minion-task-failures.ts';
import { minionTasksStuck } from './checks/minion-tasks-stuck.ts';
import { policyConditions } from './checks/policy-conditions.ts';
import { prebuiltSnapshot } from './checks/prebuilt-snapshot.ts';
import { queryHealth } from './checks/query-health.ts';
import { replication } from './checks/replication.ts';
import { segmentCount } from './checks/segment-count.ts';
import { segmentMetadataMismatch } from './checks/segment-metadata-mismatch.ts';
import { segmentRetention } from './checks/segment-retention.ts';
import { segmentSize } from './checks/segment-size.ts';
import { segmentSkewHealth } from './checks/segment-skew-health.ts';
import { segmentsTimePartition } from './checks/segments-time-partition.ts';
import { segmentsWithoutOnlineReplica } from './checks/segments-without-online-replica.ts';
import { serverDiskUsage } from './checks/server-disk-usage.ts';
import { tableColumnCount } from './checks/table-column-count.ts';
import { tableConsistency } from './checks/table-consistency.ts';
import { tableSegmentAssignment } from './checks/table-segment-assignment.ts';
import { tableSegmentsReload } from './checks/table-segments-reload.ts';
import { tableSkew } from './checks/table-skew.ts';
import { tenantServers } from './checks/tenant-servers.ts';
import { timeColumnGranularity } from './checks/time-column-granularity.ts';
import { upsertPkSkewPerPartition } from './checks/upsert-pk-skew-per-partition.ts';
import { upsertPrimaryKeySkew } from './checks/upsert-primary-key-skew.ts';
import { upsertTableSegmentAssignment } from './checks/upsert-table-segment-assignment.ts';
import { zookeeperNodeSize } from './checks/zookeeper-node-size.ts';

/** The check of each file, by file name. */
export const CHECKS: readonly CheckDefinition[] = [
  brokerResource,
  clusterLevelConsumingPartitionSkew,
  clusterLevelSegmentSkew,
  consumerLag,
  consumingPartitionSkewHealth,
  consumingSegmentAge,
  controllerTablesSkew,
  coordinatorHostNameInstanceNameMismatch,
  dataFreshness,
  dataSizeSkew,
  deepStore,
  highNumberOfConsumingPartitions,
  highNumberOfDocuments,
  highNumberOfSegments,
  highNumberOfTables,
  highUpsertPkPerPartition,
  highUpsertPrimaryKeys,
  idealStateEvMismatch,
  ingestionStopped,
  instanceAvailability,
  instanceHealthApi,
  instancePoolsNReplicaGroups,
  instancePools,
  minionTaskFailures,
  minionTasksStuck,
  policyConditions,
  prebuiltSnapshot,
  queryHealth,
  replication,
  segmentCount,
  segmentMetadataMismatch,
  segmentRetention,
  segmentSize,
  segmentSkewHealth,
  segmentsTimePartition,
  segmentsWithoutOnlineReplica,
  serverDiskUsage,
  tableColumnCount,
  tableConsistency,
  tableSegmentAssignment,
  tableSegmentsReload,
  tableSkew,
  tenantServers,
  timeColumnGranularity,
  upsertPkSkewPerPartition,
  upsertPrimaryKeySkew,
  upsertTableSegmentAssignment,
  zookeeperNodeSize,
];
