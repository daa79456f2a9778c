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

/** The newest version whose options are listed. */
export const OPTIONS_VERSION = '1.5';

/**
 * All query options of Pinot 0.11 to 1.5: the constants of `CommonConstants.Broker.Request.QueryOptionKey` of each version, and those that the engine reads without a
 * constant there (`database`, `trace`). Columns: name, versions (`since` or `since-until`), note. A new version of the engine may
 * have an option that reads other tables, so an unknown one is refused: add it here with what it does.
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
  inPredicateSortThreshold                      1.0-1.0   Values of IN above which they are sorted.
  isSecondaryWorkload                           1.3       Runs in the scheduler's pool for secondary queries.
  joinOverflowMode                              1.0       Behaviour where a join exceeds \`maxRowsInJoin\`.
  liteModeLeafStageFanOutAdjustedLimit          1.5       Rows of all servers of a leaf stage in lite mode.
  liteModeLeafStageLimit                        1.5       Rows of a leaf stage in lite mode.
  liteModeServerStageLimit                      1.4-1.4   Rows of a leaf stage in lite mode.
  maxExecutionThreads                           0.11      Threads of a server for the query.
  maxInitialResultHolderCapacity                1.0       Initial capacity for groups.
  maxQueryResponseSizeBytes                     1.1       Bytes of all servers' responses.
  maxRowsInJoin                                 1.0       Rows of the right side of a join.
  maxRowsInWindow                               1.2       Rows of a window.
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
  skipUpsertView                                1.2       Reads the current documents of an upsert table instead of its consistent view.
  sortAggregateLimitThreshold                   1.5       LIMIT below which groups are aggregated sorted.
  sortAggregateSingleThreadedNumSegmentsThreshold 1.5     Segments below which this is done in one thread.
  sortExchangeCopyThreshold                     1.5       Rows up to which a sort is copied below an exchange.
  stageParallelism                              1.0       Workers of each server for intermediate stages.
  timeoutMs                                     0.11      Time limit of Pinot. The gateway's \`query-timeout\` applies independently.
  trace                                         0.11      Adds a trace to the response.
  traceRuleProductions                          1.5       Adds the planner's steps to the statistics.
  upsertViewFreshnessMs                         1.2       Maximum age of the consistent view of an upsert table.
  useBrokerPruning                              1.4       Prunes segments in the broker in the multi-stage engine.
  useFixedReplica                               1.1       Always reads the same replica.
  useLeafServerForIntermediateStage             1.4       Only the servers of leaf stages run intermediate stages.
  useLiteMode                                   1.4       Limits the rows of leaf stages in the multi-stage engine.
  useMSEToFillEmptyResponseSchema               1.4       Column types of an empty response from the multi-stage planner.
  usePhysicalOptimizer                          1.4       Other planner of the multi-stage engine.
  usePlannerRules                               1.4       Planner rules that are applied although disabled.
  useScanReorderOpt                             0.11      Reorders scans.
  useSpools                                     1.3       Runs equal stages once.
  useStarTree                                   0.11      Uses star-tree indexes.
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
  getCursor                                     1.3       Would store the result under an id that the gateway does not know: use the query parameter \`getCursor=true\` or \`doPaginate=true\` of \`/query/sql\`.
  groupByMode                                   0.11-1.1[sql]  Other values than \`sql\` select the response of PQL.
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
  'trace',
  'traceruleproductions',
]);

/** Whether the option is refused where the caller may read a part of a table only. */
export function isRefusedInPart({ key }: Pick<Option, 'key'>): boolean {
  return REFUSED_IN_PART.has(key.toLowerCase());
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
      const limit = isRefusedInPart({ key: name }) ? ' Refused for a table that the caller may read in part only.' : '';
      return { name, since, until, handling, accepts: accepts?.split(',') ?? [], note: `${note}${limit}` };
    });
}

/**
 * Requires that an option is known and not refused.
 * @throws {SqlRefusal}
 */
export function requireKnownOption({ key, value, at }: Option): void {
  const option = BY_NAME.get(key.toLowerCase());
  if (option === undefined) {
    const close = nearest(
      key,
      QUERY_OPTIONS.map(({ name }) => name),
    );
    const advice = close === undefined ? 'docs/query-options.md lists the known ones' : `did you mean \`${close}\`?`;
    throw new SqlRefusal(`unknown query option \`${key.slice(0, MAX_SHOWN)}\`: ${advice}`, at);
  }
  if (option.handling !== 'refused' || option.accepts.includes(value.toLowerCase())) return;
  throw new SqlRefusal(`the query option \`${option.name}\` is not supported. ${option.note}`, at);
}

/** Whether the checks of the gateway depend on the option. */
export function isInterpreted({ key }: Option): boolean {
  return BY_NAME.get(key.toLowerCase())?.handling === 'interpreted';
}

const MAX_SHOWN = 100;
