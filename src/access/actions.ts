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

/** Apache Pinot's own fine-grained actions on a table. For a name in both lists the requested resource decides. */
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

/** All action names without duplicates, sorted. */
export const ACTIONS: readonly string[] = [
  ...new Set<string>([...CLUSTER_ACTIONS, ...TABLE_ACTIONS, ...RBAC_ACTIONS]),
].sort();

/** Requested for calls with no known action: only a pattern of stars matches it. */
export const ANY_ACTION = '*';

const LOWER: readonly string[] = ACTIONS.map((action) => action.toLowerCase());

/** Letters of each action as bits: most patterns contain a letter that most actions do not. */
const LETTERS: readonly number[] = LOWER.map(lettersOf);
const MAX_CACHED_PATTERNS = 4096;
const MAX_CACHED_LENGTH = 128;
/** Cache: a policy is validated several times before it is stored. */
const matching = new Map<string, readonly number[]>();

function lettersOf(text: string): number {
  let letters = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at) - 97;
    if (letter >= 0 && letter < 26) letters |= 1 << letter;
  }
  return letters;
}

/** Indexes in ACTIONS that a pattern matches, case-insensitive. */
export function actionsMatching(pattern: string): readonly number[] {
  const lower = pattern.toLowerCase();
  const known = matching.get(lower);
  if (known) return known;
  const found = matchesOf(lower);
  if (matching.size >= MAX_CACHED_PATTERNS) matching.clear();
  if (lower.length <= MAX_CACHED_LENGTH) matching.set(lower, found);
  return found;
}

function matchesOf(lower: string): number[] {
  const glob = compileGlob(lower);
  const letters = lettersOf(lower);
  const found: number[] = [];
  for (const [index, action] of LOWER.entries()) {
    if ((letters & ~LETTERS[index]!) === 0 && globMatches(glob, action)) found.push(index);
  }
  return found;
}

/** Whether a pattern matches any known action, case-insensitive. */
export function matchesAnyAction(pattern: string): boolean {
  return actionsMatching(pattern).length > 0;
}

/** Describes why an action pattern is invalid, with a suggestion; undefined if it is valid. */
export function actionProblem(pattern: string): string | undefined {
  if (matchesAnyAction(pattern)) return undefined;
  const meant = nearest(pattern.replaceAll('*', ''), ACTIONS);
  const hint = meant ? `did you mean \`${meant}\`?` : 'docs/rbac.md lists all actions';
  return `\`${pattern}\` matches no action; ${hint}`;
}
