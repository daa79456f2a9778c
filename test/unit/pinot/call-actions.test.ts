import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { engineCall, type EngineCall } from '../../../src/pinot/call-actions.ts';

interface Documented {
  readonly call: string;
  readonly method: string;
  readonly path: string;
  /** `query:<name>`, `header:<name>` or `body`. */
  readonly parameters: readonly string[];
}

const DOCUMENTED: readonly Documented[] = readFileSync(
  new URL('../../fixtures/controller-calls.txt', import.meta.url),
  'utf8',
)
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [, method = '', path = '', parameters = ''] = /^(\S+) (\S+) \[.*?\] ?(.*)$/.exec(line) ?? [];
    return { call: `${method} ${path}`, method, path, parameters: parameters.split(' ').filter(Boolean) };
  });

const TABLE_PLACEHOLDER = /^\{(?:tableName|tableNameWithType|realtimeTableName|schemaName)\}$/;
const TABLE_PARAMETER = /^query:(?:tableName|tableNameWithType|schemaName|table)$/;

/** The call with `PATH` and `PARAMETER` as the tables in path and query string. */
function judged({ method, path, parameters }: Documented): EngineCall {
  const segments = path
    .slice(1)
    .split('/')
    .map((part) => (TABLE_PLACEHOLDER.test(part) ? 'PATH' : part.startsWith('{') ? 'x' : part));
  const named = new Set(parameters.filter((one) => TABLE_PARAMETER.test(one)).map((one) => one.slice('query:'.length)));
  return engineCall(method, segments, (name) => (named.has(name) ? 'PARAMETER' : undefined));
}

function summary({ onCluster, onTable, tables, body }: EngineCall): string {
  const inBody = { nothing: [], 'more-tables': ['BODY if named'], tables: ['BODY'], cluster: ['BODY if named'] }[body];
  const places = [...tables, ...inBody].join(', ');
  const denied = places === '' || onTable.length > 0 ? '' : `, not denied on ${places}`;
  return [
    ...(onTable.length > 0 ? [`${places}: ${onTable.join('+')}`] : []),
    ...(onCluster.length > 0 ? [`cluster: ${onCluster.join('+')}${denied}`] : []),
  ].join('; ');
}

/**
 * Every call that has a body, or names a table outside the path: where the controller reads its table, and which table is checked.
 * `cluster` means that the caller needs the permission on the whole cluster, and that no statement denies it on a table that is named.
 */
const ELSEWHERE: readonly (readonly [call: string, table: string, judged: string])[] = [
  ['GET /auth/verify', 'query, only echoed', 'cluster: GetAuth, not denied on PARAMETER'],
  ['GET /auth/verify/v2', 'query, only echoed', 'cluster: GetAuth, not denied on PARAMETER'],
  ['POST /cluster/configs', 'none', 'cluster: UpdateClusterConfig'],
  ['POST /cluster/configs/groovy/staticAnalyzerConfig', 'none', 'cluster: UpdateGroovyStaticAnalyzerConfig'],
  ['POST /ingestFromFile', 'query', 'PARAMETER: UploadSegment; cluster: IngestFile'],
  ['POST /ingestFromURI', 'query', 'PARAMETER: UploadSegment; cluster: IngestFile'],
  ['POST /instances', 'none', 'cluster: CreateInstance'],
  ['POST /instances/updateTags/validate', 'none', 'cluster: GetInstance'],
  ['PUT /instances/{instanceName}', 'none', 'cluster: UpdateInstance'],
  ['POST /instances/{instanceName}/state', 'none', 'cluster: UpdateInstance'],
  ['POST /logicalTables', 'body: tableName, physicalTableConfigMap, ref…TableName', 'BODY: CreateTable'],
  ['PUT /logicalTables/{tableName}', 'path and body, as above', 'PATH, BODY if named: UpdateTableConfig'],
  ['GET /periodictask/run', 'query; all tables without it', 'cluster: ExecuteTask, not denied on PARAMETER'],
  ['POST /periodictask/run', 'query; all tables without it', 'cluster: ExecuteTask, not denied on PARAMETER'],
  ['POST /queryWorkloadConfigs', 'body: entity', 'cluster: UpdateQueryWorkloadConfig, not denied on BODY if named'],
  ['POST /schemas', 'body: schemaName', 'BODY: CreateSchema'],
  ['POST /schemas/validate', 'body: schemaName', 'BODY: ValidateSchema'],
  ['PUT /schemas/{schemaName}', 'path and body: schemaName', 'PATH, BODY if named: UpdateSchema'],
  ['POST /segments', 'query, else the segment; headers: address', 'PARAMETER: UploadSegment'],
  ['POST /segments/batchUpload', 'query; form: addresses', 'PARAMETER: UploadSegment; cluster: IngestFile'],
  ['POST /segments/reingested', 'query; headers: address', 'PARAMETER: UploadSegment'],
  ['POST /segments/{tableName}/delete', 'path; body: segments of it', 'PATH, BODY if named: DeleteSegment'],
  ['POST /segments/{tableName}/startReplaceSegments', 'path', 'PATH, BODY if named: ReplaceSegment'],
  ['POST /segments/{tableName}/endReplaceSegments', 'path', 'PATH, BODY if named: ReplaceSegment'],
  ['POST /segments/{tableName}/revertReplaceSegments', 'path', 'PATH, BODY if named: ReplaceSegment'],
  ['POST /tableConfigs', 'body: tableName, schema, offline, realtime', 'BODY: CreateTable+CreateSchema'],
  ['POST /tableConfigs/validate', 'body, as above', 'BODY: ValidateTableConfigs+ValidateSchema'],
  ['PUT /tableConfigs/{tableName}', 'path and body, as above', 'PATH, BODY if named: UpdateTableConfigs'],
  ['POST /tables', 'body: tableName, segmentsConfig.schemaName', 'BODY: CreateTable'],
  ['POST /tables/validate', 'body: tableName', 'BODY: ValidateTableConfigs'],
  ['POST /tables/validateTableAndSchema', 'body: tableConfig, schema', 'BODY: ValidateTableConfigs+ValidateSchema'],
  ['PUT /tables/recommender', 'body: a schema', 'cluster: RecommendConfig, not denied on BODY if named'],
  ['PUT /tables/{tableName}', 'path and body: tableName', 'PATH, BODY if named: UpdateTableConfig'],
  ['PUT /tables/{tableName}/indexingConfigs', 'path', 'PATH, BODY if named: UpdateTableConfig'],
  ['PUT /tables/{tableName}/metadataConfigs', 'path', 'PATH, BODY if named: UpdateTableConfig'],
  ['PUT /tables/{tableName}/segmentConfigs', 'path', 'PATH, BODY if named: UpdateTableConfig'],
  [
    'PUT /tables/{tableName}/instancePartitions',
    'path and body: instancePartitionsName',
    'PATH, BODY if named: UpdateInstancePartitions',
  ],
  [
    'POST /tables/{tableName}/copy',
    'path; what the other cluster answers',
    'PATH, BODY if named: CreateTable+CreateSchema; cluster: CreateTable+CreateSchema',
  ],
  ['POST /tasks/execute', 'body: tableName, taskConfigs', 'BODY: UploadSegment+ReplaceSegment; cluster: ExecuteTask'],
  ['DELETE /tasks/lock/forceRelease', 'query', 'PARAMETER: ForceReleaseTaskGenerationLock'],
  ['POST /tasks/schedule', 'query; all tables without it', 'cluster: CreateTask, not denied on PARAMETER'],
  ['GET /tasks/scheduler/jobDetails', 'query', 'PARAMETER: GetSchedulerJobDetails'],
  ['GET /tasks/task/{taskName}/debug', 'query', 'cluster: DebugTask, not denied on PARAMETER'],
  ['GET /tasks/{taskType}/taskcounts', 'query', 'cluster: GetTask, not denied on PARAMETER'],
  ['POST /tenants', 'none', 'cluster: CreateTenant'],
  ['PUT /tenants', 'none', 'cluster: UpdateTenant'],
  ['PUT /tenants/{tenantName}/instancePartitions', 'none', 'cluster: UpdateInstancePartitions'],
  [
    'POST /tenants/{tenantName}/rebalance',
    'query and body: lists',
    'cluster: RebalanceTenantTables, not denied on BODY if named',
  ],
  ['POST /upsert/estimateHeapUsage', 'body', 'cluster: EstimateUpsertMemory, not denied on BODY if named'],
  ['POST /users', 'body: list of a user', 'cluster: CreateUser'],
  ['PUT /users/{username}', 'body: list of a user', 'cluster: UpdateUser'],
  ['POST /v2/segments', 'query, else the segment; headers: address', 'PARAMETER: UploadSegment'],
  ['POST /zk/create', 'query and body', 'cluster: UpdateZnode'],
  ['PUT /zk/put', 'query and body', 'cluster: UpdateZnode'],
  ['PUT /zk/putChildren', 'query and body', 'cluster: UpdateZnode, not denied on BODY if named'],
];

/** The engine requires these on the cluster, although the path names a table. */
const PATH_ON_CLUSTER = new Set([
  'POST /segments/{tableNameWithType}/reset',
  'POST /segments/{tableNameWithType}/updateZKTimeInterval',
  'POST /segments/{tableNameWithType}/{segmentName}/reset',
  'GET /tasks/generator/{tableNameWithType}/{taskType}/debug',
  'GET /tasks/{taskType}/{tableNameWithType}/debug',
  'DELETE /tasks/{taskType}/{tableNameWithType}/metadata',
  'GET /tasks/{taskType}/{tableNameWithType}/metadata',
  'GET /tasks/{taskType}/{tableNameWithType}/state',
]);

describe('calls of the controller', () => {
  it('are all known', () => {
    expect(DOCUMENTED.length).toBeGreaterThan(250);
    expect(DOCUMENTED.filter((one) => judged(one).onCluster.includes('*')).map(({ call }) => call)).toEqual([]);
  });

  it('are all listed that take a body or a table outside the path', () => {
    const elsewhere = DOCUMENTED.filter(({ parameters }) =>
      parameters.some((one) => one === 'body' || TABLE_PARAMETER.test(one)),
    );
    expect(ELSEWHERE.map(([call]) => call).toSorted()).toEqual(elsewhere.map(({ call }) => call).toSorted());
  });

  it.each(ELSEWHERE)('%s: %s → %s', (call, _table, expected) => {
    const found = DOCUMENTED.find((one) => one.call === call);
    expect(found).toBeDefined();
    expect(summary(judged(found as Documented))).toBe(expected);
  });

  it('are authorized on the table of the path, except those that the engine authorizes on the cluster', () => {
    const onPath = DOCUMENTED.filter(({ path }) => path.split('/').some((part) => TABLE_PLACEHOLDER.test(part)));
    const onCluster = onPath.filter((one) => judged(one).onTable.length === 0).map(({ call }) => call);
    expect(new Set(onCluster)).toEqual(PATH_ON_CLUSTER);
    for (const one of onPath) {
      const { tables, tableSegments } = judged(one);
      expect([one.call, tables]).toEqual([one.call, expect.arrayContaining(['PATH'])]);
      expect(tableSegments.map((index) => one.path.split('/')[index + 1])).toEqual([
        expect.stringMatching(TABLE_PLACEHOLDER),
      ]);
    }
  });

  it('on the cluster have the parts of paths and lists that can be tables, as unknown ones have all parts', () => {
    const parameters: Record<string, string> = { path: '/pinot/SEGMENTS/t_OFFLINE', includeTables: 'a,b' };
    const parts = (method: string, path: string) =>
      engineCall(method, path.split('/'), (name) => parameters[name]).parts;
    expect(parts('GET', 'zk/get')).toEqual(['pinot', 'SEGMENTS', 't_OFFLINE', 'a', 'b']);
    expect(parts('GET', 'unknown/x')).toEqual(['unknown', 'x', 'pinot', 'SEGMENTS', 't_OFFLINE', 'a', 'b']);
  });

  it.each([
    '/segmentConsumed',
    '/segmentCommitEndWithMetadata',
    '/timeseries/api/v1/query_range',
    '/materializedViews',
  ])('need everything that reads data where they are unknown: %s', (path) => {
    const { onCluster } = engineCall('POST', path.slice(1).split('/'), () => undefined);
    expect(onCluster).toEqual(['*', 'Query', 'DownloadSegment', 'GetResponseStore']);
  });

  it('of 0.11 that change a state by GET need the changing actions', () => {
    const withState = (name: string) => (name === 'state' ? 'drop' : undefined);
    expect(engineCall('GET', ['tables', 'T'], withState)).toMatchObject({
      onTable: ['EnableTable', 'DisableTable', 'DeleteTable', 'DeleteSegment'],
      tables: ['T'],
      changes: true,
    });
    expect(engineCall('GET', ['tenants', 'x'], withState).onCluster).toEqual([
      'GetTenant',
      'UpdateTenant',
      'DeleteTenant',
    ]);
    expect(engineCall('HEAD', ['tenants', 'x'], withState).onCluster).toContain('DeleteTenant');
    expect(engineCall('GET', ['tables', 'forceCommitStatus', 'x'], withState).onCluster).toEqual([
      'GetForceCommitStatus',
    ]);
  });

  it.each([
    ['periodictask/run', true],
    ['tables/T/segments/reload', true],
    ['tables/T/size', false],
    ['segments/T/s', false],
  ])('by GET are known to change something or not: %s', (path, changes) => {
    expect(engineCall('GET', path.split('/'), () => undefined).changes).toBe(changes);
  });

  it('judge a table that a parameter names beside the path', () => {
    const call = engineCall('GET', ['tables', 'T', 'size'], (name) => (name === 'tableName' ? 'U' : undefined));
    expect(call.tables).toEqual(['T', 'U']);
  });

  it('need the right on the cluster where no parameter names the table of an upload', () => {
    const { onCluster, tables } = engineCall('POST', ['v2', 'segments'], () => undefined);
    expect([onCluster, tables]).toEqual([['UploadSegment'], []]);
  });
});
