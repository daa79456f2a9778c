import type { ServerResponse } from 'node:http';
import { judgeSql } from '../../src/access/sql/judge.ts';
import { FakeEngine, type SeenRequest } from './fake-engine.ts';
import { readRecording } from './replay-engine.ts';

const recorded = (name: string) => readRecording('1.5.1', `cursor/${name}`);

/** The results of one broker, or of several with a shared store, by the engine's id. */
export type Disk = Map<string, KeptResult>;

interface KeptResult {
  readonly requestId: string;
  readonly rows: readonly string[];
  readonly submissionTimeMs: number;
  readonly lifetimeMs: number;
}

/** The query of the recordings, and its ten rows. */
export const CURSOR_SQL = (JSON.parse(recorded('submit').requestBody ?? '{}') as { sql: string }).sql;
export const NO_ROWS_SQL = (JSON.parse(recorded('norows').requestBody ?? '{}') as { sql: string }).sql;
export const FAILING_SQL = (JSON.parse(recorded('fail').requestBody ?? '{}') as { sql: string }).sql;
/** Between the brackets of `rows`. */
export const CURSOR_ROWS: readonly string[] = rowsIn(recorded('page_huge').body);

/** The rows of a recording: none of them contains the separator of two rows. */
function rowsIn(body: string): readonly string[] {
  const from = body.indexOf('"rows":[[') + '"rows":['.length;
  return body
    .slice(from + 1, body.indexOf(']]}', from))
    .split('],[')
    .map((row) => `[${row}]`);
}

/**
 * A broker of Pinot 1.5.1 with cursors, made of recorded responses: pages that were not recorded are its rows in its
 * envelope. A request that was never recorded is an error of the code under test: it is added to `unknown` and gets 501.
 */
export class CursorBroker {
  readonly engine = new FakeEngine();
  readonly unknown: string[] = [];
  /** `METHOD path`, of queries `POST path <sql>`. */
  readonly asked: string[] = [];
  disk: Disk;
  /** The rows of `CURSOR_SQL`. */
  rows: readonly string[] = CURSOR_ROWS;
  lifetimeMs = 3_600_000;
  /** The `Authorization` that the broker accepts; any by default. */
  credential: string | undefined;
  /** Handles the request instead of the broker if it returns true. */
  intercept: (call: string, response: ServerResponse) => boolean = () => false;
  /** Changes the text of an answer to a query or for a page. */
  garble: (text: string) => string = (text) => text;
  readonly #recordedId: bigint;
  #queries = 0n;
  #now = 1_795_218_639_928;

  constructor(disk: Disk = new Map()) {
    this.disk = disk;
    this.#recordedId = BigInt(fieldOf(recorded('submit').body, 'requestId').replaceAll('"', ''));
    this.engine.otherwise = (request, response) => this.#answer(request, response);
  }

  get url(): string {
    return this.engine.url;
  }

  /** Old versions restart their query counter after a restart, with their results kept. */
  restart(): void {
    this.#queries = 0n;
    this.#now += 60_000;
  }

  #answer(request: SeenRequest, response: ServerResponse): void {
    const { method, url, headers, body } = request;
    const sql = url.startsWith('/query/sql') && method === 'POST' ? sqlOf(body) : undefined;
    const call = `${method} ${decodeURIComponent(url)}${sql === undefined ? '' : ` ${sql}`}`;
    this.asked.push(call);
    if (this.intercept(call, response)) return;
    const answer =
      this.credential !== undefined && headers.authorization !== this.credential
        ? recorded('noauth_page')
        : this.#answerOf(method, url, sql);
    if (answer === undefined) this.unknown.push(call);
    response.writeHead(answer?.status ?? 501, { 'content-type': 'application/json' });
    response.end(answer?.body ?? `nothing is recorded for ${call}`);
  }

  #answerOf(method: string, url: string, sql: string | undefined): Answer | undefined {
    const { pathname, searchParams } = new URL(url, 'http://broker');
    if (sql !== undefined) return this.#query(sql, Object.fromEntries(searchParams));
    const [, id, results] = /^\/responseStore\/(\d+)(\/results)?$/u.exec(pathname) ?? [];
    if (id === undefined) return undefined;
    const kept = this.disk.get(id);
    if (kept === undefined) return { status: 404, body: recorded('unknown').body.replace('12345', id) };
    if (results !== undefined && method === 'GET') return this.#page(kept, Object.fromEntries(searchParams));
    if (searchParams.size > 0 || results !== undefined) return undefined;
    if (method === 'GET') return { status: 200, body: envelope('meta', kept, {}) };
    if (method !== 'DELETE') return undefined;
    this.disk.delete(id);
    return { status: 200, body: recorded('del').body.replace(/\d+/u, id) };
  }

  #query(sql: string, parameters: Record<string, string>): Answer | undefined {
    const { getCursor, numRows, ...others } = parameters;
    if (Object.keys(others).length > 0) return undefined;
    if (getCursor === undefined && numRows === undefined && sql === NO_ROWS_SQL) {
      // Without a cursor the response has the columns, with or without rows.
      const { body } = recorded('getCursorFalse');
      return { status: 200, body: replaceRows(body, []).replace(/"numRowsResultSet":\d+/u, '"numRowsResultSet":0') };
    }
    if (getCursor !== 'true' || !/^[1-9]\d{0,8}$/u.test(numRows ?? '')) return undefined;
    if (sql === FAILING_SQL) return recorded('fail');
    if (sql !== CURSOR_SQL && sql !== NO_ROWS_SQL) return undefined;
    const kept = {
      requestId: String(this.#recordedId + this.#queries++),
      rows: sql === NO_ROWS_SQL ? [] : this.rows,
      submissionTimeMs: this.#now,
      lifetimeMs: this.lifetimeMs,
    };
    this.#now += 1000;
    this.disk.set(kept.requestId, kept);
    if (sql === NO_ROWS_SQL) return { status: 200, body: envelope('norows', kept, {}) };
    return { status: 200, body: this.garble(pageText(kept, 0, Number(numRows))) };
  }

  #page(kept: KeptResult, parameters: Record<string, string>): Answer | undefined {
    const { offset = '', numRows = '', ...others } = parameters;
    if (Object.keys(others).length > 0 || !/^\d{1,9}$/u.test(offset) || !/^[1-9]\d{0,9}$/u.test(numRows))
      return undefined;
    if (Number(offset) >= kept.rows.length) {
      const { status } = recorded('page_past');
      return { status, body: `Offset ${offset} should be lesser than totalRecords ${kept.rows.length}` };
    }
    return { status: 200, body: this.garble(pageText(kept, Number(offset), Number(numRows))) };
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

function pageText(kept: KeptResult, offset: number, asked: number): string {
  const rows = kept.rows.slice(offset, offset + asked);
  return replaceRows(envelope('submit', kept, { offset, numRows: rows.length }), rows);
}

/** A recorded response, changed to another result. */
function envelope(name: string, kept: KeptResult, page: { offset?: number; numRows?: number }): string {
  const bytes = kept.rows.reduce((sum, row) => sum + row.length, 0);
  const values: Record<string, string | number | undefined> = {
    requestId: `"${kept.requestId}"`,
    numRowsResultSet: kept.rows.length,
    submissionTimeMs: kept.submissionTimeMs,
    expirationTimeMs: kept.submissionTimeMs + kept.lifetimeMs,
    bytesWritten: kept.rows.length === CURSOR_ROWS.length ? undefined : bytes,
    ...page,
  };
  let { body } = recorded(name);
  for (const [field, value] of Object.entries(values)) {
    if (value !== undefined) body = body.replace(`"${field}":${fieldOf(body, field)}`, `"${field}":${value}`);
  }
  return body;
}

function replaceRows(body: string, rows: readonly string[]): string {
  const from = body.indexOf('"rows":[[') + '"rows":['.length;
  return body.slice(0, from) + rows.join(',') + body.slice(body.indexOf(']]}', from) + 1);
}

/** A number or a text without escapes, behind the rows. */
function fieldOf(body: string, field: string): string {
  const found = new RegExp(`"${field}":("[^"]*"|\\d+)`, 'u').exec(body)?.[1];
  if (found === undefined) throw new Error(`the recording has no ${field}`);
  return found;
}

/** The canonical texts of the recorded queries. */
const ORIGINALS = new Map([CURSOR_SQL, NO_ROWS_SQL, FAILING_SQL].map((sql) => [printed(sql), sql]));

/** @returns the canonical text of a query that the SQL check accepts */
export function printed(sql: string): string {
  const judged = judgeSql(sql);
  if (!judged.ok) throw new Error(judged.reason);
  return judged.text;
}

/** The recorded query of which a body has the canonical text. */
function sqlOf(body: string): string {
  const { sql: text, ...others } = JSON.parse(body) as { sql: string };
  const sql = ORIGINALS.get(text) ?? text;
  // The id of an asynchronous query, which changes nothing but `clientRequestId` of the response.
  if (/^clientQueryId=[0-9a-fn-]+$/u.test((others as { queryOptions?: string }).queryOptions ?? ''))
    Reflect.deleteProperty(others, 'queryOptions');
  if (Object.keys(others).length > 0) return `${sql} with ${JSON.stringify(others)}`;
  return sql;
}

/** Brokers and a controller that lists them. */
export class CursorCluster {
  readonly controller = new FakeEngine();
  readonly brokers: CursorBroker[] = [];

  static async start(count: number, options: { sharedDisk?: boolean } = {}): Promise<CursorCluster> {
    const cluster = new CursorCluster();
    const shared: Disk = new Map();
    await cluster.controller.listen();
    for (let i = 0; i < count; i++) {
      const broker = new CursorBroker(options.sharedDisk === true ? shared : new Map());
      await broker.engine.listen();
      cluster.brokers.push(broker);
    }
    cluster.tell(cluster.brokers);
    return cluster;
  }

  /** The live brokers in the controller's list, which serve the table of the recordings. */
  tell(brokers: readonly CursorBroker[]): void {
    const list = brokers.map(({ engine }) => ({ host: '127.0.0.1', port: engine.port, instanceName: 'Broker' }));
    this.controller.json('GET /tables/livebrokers', { orders_OFFLINE: list });
    this.controller.json('GET /logicalTables', [], 200);
  }

  async close(): Promise<void> {
    await Promise.all([this.controller.close(), ...this.brokers.map(({ engine }) => engine.close())]);
  }
}
