import { nearest } from '../resources/nearest.ts';
import { compileGlob, globMatches } from './glob.ts';

/** Apache Pinot's own fine-grained actions on the cluster, as its `Actions` class spells them. */
export const CLUSTER_ACTIONS = [
  'CancelQuery',
  'CleanupTask',
  'CommitSegment',
  'CreateInstance',
  'CreateTask',
  'CreateTenant',
  'CreateUser',
  'DebugResourceUsage',
  'DebugTask',
  'DeleteClusterConfig',
  'DeleteDatabase',
  'DeleteInstance',
  'DeleteQueryWorkloadConfig',
  'DeleteResponseStore',
  'DeleteTask',
  'DeleteTenant',
  'DeleteUser',
  'DeleteZnode',
  'EstimateUpsertMemory',
  'ExecuteTask',
  'GetAdminInfo',
  'GetAppConfig',
  'GetApplicationQueryQuota',
  'GetAuth',
  'GetBroker',
  'GetClusterConfig',
  'GetDatabase',
  'GetDatabaseQueryQuota',
  'GetDatabaseQuota',
  'GetForceCommitStatus',
  'GetGroovyStaticAnalyzerConfig',
  'GetHealth',
  'GetInstance',
  'GetInstancePartitions',
  'GetInstanceQueryWorkloadConfig',
  'GetLogFile',
  'GetLogger',
  'GetQueryWorkloadConfig',
  'GetRebalanceStatus',
  'GetResponseStore',
  'GetRunningQuery',
  'GetSchedulerInfo',
  'GetSchema',
  'GetSchemasInfo',
  'GetSegment',
  'GetSegmentReloadStatus',
  'GetServerRoutingStats',
  'GetTable',
  'GetTableConfig',
  'GetTableLeader',
  'GetTask',
  'GetTaskCount',
  'GetTenant',
  'GetUser',
  'GetVersion',
  'GetZnode',
  'IngestFile',
  'RebalanceTenantTables',
  'RecommendConfig',
  'ResetSegment',
  'ResumeTask',
  'StopTask',
  'UpdateApplicationQuota',
  'UpdateBrokerResource',
  'UpdateClusterConfig',
  'UpdateDatabaseQuota',
  'UpdateGroovyStaticAnalyzerConfig',
  'UpdateInstance',
  'UpdateInstancePartitions',
  'UpdateLogger',
  'UpdateQPS',
  'UpdateQueryWorkloadConfig',
  'UpdateTaskQueue',
  'UpdateTenant',
  'UpdateTenantMetadata',
  'UpdateTimeInterval',
  'UpdateUser',
  'UpdateZnode',
  'UploadSegment',
] as const;

/** Apache Pinot's own fine-grained actions on a table. A name in both lists is decided by the resource it is asked on. */
export const TABLE_ACTIONS = [
  'BuildRouting',
  'CancelRebalance',
  'CreateInstancePartitions',
  'CreateSchema',
  'CreateTable',
  'DeleteIngestionMetrics',
  'DeleteInstancePartitions',
  'DeleteRouting',
  'DeleteSchema',
  'DeleteSegment',
  'DeleteTable',
  'DeleteTimeBoundary',
  'DisableTable',
  'DownloadSegment',
  'EnableTable',
  'ForceCommit',
  'ForceReleaseTaskGenerationLock',
  'GetBroker',
  'GetConsumingSegments',
  'GetControllerJobs',
  'GetDebugInfo',
  'GetExternalView',
  'GetIdealState',
  'GetInstance',
  'GetInstancePartitions',
  'GetMetadata',
  'GetPauseStatus',
  'GetRoutingTable',
  'GetSchedulerJobDetails',
  'GetSchema',
  'GetSegment',
  'GetSegmentLineage',
  'GetSegmentMap',
  'GetSegmentStatus',
  'GetServerMap',
  'GetSize',
  'GetState',
  'GetStorageTier',
  'GetTableConfig',
  'GetTableConfigs',
  'GetTableLeader',
  'GetTableQueryQuota',
  'GetTimeBoundary',
  'PauseConsumption',
  'Query',
  'RebalanceTable',
  'RebuildBrokerResource',
  'RefreshRouting',
  'ReloadSegment',
  'ReplaceSegment',
  'ResumeConsumption',
  'UpdateInstancePartitions',
  'UpdateSchema',
  'UpdateTableConfig',
  'UpdateTableConfigs',
  'UploadSegment',
  'ValidateSchema',
  'ValidateTableConfigs',
] as const;

/** Actions of the RBAC manager, on `role`, `policy` and `service-token` resources; `SimulateAccess` on the cluster. */
export const RBAC_ACTIONS = [
  'CreateRole',
  'GetRole',
  'UpdateRole',
  'DeleteRole',
  'CreatePolicy',
  'GetPolicy',
  'UpdatePolicy',
  'DeletePolicy',
  'CreateServiceToken',
  'GetServiceToken',
  'UpdateServiceToken',
  'DeleteServiceToken',
  'AttachPolicy',
  'DetachPolicy',
  'CreateAssignment',
  'GetAssignment',
  'DeleteAssignment',
  'SimulateAccess',
] as const;

export type RbacAction = (typeof RBAC_ACTIONS)[number];

/** Every action name there is, once, sorted. */
export const ACTIONS: readonly string[] = [
  ...new Set<string>([...CLUSTER_ACTIONS, ...TABLE_ACTIONS, ...RBAC_ACTIONS]),
].sort();

/** What is asked where no action is known for a call: only a pattern of nothing but stars matches it. */
export const ANY_ACTION = '*';

const LOWER: readonly string[] = ACTIONS.map((action) => action.toLowerCase());
const LOWER_SET: ReadonlySet<string> = new Set(LOWER);

/** Whether a pattern stands for any known action, compared without case. */
export function matchesAnyAction(pattern: string): boolean {
  const lower = pattern.toLowerCase();
  if (LOWER_SET.has(lower)) return true;
  const glob = compileGlob(lower);
  return LOWER.some((action) => globMatches(glob, action));
}

/** What is wrong with an action pattern, in a sentence that names what was probably meant; undefined where it is good. */
export function actionProblem(pattern: string): string | undefined {
  if (matchesAnyAction(pattern)) return undefined;
  const meant = nearest(pattern.replaceAll('*', ''), ACTIONS);
  const hint = meant ? `did you mean \`${meant}\`?` : 'docs/rbac.md lists all actions';
  return `\`${pattern}\` matches no action; ${hint}`;
}
