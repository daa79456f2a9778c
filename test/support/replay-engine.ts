import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  EngineError,
  type Engine,
  type EngineEndpoint,
  type EngineRequest,
  type EngineResponse,
} from '../../src/pinot/types.ts';
import { nodeStats } from './node-tree.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures');

export interface Recorded {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Recording extends Recorded {
  readonly method: string;
  readonly port: string;
  readonly path: string;
  readonly requestBody: string | undefined;
  /** With lower-case names. */
  readonly requestHeaders: Readonly<Record<string, string>>;
}

/** One recorded request and its answer. */
export function readRecording(version: string, name: string): Recording {
  const lines = readFileSync(join(FIXTURES, `pinot-${version}`, `${name}.txt`), 'utf8').split('\n');
  const bodyAt = lines.findIndex((line) => !line.startsWith('# '));
  const comments = lines.slice(0, bodyAt);
  const comment = (start: string) => comments.find((line) => line.startsWith(`# ${start}`))?.slice(start.length + 2);
  const [, method = '', url = ''] = /^# (\S+) (\S+)/u.exec(comments[0] ?? '') ?? [];
  const body = lines.slice(bodyAt).join('\n');
  const requestBody = comment('body: ');
  const [, status = '', headers = '{}'] = /^(\d+).*?headers (\{.*\})/u.exec(comment('status ') ?? '') ?? [];
  const { port, pathname, search } = new URL(url);
  const asked = JSON.parse(comment('request headers: ') ?? '{}') as Record<string, string>;
  return {
    method,
    port,
    path: decodeURIComponent(pathname + search),
    requestBody: requestBody === 'None' || requestBody === 'null' ? undefined : requestBody,
    requestHeaders: lowerCased(asked),
    status: Number(status),
    headers: lowerCased(JSON.parse(headers) as Record<string, string>),
    body,
  };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]));
}

/** As `/zk/lsl` lists nodes; see `ReplayEngine.tables`. */
export function tableStats(names: readonly string[], czxid: number): object {
  return Object.fromEntries(names.map((name) => [name, { czxid, mzxid: czxid, version: 0 }]));
}

type Answer = Recorded | ((request: EngineRequest) => Recorded);

/**
 * A stand-in for the engine that responds as recorded from a real one. A request that was never recorded, and that no test defined, is
 * an error of the code under test: it is added to `unknown` and gets 501.
 */
export class ReplayEngine implements Engine {
  /** Every request, `METHOD role path`. */
  readonly requests: string[] = [];
  readonly unknown: string[] = [];
  readonly #answers = new Map<string, Answer>();
  readonly #down = new Set<string>();
  readonly controller: EngineEndpoint;

  constructor(version: '0.11.0' | '1.5.1') {
    this.controller = this.#at('http://127.0.0.1:19000', 'controller');
    for (const file of readdirSync(join(FIXTURES, `pinot-${version}`))) {
      if (file.endsWith('.txt')) this.record(version, file.slice(0, -4));
    }
    this.#derive(version);
  }

  /** Answers as a recording does, from now on. */
  record(version: string, name: string): this {
    const recording = readRecording(version, name);
    const role = roleOf(recording.port);
    const sql =
      recording.requestBody === undefined || !recording.path.startsWith('/query/sql')
        ? ''
        : ` ${recording.requestBody}`;
    return this.on(recording.method, role, recording.path + normalised(sql), recording);
  }

  /** Defines the response to one request. `path` is decoded; for queries `/query/sql {"sql":"…"}`. */
  on(method: string, role: string, path: string, answer: Answer): this {
    this.#answers.set(`${method} ${role} ${path}`, answer);
    return this;
  }

  json(path: string, body: unknown, status = 200): this {
    return this.on('GET', 'controller', path, { status, body: JSON.stringify(body) });
  }

  /** The tables that there are, from now on. @param czxid of the transaction that made each of them */
  tables(names: readonly string[], czxid = 7): this {
    return this.json('/zk/lsl?path=/hc/PROPERTYSTORE/CONFIGS/TABLE', tableStats(names, czxid));
  }

  /** The recorded body of a GET to the controller, as a value to be changed. */
  body(path: string): unknown {
    const answer = this.#answers.get(`GET controller ${path}`);
    if (answer === undefined || typeof answer === 'function') throw new Error(`nothing is recorded for ${path}`);
    return JSON.parse(answer.body) as unknown;
  }

  /** Every call to the host and port, or to the controller, fails from now on. */
  stop(hostAndPort: string): this {
    this.#down.add(hostAndPort);
    return this;
  }

  start(hostAndPort: string): this {
    this.#down.delete(hostAndPort);
    return this;
  }

  async brokerFor(): Promise<EngineEndpoint> {
    return this.endpoint('http://127.0.0.1:18100');
  }

  endpoint(url: string): EngineEndpoint {
    return this.#at(url, roleOf(new URL(url).port));
  }

  async close(): Promise<void> {
    this.#answers.clear();
  }

  #at(url: string, role: string): EngineEndpoint {
    return { url, request: (request) => this.#answer(url, role, request) };
  }

  /** The controller has the file of each segment, unless a test defined another response. */
  #file(path: string): Recorded | undefined {
    const isFile = /^\/segments\/[^/]+\/[^/]+$/u.test(path);
    return isFile ? { status: 200, headers: { 'pinot-controller-version': 'recorded' }, body: '' } : undefined;
  }

  async #answer(url: string, role: string, request: EngineRequest): Promise<EngineResponse> {
    if (request.signal?.aborted) throw new EngineError('aborted', 'the caller gave up');
    const path = decodeURIComponent(request.path);
    this.requests.push(`${request.method} ${role} ${path}`);
    const { host } = new URL(url);
    if (this.#down.has(host)) throw new EngineError('unreachable', `connect ECONNREFUSED ${host}`);
    const body = typeof request.body === 'string' ? ` ${normalised(request.body)}` : '';
    const key = `${request.method} ${role} ${path}${body}`;
    const named = this.#answers.get(key) ?? this.#answers.get(`${request.method} ${role} ${path}`);
    const found = named ?? (request.method === 'HEAD' ? this.#file(path) : undefined);
    if (found === undefined) {
      this.unknown.push(key);
      return response({ status: 501, body: `{"error":"nothing is recorded for ${key.replaceAll('"', "'")}"}` });
    }
    return response(typeof found === 'function' ? found(request) : found);
  }

  /** What the recordings have under another request, or in another shape. */
  #derive(version: string): void {
    const nodes = this.body('/zk/getChildren?path=/hc/PROPERTYSTORE/CONFIGS/TABLE') as { id: string }[];
    const tables = nodes.map(({ id }) => id);
    this.tables(tables);
    this.json('/zk/ls?path=/hc/PROPERTYSTORE', ['CONFIGS', 'SCHEMAS', 'SEGMENTS']);
    this.json('/zk/ls?path=/hc/CONFIGS', ['CLUSTER', 'PARTICIPANT']);
    // The recorded cluster had no such node: `ls` of its parent does not have it.
    this.json(
      '/zk/getChildren?path=/hc/PROPERTYSTORE/INSTANCE_PARTITIONS',
      { code: 404, error: 'ZKPath does not exist' },
      404,
    );
    for (const place of ['IDEALSTATES', 'EXTERNALVIEW', 'PROPERTYSTORE/SEGMENTS']) {
      this.json(`/zk/ls?path=/hc/${place}`, place.startsWith('PROP') ? tables : [...tables, 'brokerResource']);
    }
    for (const place of ['IDEALSTATES', 'EXTERNALVIEW']) {
      this.json(`/zk/lsl?path=/hc/${place}`, nodeStats([...tables, 'brokerResource']));
    }
    this.json('/tables', { tables: [...new Set(tables.map((table) => table.replace(/_(?:OFFLINE|REALTIME)$/u, '')))] });
    // The recorded clusters had no task queue.
    this.json('/zk/ls?path=/hc/CONFIGS/RESOURCE', tables);
    for (const table of tables) {
      const [raw = '', type = ''] = table.split(/_(?=OFFLINE|REALTIME)/u);
      this.#deriveSegments(table, version, raw);
      const dryRun = readRecording(version, `rebal_${raw}`);
      const consuming = type === 'REALTIME' ? '&includeConsuming=true' : '';
      const summary = version.startsWith('0.') ? '' : '&summary=true';
      this.on('POST', 'controller', `/tables/${raw}/rebalance?type=${type}&dryRun=true${consuming}${summary}`, dryRun);
      this.on(
        'POST',
        'broker',
        `/query/sql {"sql":"SELECT $docId FROM ${raw} LIMIT 1"}`,
        readRecording(version, 'sql_docid'),
      );
    }
  }

  /** Nodes of segments, from the same metadata in the shape of another endpoint. */
  #deriveSegments(table: string, version: string, raw: string): void {
    const path = `/zk/getChildren?path=/hc/PROPERTYSTORE/SEGMENTS/${table}`;
    if (this.#answers.has(`GET controller ${path}`)) return;
    const told = readRecording(version, `segzkmeta_${raw}`);
    const fields =
      told.status === 200 ? (JSON.parse(told.body) as Record<string, object>) : segmentFields(version, raw);
    const nodes = Object.entries(fields).map(([id, simpleFields]) => ({
      id,
      simpleFields,
      mapFields: {},
      listFields: {},
    }));
    this.json(path, nodes);
  }
}

function segmentFields(version: string, raw: string): Record<string, object> {
  const segments = JSON.parse(readRecording(version, `segmeta_${raw}`).body) as Record<string, Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(segments).map(([name, segment]) => [
      name,
      {
        'segment.start.time': String(segment.startTimeMillis),
        'segment.end.time': String(segment.endTimeMillis),
        'segment.time.unit': 'MILLISECONDS',
        'segment.total.docs': String(segment.totalDocs),
      },
    ]),
  );
}

function roleOf(port: string): string {
  if (port === '19000') return 'controller';
  return port.startsWith('181') ? 'broker' : 'server';
}

/** Names may be quoted, and JSON may have a space after its colon. */
function normalised(body: string): string {
  return body.replace('{"sql": "', '{"sql":"').replaceAll('\\"', '');
}

function response({ status, headers, body }: Recorded): EngineResponse {
  return { status, headers: headers ?? {}, body: Readable.from([Buffer.from(body)]) };
}
