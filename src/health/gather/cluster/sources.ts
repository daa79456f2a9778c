import type { EngineReader } from '../calls/reader.ts';
import { isIn, isMissingIn, readOk, TABLE_TYPES, type NameList, type Read, type TableSources } from '../../snapshot.ts';
import type { ClusterCalls } from './cluster.ts';

/** The names of tables in each source, read in parallel. */
export async function readSources(reader: EngineReader, calls: ClusterCalls): Promise<TableSources> {
  const list = async (work: () => Promise<Iterable<string>>): Promise<Read<NameList>> => {
    const names = await reader.read(async () => new Set(await work()));
    return names.ok ? readOk({ always: names.value, ever: names.value }) : names;
  };
  const [configurations, idealStates, externalViews, segmentMetadata, listed] = await Promise.all([
    list(() => calls.configuredTables()),
    list(() => calls.tableNodes('IDEALSTATES')),
    list(() => calls.tableNodes('EXTERNALVIEW')),
    list(() => calls.tablesWithMetadata()),
    list(() => calls.listedTables()),
  ]);
  return { configurations, idealStates, externalViews, segmentMetadata, listed };
}

/** Whether a table is in only one of two sources that should both have it, or neither. */
export function disagree({
  configurations,
  idealStates,
  externalViews,
  segmentMetadata,
  listed,
}: TableSources): boolean {
  return (
    [...namesIn(configurations), ...namesIn(externalViews), ...namesIn(segmentMetadata)].some((name) =>
      isMissingIn(idealStates, name),
    ) ||
    namesIn(idealStates).some((name) => isMissingIn(configurations, name)) ||
    namesIn(listed).some((name) => TABLE_TYPES.every((type) => !isIn(configurations, `${name}_${type}`)))
  );
}

/** Two reads of the same sources. A source that one of them could not read is as in the other. */
export function bothReads(first: TableSources, second: TableSources): TableSources {
  const both = (source: keyof TableSources): Read<NameList> => {
    const [a, b] = [first[source], second[source]];
    if (!a.ok || !b.ok) return b.ok ? b : a;
    return readOk({ always: a.value.always.intersection(b.value.always), ever: a.value.ever.union(b.value.ever) });
  };
  return {
    configurations: both('configurations'),
    idealStates: both('idealStates'),
    externalViews: both('externalViews'),
    segmentMetadata: both('segmentMetadata'),
    listed: both('listed'),
  };
}

/**
 * A source that knows tables; undefined if none does. An empty list of table configurations or schemas contradicts it.
 */
export function whereTablesAre({ configurations, idealStates, listed }: TableSources): string | undefined {
  const count = (source: Read<NameList>): number => namesIn(source).length;
  if (count(idealStates) > 0) {
    return `there are ${count(idealStates)} ideal states, such as \`${namesIn(idealStates)[0]}\``;
  }
  if (count(configurations) > 0) return `${count(configurations)} tables are configured`;
  if (count(listed) > 0) return `\`GET /tables\` lists ${count(listed)} tables, such as \`${namesIn(listed)[0]}\``;
  return undefined;
}

/** Why it is unknown whether there are tables; undefined if the sources say that there is none. */
export function whyUnknown({ idealStates, listed }: TableSources): string | undefined {
  if (!idealStates.ok) return `the ideal states could not be listed: ${idealStates.error}`;
  return listed.ok ? undefined : `the tables could not be listed: ${listed.error}`;
}

export function namesIn(source: Read<NameList>): string[] {
  return source.ok ? [...source.value.always] : [];
}
