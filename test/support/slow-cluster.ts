import { Readable } from 'node:stream';
import {
  EngineError,
  type Engine,
  type EngineEndpoint,
  type EngineRequest,
  type EngineResponse,
} from '../../src/pinot/types.ts';
import type { FakeClock } from './fake-clock.ts';
import { nodeStats } from './node-tree.ts';

const SERVERS = 10;
const SEGMENTS = 4;
const BROKER = 'Broker_broker-0_8099';
const CONTROLLER = 'Controller_controller-0_9000';

export const serverOf = (table: number, segment: number): string => `Server_server-${(table + segment) % SERVERS}_8098`;
/** One in five is a realtime upsert table. */
const isRealtime = (table: number): boolean => table % 5 === 4;
export const tableName = (table: number): string => `t${table}_${isRealtime(table) ? 'REALTIME' : 'OFFLINE'}`;

/** Requests that are answered late or never, by `METHOD URL BODY`, decoded: `GET http://controller/tables/t1_OFFLINE/size?verbose=false`. */
export interface Slowness {
  readonly matches: RegExp;
  /** `Infinity`: never. */
  readonly delayMs: number;
}

/**
 * A healthy cluster of Apache Pinot 1.5 in this process, on a fake clock: it responds at once, except to the slow requests. Like real endpoints it
 * honours time-outs and abort signals.
 */
export class SlowCluster implements Engine {
  /** `METHOD URL` of each request, decoded. */
  readonly requests: string[] = [];
  slow: readonly Slowness[] = [];
  /** Answers in place of the cluster's own, by the path. */
  readonly answers = new Map<string, { readonly status?: number; readonly body: unknown }>();
  readonly controller: EngineEndpoint;
  readonly #tables: readonly number[];
  readonly #clock: FakeClock;

  constructor(tables: number, clock: FakeClock) {
    this.#tables = Array.from({ length: tables }, (_, table) => table);
    this.#clock = clock;
    this.controller = this.endpoint('http://controller');
  }

  async brokerFor(): Promise<EngineEndpoint> {
    return this.endpoint('http://broker');
  }

  endpoint(url: string): EngineEndpoint {
    return { url, request: (request) => this.#respond(url, request) };
  }

  async close(): Promise<void> {
    this.answers.clear();
  }

  async #respond(url: string, request: EngineRequest): Promise<EngineResponse> {
    const path = decodeURIComponent(request.path);
    const name = `${request.method} ${url}${path}`;
    this.requests.push(name);
    const asked = typeof request.body === 'string' ? `${name} ${request.body}` : name;
    const delayMs = this.slow.find(({ matches }) => matches.test(asked))?.delayMs;
    if (delayMs !== undefined) await this.#wait(delayMs, request, url);
    const given = this.answers.get(path);
    const body = given === undefined ? this.#body(path) : given.body;
    return {
      status: given?.status ?? (body === undefined ? 404 : 200),
      headers: { 'pinot-controller-version': '1.5.1-stub' },
      body: Readable.from([Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? { code: 404 }))]),
    };
  }

  async #wait(ms: number, { headersTimeoutMs = 120_000, signal }: EngineRequest, url: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => () => {
        cancel();
        signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const onAbort = end(() => reject(new EngineError('aborted', 'the caller gave up')));
      const late = ms > headersTimeoutMs;
      const cancel = this.#clock.schedule(
        end(() => (late ? reject(new EngineError('timeout', `no response from ${url}`)) : resolve())),
        Math.min(ms, headersTimeoutMs),
      );
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #body(path: string): unknown {
    if (path === '/health') return 'OK';
    if (path === '/query/sql') return { resultTable: { rows: [[0]] }, exceptions: [], numServersQueried: 2 };
    const table = /\bt(\d+)/u.exec(path)?.[1];
    return table === undefined ? this.#clusterBody(path) : tableBody(path, Number(table));
  }

  #clusterBody(path: string): unknown {
    const names = this.#tables.map(tableName);
    const node = (id: string, simpleFields: object, more: object = {}) => ({
      id,
      simpleFields,
      mapFields: {},
      listFields: {},
      ...more,
    });
    const ofTables = (value: (name: string) => unknown) => Object.fromEntries(names.map((name) => [name, value(name)]));
    const servers = Array.from({ length: SERVERS }, (_, server) => serverOf(server, 0));
    switch (path) {
      case '/cluster/info':
        return { clusterName: 'c' };
      case '/cluster/configs':
        return {};
      case '/leader/tables':
        return { leadControllerEntryMap: { p0: { leadControllerId: CONTROLLER, tableNames: names } } };
      case '/zk/getChildren?path=/c/PROPERTYSTORE/CONFIGS/TABLE':
        return this.#tables.map((table) => node(tableName(table), tableConfig(table)));
      case '/zk/lsl?path=/c/PROPERTYSTORE/CONFIGS/TABLE':
        return ofTables(() => ({ czxid: 1 }));
      case '/zk/lsl?path=/c/IDEALSTATES':
      case '/zk/lsl?path=/c/EXTERNALVIEW':
        return nodeStats([...names, 'brokerResource']);
      case '/zk/ls?path=/c/IDEALSTATES':
      case '/zk/ls?path=/c/EXTERNALVIEW':
      case '/zk/ls?path=/c/PROPERTYSTORE/SEGMENTS':
        return names;
      case '/zk/ls?path=/c/CONFIGS/RESOURCE':
        return [];
      case '/tables':
        return { tables: this.#tables.map((table) => `t${table}`) };
      case '/zk/getChildren?path=/c/PROPERTYSTORE/SCHEMAS':
        return this.#tables.map((table) =>
          node(`t${table}`, { schemaJSON: '{"dimensionFieldSpecs":[{"name":"id"}],"dateTimeFieldSpecs":[]}' }),
        );
      case '/zk/getChildren?path=/c/PROPERTYSTORE/INSTANCE_PARTITIONS':
        return [];
      case '/zk/getChildren?path=/c/CONFIGS/PARTICIPANT':
        return [...servers, BROKER, CONTROLLER].map((id) => {
          const [type, host, port] = id.split('_');
          const tags = {
            Server: ['DefaultTenant_OFFLINE', 'DefaultTenant_REALTIME'],
            Broker: ['DefaultTenant_BROKER'],
          };
          const TAG_LIST = tags[type as 'Server' | 'Broker'] ?? [];
          const fields = { HELIX_HOST: host, HELIX_PORT: port, adminPort: '8097' };
          return node(id, fields, { listFields: { TAG_LIST } });
        });
      case '/zk/ls?path=/c/LIVEINSTANCES':
        return [...servers, BROKER, CONTROLLER];
      case '/zk/get?path=/c/EXTERNALVIEW/brokerResource':
        return node('brokerResource', {}, { mapFields: ofTables(() => ({ [BROKER]: 'ONLINE' })) });
      default:
        return undefined;
    }
  }
}

function tableConfig(table: number): object {
  return {
    segmentsConfig: '{"replication":"3","retentionTimeUnit":"DAYS","retentionTimeValue":"365"}',
    ...(isRealtime(table) ? { upsertConfig: '{"mode":"FULL","enableSnapshot":true,"enablePreload":true}' } : {}),
  };
}

const isConsuming = (table: number, segment: number): boolean => isRealtime(table) && segment === SEGMENTS - 1;
const segmentName = (table: number, segment: number): string => `t${table}__0__${segment}__20260101T0000Z`;

function tableBody(path: string, table: number): unknown {
  const bySegment = (value: (segment: number) => unknown) =>
    Object.fromEntries(Array.from({ length: SEGMENTS }, (_, segment) => [segmentName(table, segment), value(segment)]));
  const servers = Array.from({ length: SEGMENTS }, (_, segment) => serverOf(table, segment));
  if (path.endsWith('/idealstate') || path.endsWith('/externalview')) {
    const states = bySegment((segment) => ({
      [serverOf(table, isRealtime(table) ? 0 : segment)]: isConsuming(table, segment) ? 'CONSUMING' : 'ONLINE',
    }));
    return isRealtime(table) ? { OFFLINE: null, REALTIME: states } : { OFFLINE: states, REALTIME: null };
  }
  if (path.endsWith('/zkmetadata')) {
    return bySegment((segment) => ({
      'segment.total.docs': '10',
      'segment.size.in.bytes': '30000000',
      'segment.start.time': String(segment * 10),
      'segment.end.time': String(segment * 10 + 9),
      'segment.realtime.startOffset': '0',
      ...(isConsuming(table, segment) ? { 'segment.realtime.status': 'IN_PROGRESS' } : {}),
    }));
  }
  if (path.includes('/size?')) return { estimatedSizeInBytes: 120_000_000 };
  if (path.includes('/state?')) return { state: 'enabled' };
  if (path.includes('/needReload')) {
    return { serverToSegmentsCheckReloadList: Object.fromEntries(servers.map((id) => [id, { needReload: false }])) };
  }
  if (path.includes('/rebalance?')) return { status: 'NO_OP', description: 'Table is already balanced' };
  if (path.includes('/consumingSegmentsInfo')) {
    const info = { serverName: serverOf(table, 0), consumerState: 'CONSUMING', partitionToOffsetMap: { 0: '5' } };
    return { _segmentToConsumingInfoMap: { [segmentName(table, SEGMENTS - 1)]: [info] } };
  }
  if (path.endsWith('/metadata')) {
    return { upsertPartitionToServerPrimaryKeyCountMap: { 0: { [serverOf(table, 0)]: 100 } } };
  }
  return undefined;
}
