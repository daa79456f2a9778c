import { nearest } from '../../resources/nearest.ts';
import { SqlRefusal } from './refusal.ts';
import type { Option } from './tree.ts';

/**
 * What the gateway does about an option. `passed`: the engine gets it as written. `interpreted`: the engine gets it, and it changes
 * what the gateway checks. `refused`: the query is refused.
 */
export type OptionHandling = 'passed' | 'interpreted' | 'refused';

export interface QueryOption {
  /** Spelling of the engine, which compares names without case. */
  readonly name: string;
  /** First version with this option. */
  readonly since: string;
  /** Last version with it; undefined if the newest known version has it. */
  readonly until: string | undefined;
  readonly handling: OptionHandling;
  /** Values that are passed although others are refused, in lower case. */
  readonly accepts: readonly string[];
  /** What the option does; for a refused one why, and what to write instead. */
  readonly note: string;
}

/** The newest version whose options are listed: 1.6 is not released yet, the options are those of its sources (210c295). */
export const OPTIONS_VERSION = '1.6';

/**
 * All query options of Pinot 0.11 to 1.6: the constants of `CommonConstants.Broker.Request.QueryOptionKey` of each version, and those that the engine reads without a
 * constant there (`database`, `trace`). Columns: name, versions (`since` or `since-until`), note. A new version of the engine may
 * have an option that reads other tables, so an unknown one is refused: add it here with what it does. The setting `allowed-query-options` passes others.
 */
const PASSED = `
  accurateGroupByWithoutOrderBy                 1.4       Exact groups for a GROUP BY with LIMIT and without ORDER BY.
  allowReverseOrder                             1.5       Reads segments in reverse order for a descending ORDER BY.
  AndScanReordering                             0.12      Reorders the scans of an AND.
  applicationName                               1.3       Name that Pinot's application quotas count the query under.
  autoRewriteAggregationType                    1.5       Replaces aggregations by those for the type of the column.
  chunkSizeExtractFinalResult                   1.4       Groups of a task in the final reduction.
  clientQueryId                                 1.4       Id of the query for \`DELETE /clientQuery/{id}\`, which requires \`CancelQuery\`.
  collectGCStats                                1.5       Adds the time of garbage collection to the statistics.
  dropResults                                   1.0       The response has no rows, so that a paginated query fails.
  enableNullHandling                            0.11      Null values instead of the default values of columns.
  errorOnNumGroupsLimit                         1.4       An error instead of a flag where the limit of groups is reached.
  excludeVirtualColumns                         1.5       Hides columns that begin with \`$\` from the multi-stage engine.
  explainAskingServers                          1.3       EXPLAIN in the multi-stage engine contains the plans of the servers.
  explainPlanVerbose                            0.11      EXPLAIN contains the plan of each segment.
  extraPassiveTimeoutMs                         1.4       Extra time before the multi-stage engine ends a query that does not respond.
  filteredAggregationsSkipEmptyGroups           1.3       Omits groups without a row for any filtered aggregation.
  groupTrimThreshold                            1.0       Groups above which a server trims them.
  ignoreMissingSegments                         1.5       No error where a server lacks a segment: the response may lack rows.
  inferInvalidSegmentPartition                  1.4       Partition of a segment by its name where its metadata has several.
  inferPartitionHint                            1.3       Infers the partitioning of joins.
  inferRealtimeSegmentPartition                 1.4       Partition of realtime segments by their names.
  inPredicateLookupAlgorithm                    1.1       Algorithm for IN.
  inPredicatePreSorted                          1.1       The values of IN are sorted.
  inPredicatePruningThreshold                   1.6       Values of IN up to which segments are pruned by them.
  inPredicateSortThreshold                      1.0-1.0   Values of IN above which they are sorted.
  invertedIndexDistinctCostRatio                1.6       Cost ratio above which DISTINCT does not read the inverted index.
  isSecondaryWorkload                           1.3       Runs in the scheduler's pool for secondary queries.
  joinOverflowMode                              1.0       Behaviour where a join exceeds \`maxRowsInJoin\`.
  jsonIndexDistinctSkipMissingPath              1.6       DISTINCT by the JSON index leaves out documents without the path.
  liteModeImplicitLeafStageLimit                1.6       Rows of a leaf stage without LIMIT in lite mode.
  liteModeLeafStageFanOutAdjustedLimit          1.5       Rows of all servers of a leaf stage in lite mode.
  liteModeLeafStageLimit                        1.5       Rows of a leaf stage in lite mode.
  liteModeServerStageLimit                      1.4-1.4   Rows of a leaf stage in lite mode.
  maxExecutionThreads                           0.11      Threads of a server for the query.
  maxExecutionTimeMsInDistinct                  1.6       Time limit of DISTINCT: the response may lack rows.
  maxInitialResultHolderCapacity                1.0       Initial capacity for groups.
  maxQueryResponseSizeBytes                     1.1       Bytes of all servers' responses.
  maxRowsInDistinct                             1.6       Rows that DISTINCT reads: the response may lack rows.
  maxRowsInJoin                                 1.0       Rows of the right side of a join.
  maxRowsInWindow                               1.2       Rows of a window.
  maxRowsWithoutChangeInDistinct                1.6       Rows without a new value after which DISTINCT ends: the response may lack rows.
  maxServerResponseSizeBytes                    1.1       Bytes of one server's response.
  maxStreamingPendingBlocks                     1.0       Blocks that wait in a streaming operator.
  minBrokerGroupTrimSize                        1.1       Groups that a broker keeps.
  minInitialIndexedTableCapacity                1.3       Initial capacity for groups.
  minSegmentGroupTrimSize                       0.11      Groups of a segment that are kept.
  minServerGroupTrimSize                        0.11      Groups that a server keeps.
  mseMaxInitialResultHolderCapacity             1.4       Initial capacity for groups in the multi-stage engine.
  mseMinGroupTrimSize                           1.4       Groups that the multi-stage engine keeps.
  multiStageLeafLimit                           1.0       Rows of a leaf stage.
  numGroupsLimit                                1.0       Groups of a segment.
  numGroupsWarningLimit                         1.4       Groups above which the statistics have a warning.
  numReplicaGroupsToQuery                       0.11      Replica groups among which the segments are divided.
  numThreadsExtractFinalResult                  1.4       Threads of the final reduction.
  optimizeMaxInitialResultHolderCapacity        1.3       Initial capacity for groups from the filter.
  orderByAlgorithm                              0.12-1.4  Algorithm for ORDER BY.
  orderedPreferredPools                         1.4       Pools of servers in order of preference.
  orderedPreferredReplicas                      1.4-1.4   Replicas in order of preference.
  preserveType                                  0.11-1.1  Numbers of PQL responses as numbers.
  regexDictSizeThreshold                        1.5       Dictionary size up to which REGEXP_LIKE reads the dictionary.
  routingOptions                                0.11      Options of the broker's routing.
  runInBroker                                   1.4       Runs the stages after the leaf stage in the broker.
  sampler                                       1.5       Name of a sampler of the table configuration: the query reads only some segments.
  scanStarTreeNodes                             1.0       Reads star-tree nodes instead of their documents.
  serverReturnFinalResult                       0.12      Servers return final results of aggregations.
  serverReturnFinalResultKeyUnpartitioned       1.2       The same where the group key is not partitioned.
  skipIndexes                                   1.2       Indexes that are not used.
  skipPlannerRules                              1.4       Planner rules that are not applied.
  skipUnavailableServers                        1.2       No error where a server is unavailable: the response may lack rows.
  skipUpsert                                    0.11      Returns all rows of an upsert table, also replaced and deleted ones. They belong to the same table, so \`Query\` covers them.
  skipUpsertDelete                              1.6       Returns deleted rows of an upsert table, too. They belong to the same table, so \`Query\` covers them.
  skipUpsertView                                1.2       Reads the current documents of an upsert table instead of its consistent view.
  sortAggregateLimitThreshold                   1.5       LIMIT below which groups are aggregated sorted.
  sortAggregateSingleThreadedNumSegmentsThreshold 1.5     Segments below which this is done in one thread.
  sortExchangeCopyThreshold                     1.5       Rows up to which a sort is copied below an exchange.
  stageParallelism                              1.0       Workers of each server for intermediate stages.
  streamingGroupByFlushThreshold                1.6       Groups after which a streaming GROUP BY sends them.
  streamStats                                   1.6       Statistics while the multi-stage engine runs.
  timeoutMs                                     0.11      Time limit of Pinot. The gateway's \`query-timeout\` applies independently.
  trace                                         0.11      Adds a trace to the response.
  traceRuleProductions                          1.5       Adds the planner's steps to the statistics.
  unnestColumnPruning                           1.6       UNNEST reads only the columns that the query uses.
  upsertViewFreshnessMs                         1.2       Maximum age of the consistent view of an upsert table.
  useBrokerPruning                              1.4       Prunes segments in the broker in the multi-stage engine.
  useFixedReplica                               1.1       Always reads the same replica.
  useIndexBasedDistinctOperator                 1.6       DISTINCT reads an index instead of the rows.
  useLeafServerForIntermediateStage             1.4       Only the servers of leaf stages run intermediate stages.
  useLiteMode                                   1.4       Limits the rows of leaf stages in the multi-stage engine.
  useMSEToFillEmptyResponseSchema               1.4       Column types of an empty response from the multi-stage planner.
  usePhysicalOptimizer                          1.4       Other planner of the multi-stage engine.
  usePlannerRules                               1.4       Planner rules that are applied although disabled.
  useScanReorderOpt                             0.11      Reorders scans.
  useSpools                                     1.3       Runs equal stages once.
  useStarTree                                   0.11      Uses star-tree indexes.
  vectorDistanceThreshold                       1.6       Distance up to which a vector index finds rows.
  vectorEfSearch                                1.6       Size of the candidate list of a vector index.
  vectorExactRerank                             1.6       Ranks the candidates of a vector index by their exact distance.
  vectorMaxCandidates                           1.6       Candidates of a vector index.
  vectorNprobe                                  1.6       Lists that a vector index reads.
  vectorUseBoundedQueue                         1.6       Queue of candidates of a vector index.
  vectorUseRelativeDistance                     1.6       Relative distances in a vector index.
  windowOverflowMode                            1.2       Behaviour where a window exceeds \`maxRowsInWindow\`.
  workloadName                                  1.4       Name that Pinot's workload budgets count the query under.
`;

const INTERPRETED = `
  database                                      1.2       Database of table names without a prefix in the multi-stage engine. The single-stage engine ignores it: there the caller needs \`Query\` on the table of both databases. One name, as a string.
  useMultistageEngine                           0.11      Selects the multi-stage engine, which has no default row limit: a caller with a row limit must write LIMIT.
`;

/** Values in brackets after the versions are passed. */
const REFUSED = `
  cursorNumRows                                 1.3       Conflicts with the page size: use the query parameter \`numRows\` of \`/query/sql\`.
  enableMultiClusterRouting                     1.5[false]  Reads tables of other Pinot clusters, which this gateway's policies do not cover.
  enableMaterializedViewRewrite                 1.6[false]  Reads a materialized view in place of the table, so that the policies of the table do not cover what is read.
  getCursor                                     1.3       Would store the result under an id that the gateway does not know: use the query parameter \`getCursor=true\` or \`doPaginate=true\` of \`/query/sql\`.
  groupByMode                                   0.11-1.1[sql]  Other values than \`sql\` select the response of PQL.
  materializedViewRewrite                       1.6[false]  Reads a materialized view in place of the table, so that the policies of the table do not cover what is read.
  queryHash                                     1.5       The broker computes it.
  responseFormat                                0.11-1.1[sql]  Other values than \`sql\` select the response of PQL.
`;

/**
 * Options that show rows, statistics or steps of the engine beyond the conditions of a table, or change which rows a filter means: refused where the caller
 * may read a part of a table only.
 */
const REFUSED_IN_PART: ReadonlySet<string> = new Set([
  'enablenullhandling',
  'explainaskingservers',
  'explainplanverbose',
  // A wrong promise: `NOT IN` of a filter then finds rows that it excludes.
  'inpredicatepresorted',
  'skipupsert',
  'skipupsertdelete',
  'streamstats',
  'trace',
  'traceruleproductions',
]);

/** Whether the option is refused where the caller may read a part of a table only. What an unknown one shows is not known. */
export function isRefusedInPart({ key }: Pick<Option, 'key'>): boolean {
  const name = key.toLowerCase();
  return REFUSED_IN_PART.has(name) || !BY_NAME.has(name);
}

/** By name, without case. */
export const QUERY_OPTIONS: readonly QueryOption[] = [
  ...parse(PASSED, 'passed'),
  ...parse(INTERPRETED, 'interpreted'),
  ...parse(REFUSED, 'refused'),
].toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));

const BY_NAME: ReadonlyMap<string, QueryOption> = new Map(
  QUERY_OPTIONS.map((option) => [option.name.toLowerCase(), option]),
);

function parse(lines: string, handling: OptionHandling): QueryOption[] {
  return lines
    .trim()
    .split('\n')
    .map((line) => {
      const [, name = '', since = '', until, accepts, note = ''] =
        /^\s*(\S+)\s+([\d.]+)(?:-([\d.]+))?(?:\[(.+?)\])?\s+(.+)$/.exec(line) ?? [];
      const limit = REFUSED_IN_PART.has(name.toLowerCase())
        ? ' Refused for a table that the caller may read in part only.'
        : '';
      return { name, since, until, handling, accepts: accepts?.split(',') ?? [], note: `${note}${limit}` };
    });
}

/** Names that no list of the gateway has, in lower case, and that an administrator allows. */
export type AllowedOptions = ReadonlySet<string>;

const NAME = /^[A-Za-z][A-Za-z0-9]*$/;

/**
 * Problems of the setting `allowed-query-options`. Names that the gateway has learned meanwhile have no effect.
 * @returns a message for each name that cannot be allowed
 */
export function optionProblems(names: readonly string[]): string[] {
  return names.flatMap((name) => {
    if (!NAME.test(name))
      return [`\`${name.slice(0, MAX_SHOWN)}\` is not the name of a query option: it has letters and digits`];
    const option = BY_NAME.get(name.toLowerCase());
    return option?.handling === 'refused'
      ? [`the query option \`${option.name}\` cannot be allowed. ${option.note}`]
      : [];
  });
}

/**
 * Requires that an option is known or allowed, and not refused.
 * @throws {SqlRefusal}
 */
export function requireKnownOption({ key, value, at }: Option, allowed?: AllowedOptions): void {
  const option = BY_NAME.get(key.toLowerCase());
  if (option === undefined) {
    if (allowed?.has(key.toLowerCase()) === true) return;
    throw new SqlRefusal(`unknown query option \`${key.slice(0, MAX_SHOWN)}\`: ${advice(key)}`, at);
  }
  if (option.handling !== 'refused' || option.accepts.includes(value.toLowerCase())) return;
  throw new SqlRefusal(`the query option \`${option.name}\` is not supported. ${option.note}`, at);
}

function advice(key: string): string {
  const close = nearest(
    key,
    QUERY_OPTIONS.map(({ name }) => name),
  );
  if (close !== undefined) return `did you mean \`${close}\`?`;
  const listed = 'docs/query-options.md lists the known ones';
  return NAME.test(key)
    ? `${listed}; an administrator can allow it with the setting \`allowed-query-options\``
    : listed;
}

/** Whether the checks of the gateway depend on the option. */
export function isInterpreted({ key }: Option): boolean {
  return BY_NAME.get(key.toLowerCase())?.handling === 'interpreted';
}

const MAX_SHOWN = 100;
