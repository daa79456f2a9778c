import { CATALOGUE } from '../../src/health/catalogue.ts';
import { createGather } from '../../src/health/gather/gather.ts';
import { buildStatus } from '../../src/health/report/report.ts';
import { runChecks, type RunResult } from '../../src/health/run/run.ts';
import { resolveSettings } from '../../src/health/settings.ts';
import { systemClock, type Clock } from '../../src/platform/clock.ts';
import type { ClusterHealthReportStatus } from '../../src/resources/health-status.ts';
import { WAIT_LIMIT_MS } from './limits.ts';
import { healthyCluster, ModelCluster, type Document } from './model-cluster.ts';

export type Documents = Map<string, Document>;
type States = Record<string, Record<string, Record<string, string>>>;
interface Node {
  readonly id: string;
  readonly simpleFields: Record<string, string>;
}

const zk = (operation: string, path: string): string => `GET /zk/${operation}?path=/c/${path}`;
const SERVERS = ['Server_s0_8098', 'Server_s1_8098', 'Server_s2_8098'];
const VIEWS = [
  ['orders_OFFLINE', 'OFFLINE'],
  ['events_REALTIME', 'REALTIME'],
] as const;

/** Replaces the content of a document by a changed copy. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the shape of the content
export function change<T>(documents: Documents, request: string, edit: (body: T) => void): void {
  const document = structuredClone(documents.get(request)) as Document;
  edit(document.body as T);
  documents.set(request, document);
}

/** Gives the replicas on a server another state in the external views; none removes them. */
function replicas(documents: Documents, server: string, state?: string): void {
  for (const [table, type] of VIEWS) {
    change<States>(documents, `GET /tables/${table}/externalview`, (body) => {
      for (const segment of Object.values(body[type] ?? {})) {
        if (!(server in segment)) continue;
        if (state === undefined) delete segment[server];
        else segment[server] = state;
      }
    });
  }
}

/** Ends the session of an instance; the replicas on a server leave the external views. */
export function stop(documents: Documents, id: string): void {
  change<string[]>(documents, zk('ls', 'LIVEINSTANCES'), (live) => live.splice(live.indexOf(id), 1));
  documents.set(`${id.split('_')[1]} GET /health`, { status: 503, body: 'down' });
  replicas(documents, id);
}

export function disable(documents: Documents, id: string): void {
  change<Node[]>(documents, zk('getChildren', 'CONFIGS/PARTICIPANT'), (nodes) => {
    for (const node of nodes) if (node.id === id) node.simpleFields['HELIX_ENABLED'] = 'false';
  });
  replicas(documents, id, 'OFFLINE');
}

/** A server that joined a while ago has no segment yet. */
export function restart(documents: Documents, id: string, joinedAt: number): void {
  replicas(documents, id, 'OFFLINE');
  documents.set(`${id.split('_')[1]} GET /health`, { status: 503, body: 'starting' });
  const stat = { czxid: 1, mzxid: 1, pzxid: 1, mtime: joinedAt, version: 0, cversion: 0, dataLength: 1 };
  documents.set(zk('lsl', 'LIVEINSTANCES'), { status: 200, body: { [id]: { ...stat, ctime: joinedAt } } });
}

/** A job of a rebalance, as Pinot 1.x keeps it. */
export function rebalance(documents: Documents, tableName: string): void {
  const stats = JSON.stringify({ status: 'IN_PROGRESS', startTimeMs: 1 });
  const job = { tableName, jobType: 'TABLE_REBALANCE', REBALANCE_PROGRESS_STATS: stats };
  const body = { id: 'TABLE_REBALANCE', simpleFields: {}, mapFields: { job }, listFields: {} };
  documents.set(zk('get', 'PROPERTYSTORE/CONTROLLER_JOBS/TABLE_REBALANCE'), { status: 200, body });
}

/** Puts the replicas of a segment into the state ERROR on all of its servers. */
export function lose(documents: Documents, segment: string): void {
  change<States>(documents, 'GET /tables/events_REALTIME/externalview', ({ REALTIME = {} }) => {
    for (const server of Object.keys(REALTIME[segment] ?? {})) (REALTIME[segment] ?? {})[server] = 'ERROR';
  });
}

/** Faults that page at night, by what happened. */
export const NIGHT_FAULTS: Readonly<Record<string, (documents: Documents, now: number) => void>> = {
  'one of three servers is down': (documents) => stop(documents, 'Server_s1_8098'),
  'one of three servers is disabled': (documents) => disable(documents, 'Server_s1_8098'),
  'two of three servers are down': (documents) => {
    for (const server of SERVERS.slice(1)) stop(documents, server);
  },
  'all servers are down': (documents) => {
    for (const server of SERVERS) stop(documents, server);
    for (const table of ['orders', 'events']) {
      const body = { exceptions: [{ errorCode: 305, message: 'no server is available' }], numServersQueried: 0 };
      documents.set(`POST /query/sql "${table}"`, { status: 200, body });
    }
  },
  'a segment has no online replica': (documents) => lose(documents, 'events__1__2__20260101T0000Z'),
  'a schema is missing': (documents) =>
    change<Node[]>(documents, zk('getChildren', 'PROPERTYSTORE/SCHEMAS'), (nodes) => nodes.pop()),
  'Pinot paused a table': (documents) => {
    const body = { pauseFlag: true, reasonCode: 'STORAGE_QUOTA_EXCEEDED', comment: 'quota', consumingSegments: [] };
    documents.set('GET /tables/events/pauseStatus', { status: 200, body });
    const withoutConsuming = (segments: Record<string, unknown> = {}): void => {
      for (const name of Object.keys(segments)) if (name.includes('__3__')) delete segments[name];
    };
    for (const state of ['idealstate', 'externalview']) {
      change<States>(documents, `GET /tables/events_REALTIME/${state}`, ({ REALTIME }) => withoutConsuming(REALTIME));
    }
    change<Record<string, unknown>>(documents, 'GET /segments/events_REALTIME/zkmetadata', withoutConsuming);
    documents.set('GET /tables/events/consumingSegmentsInfo', {
      status: 200,
      body: { serversFailingToRespond: 0, _segmentToConsumingInfoMap: {} },
    });
  },
  'a disk is full': (documents, now) => {
    const body = { path: '/data', totalSpaceBytes: 1_000, usedSpaceBytes: 990, lastUpdatedTimeInEpochMs: now };
    documents.set('s1 GET /instance/diskUtilization', { status: 200, body });
  },
};

/** Runs the checks on a cluster. @param clock gives the time of the run */
export async function runOn(documents: Documents, clock: Clock = systemClock): Promise<RunResult> {
  return runChecks({
    gather: createGather({ engine: new ModelCluster(documents), clock: systemClock, settleMs: 1, attempts: 1 }),
    settings: { ...resolveSettings({}), checks: CATALOGUE },
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    clock,
  });
}

/** The report after a run. @param now of the run, milliseconds since the epoch */
export async function reportOn(
  documents: Documents,
  now: number,
  previous?: ClusterHealthReportStatus,
): Promise<ClusterHealthReportStatus> {
  const result = await runOn(documents, { ...systemClock, now: () => now });
  return buildStatus({ result, previous, generation: 1, runAt: undefined, maxFindings: 200, now });
}

/** A healthy cluster with a fault. */
export function clusterWith(fault: (documents: Documents, now: number) => void, now: number): Documents {
  const documents = healthyCluster(now);
  fault(documents, now);
  return documents;
}
