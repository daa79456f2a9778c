import { ANY_ACTION } from './actions.ts';

/**
 * What the engine's controller demands for each method and path, as its own `@Authorize` annotations say (1.5.1), with what they leave out and
 * what only 0.11 has put in by hand. One line each: method, path, action. `{table}` is the table that the action is asked on, `?name` a query
 * parameter that names it, `*` any one segment. Several actions joined by `+` are all needed.
 */
const ON_TABLE = `
  GET    /brokers/tables/{table}                              GetBroker
  GET    /debug/segments/{table}/*                            GetDebugInfo
  GET    /debug/tables/{table}                                GetDebugInfo
  DELETE /deleteSegmentsFromSequenceNum/{table}               DeleteSegment
  GET    /leader/tables/{table}                               GetTableLeader
  DELETE /logicalTables/{table}                               DeleteTable
  GET    /logicalTables/{table}                               GetTableConfig
  PUT    /logicalTables/{table}                               UpdateTableConfig
  DELETE /schemas/{table}                                     DeleteSchema
  GET    /schemas/{table}                                     GetSchema
  PUT    /schemas/{table}                                     UpdateSchema
  POST   /segments/batchUpload?tableName                      UploadSegment
  POST   /segments/reingested?tableName                       UploadSegment
  DELETE /segments/{table}                                    DeleteSegment
  GET    /segments/{table}                                    GetSegment
  DELETE /segments/{table}/*                                  DeleteSegment
  GET    /segments/{table}/*                                  DownloadSegment
  GET    /segments/{table}/*/metadata                         GetMetadata
  POST   /segments/{table}/*/reload                           ReloadSegment
  GET    /segments/{table}/*/tiers                            GetStorageTier
  DELETE /segments/{table}/choose                             DeleteSegment
  GET    /segments/{table}/crc                                GetSegmentMap
  POST   /segments/{table}/delete                             DeleteSegment
  POST   /segments/{table}/endReplaceSegments                 ReplaceSegment
  GET    /segments/{table}/isStale                            GetMetadata
  GET    /segments/{table}/lineage                            GetSegmentLineage
  GET    /segments/{table}/metadata                           GetMetadata
  GET    /segments/{table}/needReload                         GetMetadata
  POST   /segments/{table}/reload                             ReloadSegment
  POST   /segments/{table}/revertReplaceSegments              ReplaceSegment
  GET    /segments/{table}/select                             GetSegment
  GET    /segments/{table}/servers                            GetServerMap
  POST   /segments/{table}/startReplaceSegments               ReplaceSegment
  GET    /segments/{table}/tiers                              GetStorageTier
  POST   /segments/{table}/uploadFromServerToDeepstore        UploadSegment
  GET    /segments/{table}/zkmetadata                         GetMetadata
  POST   /segments?tableName                                  UploadSegment
  GET    /table/{table}/jobs                                  GetControllerJobs
  DELETE /tableConfigs/{table}                                DeleteTable
  GET    /tableConfigs/{table}                                GetTableConfigs
  PUT    /tableConfigs/{table}                                UpdateTableConfigs
  DELETE /tables/{table}                                      DeleteTable
  GET    /tables/{table}                                      GetTableConfig
  PUT    /tables/{table}                                      UpdateTableConfig
  DELETE /tables/{table}/*/ingestionMetrics                   DeleteIngestionMetrics
  POST   /tables/{table}/assignInstances                      CreateInstancePartitions
  GET    /tables/{table}/badLLCSegmentsPerPartition           GetSegmentStatus
  GET    /tables/{table}/consumerWatermarks                   GetIdealState
  GET    /tables/{table}/consumingSegmentsInfo                GetConsumingSegments
  POST   /tables/{table}/copy                                 CreateTable
  GET    /tables/{table}/externalview                         GetExternalView
  POST   /tables/{table}/forceCommit                          ForceCommit
  GET    /tables/{table}/idealstate                           GetIdealState
  GET    /tables/{table}/indexes                              GetMetadata
  PUT    /tables/{table}/indexingConfigs                      UpdateTableConfig
  DELETE /tables/{table}/instancePartitions                   DeleteInstancePartitions
  GET    /tables/{table}/instancePartitions                   GetInstancePartitions
  PUT    /tables/{table}/instancePartitions                   UpdateInstancePartitions
  GET    /tables/{table}/instances                            GetInstance
  GET    /tables/{table}/livebrokers                          GetBroker
  GET    /tables/{table}/metadata                             GetMetadata
  PUT    /tables/{table}/metadataConfigs                      UpdateTableConfig
  POST   /tables/{table}/pauseConsumption                     PauseConsumption
  GET    /tables/{table}/pauseStatus                          GetPauseStatus
  POST   /tables/{table}/pauseTopicConsumption                PauseConsumption
  GET    /tables/{table}/pauselessDebugInfo                   GetDebugInfo
  DELETE /tables/{table}/rebalance                            CancelRebalance
  POST   /tables/{table}/rebalance                            RebalanceTable
  POST   /tables/{table}/rebuildBrokerResourceFromHelixTags   RebuildBrokerResource
  POST   /tables/{table}/replaceInstance                      UpdateInstancePartitions
  POST   /tables/{table}/resumeConsumption                    ResumeConsumption
  POST   /tables/{table}/resumeTopicConsumption               ResumeConsumption
  GET    /tables/{table}/schema                               GetSchema
  PUT    /tables/{table}/segmentConfigs                       UpdateTableConfig
  GET    /tables/{table}/segments                             GetSegment
  GET    /tables/{table}/segments/*                           DeleteSegment
  GET    /tables/{table}/segments/*/metadata                  GetMetadata
  GET    /tables/{table}/segments/*/reload                    ReloadSegment
  POST   /tables/{table}/segments/*/reload                    ReloadSegment
  GET    /tables/{table}/segments/crc                         GetSegmentMap
  GET    /tables/{table}/segments/metadata                    GetMetadata
  GET    /tables/{table}/segments/reload                      ReloadSegment
  POST   /tables/{table}/segments/reload                      ReloadSegment
  GET    /tables/{table}/segmentsStatus                       GetSegmentStatus
  GET    /tables/{table}/size                                 GetSize
  GET    /tables/{table}/state                                GetState
  PUT    /tables/{table}/state                                EnableTable+DisableTable+DeleteTable
  GET    /tables/{table}/stats                                GetMetadata
  GET    /tables/{table}/status                               GetMetadata
  DELETE /tables/{table}/timeBoundary                         DeleteTimeBoundary
  POST   /tables/{table}/timeBoundary                         UpdateTableConfig
  GET    /tables/{table}/validDocIdsMetadata                  GetMetadata
  DELETE /tasks/lock/forceRelease?tableNameWithType           ForceReleaseTaskGenerationLock
  GET    /tasks/scheduler/jobDetails?tableName                GetSchedulerJobDetails
  POST   /v2/segments?tableName                               UploadSegment
`;

/** The body names the table: see `tablesOfBody`. */
const ON_TABLE_OF_BODY = `
  POST   /tables                                              CreateTable
  POST   /tables/validate                                     ValidateTableConfigs
  POST   /tables/validateTableAndSchema                       ValidateTableConfigs+ValidateSchema
  POST   /tableConfigs                                        CreateTable+CreateSchema
  POST   /tableConfigs/validate                               ValidateTableConfigs+ValidateSchema
  POST   /schemas                                             CreateSchema
  POST   /schemas/validate                                    ValidateSchema
  POST   /logicalTables                                       CreateTable
`;

const ON_CLUSTER = `
  GET    /appconfigs                                          GetAppConfig
  GET    /applicationQuotas                                   GetApplicationQueryQuota
  GET    /applicationQuotas/*                                 GetApplicationQueryQuota
  POST   /applicationQuotas/*                                 UpdateApplicationQuota
  GET    /auth/info                                           GetAuth
  GET    /auth/verify                                         GetAuth
  GET    /auth/verify/v2                                      GetAuth
  GET    /brokers                                             GetBroker
  POST   /brokers/instances/*/qps                             UpdateQPS
  GET    /brokers/tables                                      GetBroker
  GET    /brokers/tenants                                     GetBroker
  GET    /brokers/tenants/*                                   GetBroker
  DELETE /clientQuery/*                                       CancelQuery
  DELETE /clientQuery/*/*                                     CancelQuery
  GET    /cluster/configs                                     GetClusterConfig
  POST   /cluster/configs                                     UpdateClusterConfig
  DELETE /cluster/configs/*                                   DeleteClusterConfig
  GET    /cluster/configs/groovy/staticAnalyzerConfig         GetGroovyStaticAnalyzerConfig
  POST   /cluster/configs/groovy/staticAnalyzerConfig         UpdateGroovyStaticAnalyzerConfig
  GET    /cluster/configs/groovy/staticAnalyzerConfig/default GetGroovyStaticAnalyzerConfig
  GET    /cluster/info                                        GetClusterConfig
  GET    /databases                                           GetDatabase
  DELETE /databases/*                                         DeleteDatabase
  GET    /databases/*/quotas                                  GetDatabaseQuota
  POST   /databases/*/quotas                                  UpdateDatabaseQuota
  GET    /health                                              GetHealth
  POST   /ingestFromFile                                      IngestFile
  POST   /ingestFromURI                                       IngestFile
  GET    /instances                                           GetInstance
  POST   /instances                                           CreateInstance
  DELETE /instances/*                                         DeleteInstance
  GET    /instances/*                                         GetInstance
  PUT    /instances/*                                         UpdateInstance
  POST   /instances/*/state                                   UpdateInstance
  PUT    /instances/*/state                                   UpdateInstance
  POST   /instances/*/updateBrokerResource                    UpdateBrokerResource
  PUT    /instances/*/updateTags                              UpdateInstance
  GET    /instances/dropInstance/validate                     GetInstance
  POST   /instances/updateTags/validate                       GetInstance
  GET    /invalidconfigs                                      GetHealth
  GET    /leader/tables                                       GetTableLeader
  GET    /liveinstances                                       GetInstance
  GET    /loggers                                             GetLogger
  GET    /loggers/*                                           GetLogger
  PUT    /loggers/*                                           UpdateLogger
  GET    /loggers/download                                    GetLogFile
  GET    /loggers/files                                       GetLogFile
  GET    /loggers/instances                                   GetLogFile
  GET    /loggers/instances/*                                 GetLogFile
  GET    /loggers/instances/*/download                        GetLogFile
  GET    /logicalTables                                       GetTable
  GET    /minions/status                                      GetInstance
  GET    /periodictask/names                                  GetTask
  GET    /periodictask/run                                    ExecuteTask
  POST   /periodictask/run                                    ExecuteTask
  GET    /pinot-controller/admin                              GetHealth
  GET    /queries                                             GetRunningQuery
  DELETE /query/*/*                                           CancelQuery
  GET    /queryWorkloadConfigs                                GetQueryWorkloadConfig
  POST   /queryWorkloadConfigs                                UpdateQueryWorkloadConfig
  DELETE /queryWorkloadConfigs/*                              DeleteQueryWorkloadConfig
  GET    /queryWorkloadConfigs/*                              GetQueryWorkloadConfig
  POST   /queryWorkloadConfigs/*/refresh                      UpdateQueryWorkloadConfig
  GET    /queryWorkloadConfigs/instance/*                     GetInstanceQueryWorkloadConfig
  GET    /rebalanceStatus/*                                   GetRebalanceStatus
  GET    /schemas                                             GetSchema
  GET    /schemas/fieldSpec                                   GetSchemasInfo
  GET    /schemas/info                                        GetSchemasInfo
  POST   /segments/*/*/reset                                  ResetSegment
  POST   /segments/*/reset                                    ResetSegment
  POST   /segments/*/updateZKTimeInterval                     UpdateTimeInterval
  GET    /segments/segmentReloadStatus/*                      GetSegmentReloadStatus
  GET    /start-time                                          GetHealth
  GET    /tableConfigs                                        GetTableConfig
  GET    /tables                                              GetTable
  GET    /tables/forceCommitStatus/*                          GetForceCommitStatus
  GET    /tables/livebrokers                                  GetBroker
  PUT    /tables/recommender                                  RecommendConfig
  DELETE /tasks/*                                             DeleteTask
  GET    /tasks/*/*/debug                                     DebugTask
  DELETE /tasks/*/*/metadata                                  DeleteTask
  GET    /tasks/*/*/metadata                                  GetTask
  GET    /tasks/*/*/state                                     GetTask
  PUT    /tasks/*/cleanup                                     CleanupTask
  GET    /tasks/*/debug                                       DebugTask
  PUT    /tasks/*/resume                                      ResumeTask
  GET    /tasks/*/state                                       GetTask
  PUT    /tasks/*/stop                                        StopTask
  GET    /tasks/*/taskcounts                                  GetTask
  GET    /tasks/*/tasks                                       GetTask
  GET    /tasks/*/tasks/count                                 GetTaskCount
  GET    /tasks/*/taskstates                                  GetTask
  PUT    /tasks/cleanuptasks/*                                CleanupTask
  POST   /tasks/execute                                       ExecuteTask
  GET    /tasks/generator/*/*/debug                           GetTask
  POST   /tasks/schedule                                      CreateTask
  GET    /tasks/scheduler/information                         GetSchedulerInfo
  GET    /tasks/scheduler/jobKeys                             GetSchedulerInfo
  PUT    /tasks/scheduletasks                                 CreateTask
  GET    /tasks/subtask/*/config                              GetTask
  GET    /tasks/subtask/*/progress                            GetTask
  GET    /tasks/subtask/*/state                               GetTask
  GET    /tasks/subtask/workers/progress                      GetTask
  GET    /tasks/summary                                       GetTask
  DELETE /tasks/task/*                                        DeleteTask
  GET    /tasks/task/*/config                                 GetTask
  GET    /tasks/task/*/debug                                  DebugTask
  GET    /tasks/task/*/runtime/config                         GetTask
  GET    /tasks/task/*/state                                  GetTask
  GET    /tasks/taskconfig/*                                  GetTask
  DELETE /tasks/taskqueue/*                                   DeleteTask
  PUT    /tasks/taskqueue/*                                   UpdateTaskQueue
  GET    /tasks/taskqueues                                    GetTask
  GET    /tasks/taskqueuestate/*                              GetTask
  GET    /tasks/tasks/*                                       GetTask
  GET    /tasks/taskstate/*                                   GetTask
  GET    /tasks/taskstates/*                                  GetTask
  GET    /tasks/tasktypes                                     GetTask
  GET    /tenants                                             GetTenant
  POST   /tenants                                             CreateTenant
  PUT    /tenants                                             UpdateTenant
  DELETE /tenants/*                                           DeleteTenant
  GET    /tenants/*                                           GetTenant
  POST   /tenants/*                                           UpdateTenant
  GET    /tenants/*/instancePartitions                        GetInstancePartitions
  PUT    /tenants/*/instancePartitions                        UpdateInstancePartitions
  GET    /tenants/*/metadata                                  GetTenant
  POST   /tenants/*/metadata                                  UpdateTenantMetadata
  POST   /tenants/*/rebalance                                 RebalanceTenantTables
  GET    /tenants/*/rebalanceJobs                             GetRebalanceStatus
  GET    /tenants/*/tables                                    GetTenant
  DELETE /tenants/rebalance/*                                 RebalanceTenantTables
  GET    /tenants/rebalanceStatus/*                           GetRebalanceStatus
  POST   /upsert/estimateHeapUsage                            EstimateUpsertMemory
  GET    /uptime                                              GetHealth
  GET    /users                                               GetUser
  POST   /users                                               CreateUser
  DELETE /users/*                                             DeleteUser
  GET    /users/*                                             GetUser
  PUT    /users/*                                             UpdateUser
  GET    /v2/brokers                                          GetBroker
  GET    /v2/brokers/tables                                   GetBroker
  GET    /v2/brokers/tables/*                                 GetBroker
  GET    /v2/brokers/tenants                                  GetBroker
  GET    /v2/brokers/tenants/*                                GetBroker
  GET    /version                                             GetVersion
  POST   /zk/create                                           UpdateZnode
  DELETE /zk/delete                                           DeleteZnode
  GET    /zk/get                                              GetZnode
  GET    /zk/getChildren                                      GetZnode
  GET    /zk/ls                                               GetZnode
  GET    /zk/lsl                                              GetZnode
  PUT    /zk/put                                              UpdateZnode
  PUT    /zk/putChildren                                      UpdateZnode
  GET    /zk/stat                                             GetZnode
`;

/** Lists of tables that anybody may ask for: the answer is cut down to what the caller may see. */
const FILTERED = `
  GET    /tables
  GET    /tables/livebrokers
  GET    /v2/brokers/tables
  GET    /brokers/tables
  GET    /schemas
  GET    /tableConfigs
  GET    /logicalTables
`;

export interface EngineCall {
  /** All of them are needed. */
  readonly actions: readonly string[];
  readonly on: 'table' | 'cluster' | 'body-table';
  /** As the path or the query spells it; undefined where the query could name it and does not: then the cluster is asked. */
  readonly table: string | undefined;
  /** Whether the answer is a list of tables that has to be filtered. */
  readonly filtered: boolean;
}

interface Rule {
  readonly segments: readonly string[];
  readonly parameter: string | undefined;
  readonly actions: readonly string[];
  readonly on: EngineCall['on'];
  /** Characters that are no placeholder: like the engine, the rule with most of them wins. */
  readonly literal: number;
}

const RULES: ReadonlyMap<string, readonly Rule[]> = compile();
const FILTERED_PATHS: ReadonlySet<string> = new Set(lines(FILTERED).map(([method, path]) => `${method} ${path}`));

/** Paths that 0.11 changes the state of a table or its segments by, with a mere `GET …?state=`. */
const STATE_ACTIONS = ['EnableTable', 'DisableTable', 'DeleteTable', 'DeleteSegment'] as const;

/**
 * The action and resource of a call of the controller; what is not known needs `*` on the cluster.
 * @param segments of the path, decoded, none empty
 * @param parameter the value of a query parameter
 */
export function engineCall(
  method: string,
  segments: readonly string[],
  parameter: (name: string) => string | undefined,
): EngineCall {
  // The engine answers HEAD as it answers GET.
  const asked = method === 'HEAD' ? 'GET' : method;
  const rule = ruleFor(asked, segments);
  if (rule === undefined) return { actions: [ANY_ACTION], on: 'cluster', table: undefined, filtered: false };
  const filtered = FILTERED_PATHS.has(`${asked} /${segments.join('/')}`);
  if (rule.on !== 'table') return { actions: rule.actions, on: rule.on, table: undefined, filtered };
  const table = rule.parameter === undefined ? segments[rule.segments.indexOf('{table}')] : parameter(rule.parameter);
  const changesState = asked === 'GET' && segments[0] === 'tables' && parameter('state') !== undefined;
  return { actions: changesState ? STATE_ACTIONS : rule.actions, on: table ? 'table' : 'cluster', table, filtered };
}

function ruleFor(method: string, segments: readonly string[]): Rule | undefined {
  let best: Rule | undefined;
  for (const rule of RULES.get(`${method} ${segments.length}`) ?? []) {
    if (best !== undefined && rule.literal <= best.literal) continue;
    if (rule.segments.every((wanted, index) => isPlaceholder(wanted) || wanted === segments[index])) best = rule;
  }
  return best;
}

function isPlaceholder(segment: string): boolean {
  return segment === '*' || segment === '{table}';
}

function compile(): ReadonlyMap<string, readonly Rule[]> {
  const rules = new Map<string, Rule[]>();
  const add = (text: string, on: EngineCall['on']) => {
    for (const [method, target = '', actions = ''] of lines(text)) {
      const [path = '', parameter] = target.split('?');
      const segments = path.split('/').slice(1);
      const literal = segments.filter((segment) => !isPlaceholder(segment)).join('').length;
      const key = `${method} ${segments.length}`;
      const rule: Rule = { segments, parameter, actions: actions.split('+'), on, literal };
      rules.set(key, [...(rules.get(key) ?? []), rule]);
    }
  };
  add(ON_TABLE, 'table');
  add(ON_TABLE_OF_BODY, 'body-table');
  add(ON_CLUSTER, 'cluster');
  return rules;
}

function lines(text: string): string[][] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/));
}

/** The names of tables that a body (parsed JSON) of a table, its configs, a schema or a logical table holds, as it spells them. */
export interface BodyTables {
  /** What is created or checked. */
  readonly named: readonly string[];
  /** What a logical table would read: who makes one must be able to query these. */
  readonly read: readonly string[];
}

/** Finds them, or undefined where the body names none. */
export function tablesOfBody(body: unknown): BodyTables | undefined {
  const named = new Set<string>();
  const { physicalTableConfigMap } = record(body);
  for (const part of [
    body,
    record(body)['schema'],
    record(body)['offline'],
    record(body)['realtime'],
    record(body)['tableConfig'],
  ]) {
    const { tableName, schemaName } = record(part);
    for (const name of [tableName, schemaName]) if (typeof name === 'string' && name !== '') named.add(name);
  }
  if (named.size === 0) return undefined;
  return { named: [...named], read: Object.keys(record(physicalTableConfigMap)) };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
