import { deliver } from '../../pinot/delivery.ts';
import { headerOf } from '../../pinot/headers.ts';
import type { EngineEndpoint, ResponseFlow, ResponseHead, ResponseSink } from '../../pinot/types.ts';
import { type RawField, splitFields } from '../../results/scanner/fields.ts';
import { ResponseScanner, type ScannedResponse } from '../../results/scanner/response-scanner.ts';
import { HttpError } from '../server/errors.ts';

/** Fields that tell nothing of rows that the query did not return. All others are statistics of all rows, such as `totalDocs`, or unknown. */
const KEPT: ReadonlySet<string> = new Set([
  'brokerId',
  'clientRequestId',
  'numGroupsLimitReached',
  'numGroupsWarningLimitReached',
  'numRowsResultSet',
  'numServersQueried',
  'numServersResponded',
  'partialResult',
  'requestId',
  'tablesQueried',
  'timeUsedMs',
]);

/** Kinds of the engine's errors, by code. */
const KINDS: ReadonlyMap<number, string> = new Map([
  [100, 'JsonParsingError'],
  [150, 'SQLParsingError'],
  [155, 'SQLRuntimeError'],
  [180, 'AccessDenied'],
  [190, 'TableDoesNotExistError'],
  [191, 'TableIsDisabledError'],
  [200, 'QueryExecutionError'],
  [205, 'QueryCancellationError'],
  [210, 'ServerShuttingDown'],
  [211, 'ServerOutOfCapacity'],
  [230, 'ServerTableMissing'],
  [235, 'ServerSegmentMissing'],
  [240, 'QuerySchedulingTimeoutError'],
  [245, 'ServerResourceLimitExceededError'],
  [250, 'ExecutionTimeoutError'],
  [305, 'SegmentUnavailable'],
  [400, 'BrokerTimeoutError'],
  [410, 'BrokerResourceMissingError'],
  [420, 'BrokerInstanceMissingError'],
  [425, 'BrokerRequestSendError'],
  [427, 'ServerNotRespondingError'],
  [429, 'TooManyRequestsError'],
  [450, 'InternalError'],
  [500, 'MergeResponseError'],
  [700, 'QueryValidationError'],
  [710, 'UnknownColumnError'],
  [720, 'QueryPlanningError'],
  [1000, 'UnknownError'],
]);

/** Errors that occur before any row is read. */
const BEFORE_ROWS: ReadonlySet<number> = new Set([150, 700, 710, 720]);
const POSITION = /\bline (\d{1,7}), column (\d{1,7})\b/;

const WITHHELD = 'the message of the engine is withheld, because a table of the query may be read in part only';

/**
 * The endpoint for queries whose caller may read a part of a table only.
 * @param columnNames of the result that the engine names otherwise, by position from 0
 */
export function partialEndpoint(endpoint: EngineEndpoint, columnNames: ReadonlyMap<number, string>): EngineEndpoint {
  return {
    url: endpoint.url,
    request: (request) => endpoint.request(request),
    deliver: (request, sink) => deliver(endpoint, request, new PartialResponse(sink, columnNames)),
  };
}

/**
 * Passes on the rows of a response, the fields that tell nothing of other rows, and of errors only kind and position: their messages quote values, also of rows
 * that the filter removes.
 */
export class PartialResponse implements ResponseSink {
  readonly #sink: ResponseSink;
  readonly #columnNames: ReadonlyMap<number, string>;
  readonly #scanner = new ResponseScanner();
  #flow: ResponseFlow | undefined;
  #status = 0;
  #hasBegun = false;
  /** Whether the head was written with the description of the columns. */
  #hasSchema = false;
  #hasFailed = false;
  /** Of an error that is not JSON. */
  #isText = false;

  constructor(sink: ResponseSink, columnNames: ReadonlyMap<number, string>) {
    this.#sink = sink;
    this.#columnNames = columnNames;
  }

  onAsked(flow: ResponseFlow): void {
    this.#flow = flow;
    this.#sink.onAsked(flow);
  }

  onHeaders(head: ResponseHead): void {
    this.#status = head.status;
    this.#sink.onHeaders({ status: head.status, rawHeaders: shownHeaders(head.rawHeaders) });
    const coding = headerOf(head.rawHeaders, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
    if (coding !== 'identity') this.#fail('it is compressed, although that was not requested');
  }

  onData(chunk: Buffer): boolean {
    if (this.#hasFailed || this.#isText) return true;
    let rows: Uint8Array;
    try {
      rows = this.#scanner.push(chunk);
    } catch {
      this.#onInvalid();
      return true;
    }
    if (rows.length === 0) return true;
    const begins = this.#begin();
    return this.#sink.onData(begins.length === 0 ? Buffer.from(rows) : Buffer.concat([begins, rows]));
  }

  onEnd(): void {
    if (this.#hasFailed) return;
    if (this.#isText) return this.#finish(errorOf(this.#status));
    try {
      this.#finish(this.#tail(this.#scanner.end()));
    } catch {
      this.#onInvalid();
      if (this.#isText) this.#finish(errorOf(this.#status));
    }
  }

  onBroken(error: Error): void {
    this.#hasFailed = true;
    this.#sink.onBroken(error);
  }

  #finish(last: string): void {
    this.#sink.onData(Buffer.from(last));
    this.#sink.onEnd();
  }

  /** An error may be a text, which is replaced as a whole. */
  #onInvalid(): void {
    if (this.#status >= 400 && !this.#hasBegun) this.#isText = true;
    else this.#fail('it is not a JSON object');
  }

  #fail(why: string): void {
    if (this.#hasFailed) return;
    const error = new HttpError(502, `the response of the engine cannot be limited to a part of its tables: ${why}`);
    this.onBroken(error);
    this.#flow?.abort(error);
  }

  /** The text before the first rows; empty later. */
  #begin(): Buffer {
    if (this.#hasBegun) return Buffer.alloc(0);
    this.#hasBegun = true;
    const schema = schemaIn(this.#scanner.head);
    this.#hasSchema = schema !== undefined;
    return Buffer.from(
      `{"resultTable":{${schema === undefined ? '' : `"dataSchema":${named(schema, this.#columnNames)},`}"rows":[`,
    );
  }

  #tail({ hasTable, hasRows, dataSchema, fields }: ScannedResponse): string {
    const shown = fields.map(shownField).filter((field) => field !== undefined);
    const rest = shown.map(({ name, value }) => `${JSON.stringify(name)}:${value}`).join(',');
    const schema = dataSchema === undefined ? '' : `"dataSchema":${named(dataSchema, this.#columnNames)}`;
    if (this.#hasBegun) return `]${schema === '' || this.#hasSchema ? '' : `,${schema}`}}${rest && `,${rest}`}}`;
    const table = [schema, hasRows ? '"rows":[]' : ''].filter((text) => text !== '').join(',');
    const all = [hasTable ? `"resultTable":{${table}}` : '', rest].filter((text) => text !== '');
    return `{${all.join(',')}}`;
  }
}

/** @param head of a response, up to the bracket before its first row */
function schemaIn(head: Uint8Array): string | undefined {
  const table = splitFields(Buffer.concat([head, Buffer.from(']}}')])).find(({ name }) => name === 'resultTable');
  if (table === undefined) return undefined;
  const schema = splitFields(Buffer.from(table.value)).find(({ name }) => name === 'dataSchema')?.value;
  return schema?.startsWith('{') === true ? schema : undefined;
}

/** @param schema JSON of `dataSchema` */
function named(schema: string, names: ReadonlyMap<number, string>): string {
  if (names.size === 0) return schema;
  const read = JSON.parse(schema) as { readonly columnNames?: unknown };
  if (!Array.isArray(read.columnNames)) return schema;
  const columnNames = (read.columnNames as unknown[]).map((name, index) => names.get(index) ?? name);
  return JSON.stringify({ ...read, columnNames });
}

function shownField(field: RawField): RawField | undefined {
  if (field.name === 'exceptions') return { name: field.name, value: shownExceptions(field.value) };
  return KEPT.has(field.name) ? field : undefined;
}

function shownExceptions(json: string): string {
  const all = JSON.parse(json) as unknown;
  return JSON.stringify((Array.isArray(all) ? (all as unknown[]) : []).map(shownException));
}

function shownException(exception: unknown): object {
  const { errorCode, message } = (exception ?? {}) as { readonly errorCode?: unknown; readonly message?: unknown };
  const code = Number.isSafeInteger(errorCode) ? (errorCode as number) : 0;
  const [, line, column] = (BEFORE_ROWS.has(code) && typeof message === 'string' && POSITION.exec(message)) || [];
  const place = line === undefined ? '' : ` at line ${line}, column ${column} of the text with its conditions`;
  return { errorCode: code, message: `${KINDS.get(code) ?? 'Error'}${place}: ${WITHHELD}` };
}

function errorOf(status: number): string {
  return JSON.stringify({ code: status, error: `${status}: ${WITHHELD}` });
}

/** What follows from another body, and what the engine may say about its error. */
const DROPPED: ReadonlySet<string> = new Set(['content-length', 'content-type', 'content-encoding', 'etag']);

function shownHeaders(rawHeaders: readonly string[]): string[] {
  const kept: string[] = ['content-type', 'application/json'];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    if (!DROPPED.has(name) && !name.startsWith('x-pinot')) kept.push(name, rawHeaders[index + 1] as string);
  }
  return kept;
}
