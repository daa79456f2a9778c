/**
 * Actions that the engine's controller requires for each method and path, from its `@Authorize` annotations (1.5.1, and its sources at 210c295). Calls
 * without annotation and calls that exist only in 0.11 are added by hand. Each line: method, path, action. `{table}` is the table that the action applies to, `?name` a query
 * parameter that names it, `*` any single segment. Actions joined by `+` are all required.
 */
export const ON_TABLE = `
  GET    /brokers/tables/{table}                              GetBroker
  GET    /debug/segments/{table}/*                            GetDebugInfo
  GET    /debug/tables/{table}                                GetDebugInfo
  DELETE /deleteSegmentsFromSequenceNum/{table}               DeleteSegment
  GET    /leader/tables/{table}                               GetTableLeader
  DELETE /logicalTables/{table}                               DeleteTable
  GET    /logicalTables/{table}                               GetTableConfig
  PUT    /logicalTables/{table}                               UpdateTableConfig
  DELETE /materializedViews/{table}                           DeleteTable
  GET    /materializedViews/{table}                           GetTableConfig
  DELETE /schemas/{table}                                     DeleteSchema
  GET    /schemas/{table}                                     GetSchema
  PUT    /schemas/{table}                                     UpdateSchema
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
  GET    /segments/{table}/invalidPartitionMetadata           GetMetadata
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
  GET    /tables/{table}/aggregateMetadata                    GetMetadata
  POST   /tables/{table}/assignInstances                      CreateInstancePartitions
  GET    /tables/{table}/badLLCSegmentsPerPartition           GetSegmentStatus
  GET    /tables/{table}/consumerWatermarks                   GetIdealState
  GET    /tables/{table}/consumingSegmentsInfo                GetConsumingSegments
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
  GET    /v2/brokers/tables/{table}                           GetBroker
  POST   /v2/segments?tableName                               UploadSegment
`;

/** The request body names the tables. */
export const ON_TABLE_OF_BODY = `
  POST   /tables                                              CreateTable
  POST   /tables/validate                                     ValidateTableConfigs
  POST   /tables/validateTableAndSchema                       ValidateTableConfigs+ValidateSchema
  POST   /tableConfigs                                        CreateTable+CreateSchema
  POST   /tableConfigs/validate                               ValidateTableConfigs+ValidateSchema
  POST   /schemas                                             CreateSchema
  POST   /schemas/validate                                    ValidateSchema
  POST   /logicalTables                                       CreateTable
`;

/**
 * `{table}` is a table that the call names: a statement that denies the action on this table stops the call, too. `{database}` is a database whose tables
 * the call deletes: a statement that denies their deletion stops it.
 */
export const ON_CLUSTER = `
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
  DELETE /databases/{database}                                DeleteDatabase
  GET    /databases/*/quotas                                  GetDatabaseQuota
  POST   /databases/*/quotas                                  UpdateDatabaseQuota
  GET    /health                                              GetHealth
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
  GET    /materializedViews                                   GetTable
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
  POST   /segments/{table}/*/reset                            ResetSegment
  POST   /segments/{table}/reset                              ResetSegment
  POST   /segments/{table}/updateZKTimeInterval               UpdateTimeInterval
  GET    /segments/segmentReloadStatus/*                      GetSegmentReloadStatus
  GET    /start-time                                          GetHealth
  GET    /tableConfigs                                        GetTableConfig
  GET    /tables                                              GetTable
  GET    /tables/forceCommitStatus/*                          GetForceCommitStatus
  GET    /tables/livebrokers                                  GetBroker
  PUT    /tables/recommender                                  RecommendConfig
  DELETE /tasks/*                                             DeleteTask
  GET    /tasks/*/{table}/debug                               DebugTask
  DELETE /tasks/*/{table}/metadata                            DeleteTask
  GET    /tasks/*/{table}/metadata                            GetTask
  GET    /tasks/*/{table}/state                               GetTask
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
  GET    /tasks/generator/{table}/*/debug                     GetTask
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
  GET    /timeseries/languages                                GetClusterConfig
  GET    /uptime                                              GetHealth
  GET    /users                                               GetUser
  POST   /users                                               CreateUser
  DELETE /users/*                                             DeleteUser
  GET    /users/*                                             GetUser
  PUT    /users/*                                             UpdateUser
  GET    /v2/brokers                                          GetBroker
  GET    /v2/brokers/tables                                   GetBroker
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

/**
 * Calls that require one action on the cluster and others on the table: they write rows into a table from a source that the gateway does not read
 * (an address, another cluster, a minion task). Columns: method, path, action on the cluster, actions on the table.
 * Without `{table}` and `?name`, the body names the table.
 */
export const ON_CLUSTER_AND_TABLE = `
  POST   /ingestFromFile?tableNameWithType  IngestFile                UploadSegment
  POST   /ingestFromURI?tableNameWithType   IngestFile                UploadSegment
  POST   /segments/batchUpload?tableName    IngestFile                UploadSegment
  POST   /tables/{table}/copy               CreateTable+CreateSchema  CreateTable+CreateSchema
  POST   /tasks/execute                     ExecuteTask               UploadSegment+ReplaceSegment
`;

/** Lists of tables and of their databases that every caller may request: the response is filtered to what the caller may see. */
export const FILTERED = `
  GET    /databases
  GET    /tables
  GET    /tables/livebrokers
  GET    /v2/brokers/tables
  GET    /brokers/tables
  GET    /schemas
  GET    /tableConfigs
  GET    /logicalTables
`;

/** Calls on the cluster with JSON bodies that name tables. */
export const TABLES_IN_BODY = `
  POST   /queryWorkloadConfigs
  PUT    /tables/recommender
  POST   /tenants/*/rebalance
  POST   /upsert/estimateHeapUsage
  PUT    /zk/putChildren
`;

/** Calls that take the names in their body as they are: they ignore the `Database` header. */
export const IGNORING_DATABASE = `
  POST   /tasks/execute
`;

/** Calls whose body must name the table as the path does, before the engine adds the database of the header to both. */
export const NAME_REPEATED = `
  PUT    /logicalTables/{table}
`;

/** Segment uploads: the parameter names the table, headers name the source of the segment. */
export const UPLOADS = `
  POST   /segments
  POST   /segments/batchUpload
  POST   /segments/reingested
  POST   /v2/segments
`;
