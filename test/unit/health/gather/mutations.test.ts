import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../../src/health/catalogue.ts';
import type { CheckOutcome, Need } from '../../../../src/health/check.ts';
import { createGather } from '../../../../src/health/gather/gather.ts';
import { runChecks } from '../../../../src/health/run/run.ts';
import { resolveSettings } from '../../../../src/health/settings.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';
import { healthyCluster, ModelCluster, type Document } from '../../../support/model-cluster.ts';
import { seeded } from '../../../support/seed.ts';

// One thing of a healthy cluster is removed, renamed, damaged, aged, hidden or emptied. A check must name it, and no check whose input is
// hidden may pass.

type Documents = Map<string, Document>;
type Outcomes = ReadonlyMap<string, CheckOutcome>;
const random = seeded(46);
const MUTATIONS = 2_400;
/** Runs at once: most of the time of a run is waiting. */
const AT_ONCE = 16;
const DAYS_60_MS = 60 * 24 * 3_600_000;

async function outcomesOf(documents: Documents, engine = new ModelCluster(documents)): Promise<Outcomes> {
  const { results } = await runChecks({
    gather: createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 }),
    // A single run knows no earlier one.
    settings: resolveSettings({ thresholds: { CONSUMING_SEGMENT_AGE_CHECK: { minRowsMinutes: 0 } } }),
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    clock: systemClock,
  });
  return new Map(results.map(({ name, outcome }) => [name, outcome]));
}

const zk = (operation: string, path: string): string => `GET /zk/${operation}?path=/c/${path}`;
const configs = zk('getChildren', 'PROPERTYSTORE/CONFIGS/TABLE');
const schemas = zk('getChildren', 'PROPERTYSTORE/SCHEMAS');
const participants = zk('getChildren', 'CONFIGS/PARTICIPANT');
const brokerResource = zk('get', 'EXTERNALVIEW/brokerResource');
const TASKS = 'GET /tasks/MergeRollupTask/taskcounts';
const isTable = (name: string): boolean => /_(?:OFFLINE|REALTIME)$/u.test(name);

/** A change of one document. `names`: a finding or a message must have one of them. */
interface Mutation {
  readonly what: string;
  readonly names: readonly string[];
  readonly documents: Documents;
}

type Container = Record<string, unknown> | unknown[];
interface Node {
  id: string;
  simpleFields: Record<string, string>;
  mapFields: Record<string, Record<string, string>>;
  listFields: Record<string, string[]>;
}

/** Changes a copy of a document. @param change returns the name of what it changed */
function changed(request: string, what: string, change: (body: never) => string): Mutation {
  const documents = healthyCluster(NOW);
  const document = structuredClone(documents.get(request)) as Document;
  const name = change(document.body as never);
  documents.set(request, document);
  return {
    what: `${what} ${name} of ${request}`,
    names: [name, name.replace(/_(?:OFFLINE|REALTIME)$/u, '')],
    documents,
  };
}

function pick<T>(list: readonly T[]): T {
  return list[random.below(list.length)] as T;
}

/** Removes or renames one entry. */
function removedOrRenamed(container: Container, chosen: (name: string) => boolean = () => true): string {
  const rename = random.below(2) === 0;
  if (Array.isArray(container)) {
    const names = container.map((entry) => (typeof entry === 'string' ? entry : ((entry as Node).id ?? String(entry))));
    const name = pick(names.filter(chosen));
    const index = names.indexOf(name);
    if (!rename) container.splice(index, 1);
    else if (typeof container[index] === 'string') container[index] = renamed(name);
    else (container[index] as Node).id = renamed(name);
    return name;
  }
  const name = pick(Object.keys(container).filter(chosen));
  if (rename) container[renamed(name)] = container[name];
  delete container[name];
  return name;
}

/** Keeps the suffix of a table: a name of another kind is no table. */
function renamed(name: string): string {
  return name.replace(/(?=(?:_(?:OFFLINE|REALTIME))?$)/u, 'x');
}

const states = (table: string, document: 'idealstate' | 'externalview'): string => `GET /tables/${table}/${document}`;
const TABLES = ['orders_OFFLINE', 'events_REALTIME'];
type States = Record<string, Record<string, Record<string, string>>>;

const MUTATE: readonly (() => Mutation)[] = [
  ...[configs, schemas, participants].map(
    (list) => () => changed(list, 'a node', (body: Node[]) => removedOrRenamed(body)),
  ),
  () => changed(zk('lsl', 'PROPERTYSTORE/CONFIGS/TABLE'), 'a name', (body: Container) => removedOrRenamed(body)),
  ...['IDEALSTATES', 'EXTERNALVIEW', 'PROPERTYSTORE/SEGMENTS'].map(
    (place) => () => changed(zk('ls', place), 'a name', (body: string[]) => removedOrRenamed(body, isTable)),
  ),
  () => changed(zk('ls', 'LIVEINSTANCES'), 'a name', (body: string[]) => removedOrRenamed(body)),
  () => changed('GET /tables', 'a name', ({ tables }: { tables: string[] }) => removedOrRenamed(tables)),
  () => changed(brokerResource, 'a table', ({ mapFields }: Node) => removedOrRenamed(mapFields)),
  // A segment, a replica and a state of one of the states of a table.
  ...(['idealstate', 'externalview'] as const).flatMap((document) =>
    ([0, 1, 2] as const).map((depth) => () => {
      const table = pick(TABLES);
      return changed(
        states(table, document),
        ['a segment', 'a replica', 'a state'][depth] as string,
        (body: States) => {
          const segments = body[table.split('_')[1] as string] as Record<string, Record<string, string>>;
          if (depth === 0) return removedOrRenamed(segments);
          const replicas = segments[pick(Object.keys(segments))] as Record<string, string>;
          if (depth === 1) return removedOrRenamed(replicas);
          const server = pick(Object.keys(replicas));
          replicas[server] = document === 'externalview' ? pick(['ERROR', 'OFFLINE']) : 'OFFLINE';
          return server;
        },
      );
    }),
  ),
  () => changed(`GET /segments/${pick(TABLES)}/zkmetadata`, 'a segment', (body: Container) => removedOrRenamed(body)),
  () => {
    const table = pick(TABLES);
    return changed(`GET /segments/${table}/zkmetadata`, 'the age', (body: Record<string, Record<string, string>>) => {
      for (const segment of Object.values(body)) {
        const created = Number(segment['segment.creation.time']);
        if (created > 0) segment['segment.creation.time'] = String(created - DAYS_60_MS);
      }
      return table;
    });
  },
  ...['IDEALSTATES', 'EXTERNALVIEW'].map(
    (place) => () =>
      changed(zk('lsl', place), 'the size', (body: Record<string, Record<string, number>>) => {
        const name = pick(Object.keys(body));
        const stat = body[name] as Record<string, number>;
        if (random.below(2) === 0) delete stat['dataLength'];
        else stat['dataLength'] = 1_000_000;
        return name;
      }),
  ),
  () =>
    changed(TASKS, 'the end', (body: Record<string, Record<string, number>>) => {
      const [name = ''] = Object.keys(body);
      const counts = [{ running: 1 }, { waiting: 2, completed: 0 }, { total: 0, completed: 0 }];
      body[name.replace(/[0-9]+$/u, String(NOW - DAYS_60_MS))] = { ...body[name], ...pick(counts) };
      return 'MergeRollupTask';
    }),
  () => {
    const [request, segment] = pick(SAMPLED_FILES);
    const documents = healthyCluster(NOW).set(request, { status: 404, body: '' });
    return { what: `the file ${segment}`, names: [segment], documents };
  },
  () => {
    const table = pick(TABLES);
    return changed(`GET /segments/${table}/zkmetadata`, 'the URL', (body: Record<string, Record<string, string>>) => {
      const name = pick(Object.keys(body).filter((segment) => body[segment]?.['segment.download.url'] !== undefined));
      (body[name] as Record<string, string>)['segment.download.url'] = '';
      return name;
    });
  },
  () =>
    changed(`GET /segments/${TABLES[1]}/zkmetadata`, 'the age', (body: Record<string, Record<string, string>>) => {
      const name = pick(Object.keys(body).filter((segment) => segment.includes('__3__')));
      (body[name] as Record<string, string>)['segment.creation.time'] = String(NOW - DAYS_60_MS);
      return name;
    }),
  () =>
    changed(configs, 'text', (body: Node[]) => damaged(pick(body), ['segmentsConfig', 'tenants', 'tableIndexConfig'])),
  () => changed(schemas, 'text', (body: Node[]) => damaged(pick(body), ['schemaJSON'])),
  () =>
    changed(participants, 'tags', (body: Node[]) => {
      const kind = pick(['Server', 'Broker', 'Minion']);
      const servers = body.filter(({ id }) => id.startsWith(kind));
      for (const { listFields } of servers) listFields['TAG_LIST'] = ['Other_X'];
      return kind === 'Minion' ? 'minion_untagged' : 'DefaultTenant';
    }),
  () =>
    changed(participants, 'the switch', (body: Node[]) => {
      const node = pick(body);
      node.simpleFields['HELIX_ENABLED'] = 'false';
      return node.id;
    }),
  ...(['a segment', 'a replica', 'a consumer'] as const).map(
    (what) => () =>
      changed(CONSUMING, what, (body: { _segmentToConsumingInfoMap: Record<string, Record<string, string>[]> }) => {
        const map = body._segmentToConsumingInfoMap;
        // Another name of the same partition would be the segment after it.
        if (what === 'a segment') {
          delete map[pick(Object.keys(map))];
          return 'events';
        }
        const infos = map[pick(Object.keys(map))] as Record<string, string>[];
        const index = random.below(infos.length);
        if (what === 'a replica') infos.splice(index, 1);
        else (infos[index] as Record<string, string>)['consumerState'] = 'NOT_CONSUMING';
        return 'events';
      }),
  ),
];

const CONSUMING = 'GET /tables/events/consumingSegmentsInfo';

function damaged(node: Node, fields: readonly string[]): string {
  const field = pick(fields);
  node.simpleFields[field] = pick(['{"truncated', '[1,', 'null}']);
  return node.id;
}

const NOW = systemClock.now();
const model = new ModelCluster(healthyCluster(NOW));
const healthy = await outcomesOf(healthyCluster(NOW), model);
/** What is requested of a healthy cluster. */
const asked: ReadonlySet<string> = model.used;
/** The requests for files of segments, with the names of these. */
const SAMPLED_FILES = [...asked]
  .filter((request) => request.startsWith('HEAD '))
  .map((request) => [request, request.split('/').at(-1) as string] as const);

describe('a healthy cluster', () => {
  it('passes all checks', () => {
    expect([...healthy].filter(([, { status }]) => status !== 'PASS')).toEqual([]);
  });
});

/** What the checks say: messages of those that fail, and of those that leave something out. */
function said(outcomes: Outcomes): string {
  const texts = [...outcomes].flatMap(([name, { status, message, findings }]) =>
    status === 'FAIL' ? [name, message, ...findings.flatMap((finding) => [finding.entity, finding.message])] : [],
  );
  return texts.join('\n');
}

async function inBatches<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let i = 0; i < items.length; i += AT_ONCE) await Promise.all(items.slice(i, i + AT_ONCE).map(work));
}

it('names each thing that is removed, renamed, damaged or aged', { tags: 'slow' }, async () => {
  const unnamed: string[] = [];
  const mutations = Array.from({ length: MUTATIONS }, (_, i) => (MUTATE[i % MUTATE.length] as () => Mutation)());
  await inBatches(mutations, async ({ what, names, documents }) => {
    const text = said(await outcomesOf(documents));
    if (!names.some((name) => text.includes(name))) unnamed.push(`${what}: ${text}`);
  });
  expect([...new Set(unnamed)].slice(0, 5)).toEqual([]);
});

/** The checks that read a document, and do not only use it where another one has a difference. */
function readersOf(request: string): readonly string[] {
  const rules: readonly [pattern: RegExp, needs: readonly Need[], without?: readonly string[]][] = [
    [/CONFIGS\/TABLE$/u, ['tables']],
    [/SCHEMAS$/u, ['schemas']],
    [/PARTICIPANT$|LIVEINSTANCES$/u, ['instances']],
    [/brokerResource$/u, ['brokerResource']],
    [/leader/u, ['leaders']],
    [/cluster\/configs/u, ['clusterConfig']],
    [/idealstate$/u, ['assignment'], ['QUERY_HEALTH_CHECK', 'TABLE_CONSISTENCY_CHECK']],
    [/externalview$/u, ['externalView'], ['TABLE_CONSISTENCY_CHECK']],
    [/zkmetadata$/u, ['segmentMetadata'], ['TABLE_CONSISTENCY_CHECK']],
    [/size\?/u, ['size']],
    [/^HEAD/u, ['files']],
    [/taskcounts$/u, ['minionTasks']],
    [/lsl\?.*(?:IDEALSTATES|EXTERNALVIEW)$/u, ['nodeSizes']],
    [/needReload/u, ['reload']],
    [/rebalance/u, ['rebalance']],
    [/consumingSegmentsInfo/u, ['consumption']],
    [/query/u, ['queries']],
    [/\/health$/u, ['instanceHealth'], ['SERVER_DISK_USAGE_CHECK']],
    [/diskUtilization/u, ['disks']],
  ];
  if (
    /\/zk\/lsl\?.*TABLE$/u.test(request) ||
    /\/zk\/ls\?.*(?:IDEALSTATES|EXTERNALVIEW|SEGMENTS)$|GET \/tables$/u.test(request)
  )
    return ['TABLE_CONSISTENCY_CHECK'];
  const [, needs, without = []] = rules.find(([pattern]) => pattern.test(request)) ?? [/^$/u, []];
  const ofStreams = new Set(['INGESTION_STOPPED_CHECK', 'CONSUMER_LAG_CHECK', 'CONSUMING_SEGMENT_AGE_CHECK']);
  return CATALOGUE.filter((check) => check.needs.some((need) => needs.includes(need)))
    .map(({ name }) => name)
    .filter((name) => !without.includes(name) && !(request.includes('orders') && ofStreams.has(name)))
    .filter((name) => needs.includes('leaders') || healthy.get(name)?.message.startsWith('not applicable') === false);
}

/** Documents whose content is none, or can be; and those whose absence is a normal state: a queue has no task. */
const MAY_BE_EMPTY = /INSTANCE_PARTITIONS|CONFIGS\/RESOURCE|cluster\/configs|taskcounts|^HEAD/u;
const MAY_BE_ABSENT = /taskcounts/u;
/** Which are needed for larger tables only. */
const NO_READER = /INSTANCE_PARTITIONS/u;

describe('an input that is hidden', () => {
  const requests = [...healthyCluster(NOW).keys()].filter((request) => asked.has(request) && !NO_READER.test(request));
  const hidden: readonly (readonly [string, (body: unknown) => Document])[] = [
    ['not found', () => ({ status: 404, body: { code: 404, error: 'not found' } })],
    ['forbidden', () => ({ status: 403, body: 'no' })],
    ['a page of a proxy', () => ({ status: 200, body: '<html>sign in</html>', headers: {} })],
    ['a proxy without a route', () => ({ status: 404, body: 'no route', headers: {} })],
    ['empty', (body) => ({ status: 200, body: Array.isArray(body) ? [] : typeof body === 'string' ? '' : {} })],
  ];

  it.each(hidden)('%s lets no check pass that reads it', async (what, to) => {
    const passed: string[] = [];
    await inBatches(requests, async (request) => {
      if (what === 'empty' && MAY_BE_EMPTY.test(request)) return;
      if (what === 'not found' && MAY_BE_ABSENT.test(request)) return;
      const documents = healthyCluster(NOW);
      documents.set(request, to(documents.get(request)?.body));
      const outcomes = await outcomesOf(documents);
      const readers = request.includes('/cluster/info') ? [...outcomes.keys()] : readersOf(request);
      for (const name of readers) {
        const { status, message } = outcomes.get(name) as CheckOutcome;
        if (status === 'PASS' && !message.includes('not judged')) passed.push(`${request}: ${name}: ${message}`);
      }
      if (![...outcomes.values()].some(({ status }) => status === 'FAIL')) passed.push(`${request}: all checks pass`);
    });
    expect(passed).toEqual([]);
  });
});
