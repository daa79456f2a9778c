import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { finished, type Transform } from 'node:stream';
import { withErrorListener } from '../../platform/stream-errors.ts';
import type { TableName } from '../../pinot/table-name.ts';
import type { ResponsePieces, EngineResponse } from '../../pinot/types.ts';
import { throwIfAborted } from '../stores/aborted.ts';
import { BlockChecksumBuilder, CHECKSUM_BLOCK_BYTES, streamRows } from '../rows/checksums.ts';
import { columnsIn } from './empty-responses.ts';
import { QueryError } from '../errors.ts';
import { FrameBuilder, type StoredCoding } from '../rows/frames.ts';
import type { ResultReader, ResultRecord, ResultStore, ResultWriter } from '../result-store.ts';
import { recordedIndex, type RowIndex } from '../rows/row-index.ts';
import { ResponseScanner, type ScannedResponse } from '../scanner/response-scanner.ts';
import type { RawField } from '../scanner/fields.ts';

/** Chunks from the engine are combined to this size, complete blocks, before they are written to the store. */
const WRITE_BYTES = 8 * CHECKSUM_BLOCK_BYTES;

/** Fields of a record that are not in the engine's response. */
export type Submission = Pick<
  ResultRecord,
  | 'requestId'
  | 'brokerId'
  | 'owner'
  | 'tables'
  | 'conditions'
  | 'logicalTables'
  | 'submissionTimeMs'
  | 'expirationTimeMs'
  | 'sql'
>;

export type SubmitOutcome =
  | { readonly kind: 'stored'; readonly reader: ResultReader }
  /** Nothing was stored, because the query failed: the caller gets the engine's response. */
  | UnstoredResponse;

export interface UnstoredResponse {
  readonly kind: 'unstored';
  /** JSON of its `exceptions`, at least one. They follow the rows, of which there may be many. */
  readonly exceptions: string;
  readonly length: number;
  readonly body: AsyncIterable<Uint8Array>;
  /** Releases the source of the body, whether it was read or not. The receiver must call it. Never throws. */
  readonly close: () => Promise<void>;
}

/**
 * Checks the fields and the number of rows of the response before the result becomes visible, or the response is returned; throws to reject it.
 * @returns tables of the result in addition to those of the submission
 */
export type InspectResponse = (fields: readonly RawField[], rowCount: number) => readonly TableName[];

/** Fields of a record that are known when its rows are complete. */
export type RecordAdditions = Partial<Pick<ResultRecord, 'storedTimeMs' | 'expirationTimeMs' | 'warnings'>>;

/** What the caller of a submission takes part in. */
export interface SubmissionHooks {
  readonly inspect?: InspectResponse;
  /** Called while rows arrive, with the number of rows and their bytes so far. */
  readonly onRows?: (rows: number, bytes: number) => void;
  /** Called with the number of rows before the result becomes visible. */
  readonly complete?: (rowCount: number) => RecordAdditions;
}

/**
 * Stores the engine's response while it arrives: scan, index, write. A slow store slows the engine by backpressure. A response with
 * exceptions is not stored but returned.
 * @param signal aborts the query and removes everything stored
 * @throws {QueryError} bad-response, store-full, store-unavailable, aborted
 */
export async function storeResponse(
  response: EngineResponse,
  store: ResultStore,
  submission: Submission,
  signal: AbortSignal,
  hooks: SubmissionHooks = {},
): Promise<SubmitOutcome> {
  const body = decoded(response);
  const writer = await store.begin(submission.requestId, signal).catch((error: unknown) => {
    body.destroy();
    throw error;
  });
  let kept = false;
  try {
    const rows = new Gathered(writer, { onRows: hooks.onRows, compression: store.compression });
    const scanned = await scanInto(rows, body, signal);
    const tables = [...submission.tables, ...(hooks.inspect?.(scanned.fields, scanned.rowCount) ?? [])];
    const index = { ...scanned.index, ...rows.built() };
    await writer.seal(index);
    if (scanned.hasExceptions) {
      kept = true;
      return unstoredResponse(scanned, sealedRows(writer, { rowBytes: scanned.rowBytes, index }, signal), () =>
        writer.discard(),
      );
    }
    const { dataSchema, ...warned } = columnsIn(scanned);
    const reader = await writer.commit(
      recordOf(scanned, dataSchema, {
        submission: { ...submission, tables, ...hooks.complete?.(scanned.rowCount), ...warned },
        index,
      }),
    );
    kept = true;
    return { kind: 'stored', reader };
  } finally {
    body.destroy();
    if (!kept) await writer.discard();
  }
}

/** The rows of a result that is sealed and not committed. */
function sealedRows(
  writer: ResultWriter,
  { rowBytes, index }: { readonly rowBytes: number; readonly index: RowIndex },
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const stream: ResultWriter['read'] = (from, to, abort) => writer.read(from, to, abort);
  const reader = { record: { rowBytes }, stream, read: async () => [] };
  return streamRows({ reader, index }, 0, rowBytes, signal);
}

/**
 * Scans a response while it arrives.
 * @param body destroyed by the caller
 * @throws {QueryError} bad-response, aborted; and whatever the store throws
 */
async function scanInto(rows: Gathered, body: ResponsePieces, signal: AbortSignal): Promise<ScannedResponse> {
  const scanner = new ResponseScanner();
  const abort = (): void => {
    body.destroy();
  };
  signal.addEventListener('abort', abort, { once: true });
  // The caller may have aborted before this listener was added.
  if (signal.aborted) abort();
  try {
    for await (const chunk of body) {
      const piece = scanner.push(chunk);
      if (piece.length === 0) continue;
      await rows.push(piece);
      rows.counted(scanner.rows);
    }
    throwIfAborted(signal);
    await rows.flush();
    return scanner.end();
  } catch (error) {
    throwIfAborted(signal);
    throw error instanceof QueryError ? error : bodyError(error);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

interface GatheredOptions {
  readonly onRows?: SubmissionHooks['onRows'] | undefined;
  /** How the rows are compressed; not at all where absent. */
  readonly compression?: StoredCoding | undefined;
}

/**
 * Combines small pieces in two buffers: one is filled while the other is written. New buffers for each write would
 * accumulate until the next garbage collection.
 */
class Gathered {
  readonly #writer: ResultWriter;
  #filling = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #writing = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #size = 0;
  readonly #checksums = new BlockChecksumBuilder();
  readonly #frames: FrameBuilder | undefined;
  readonly #onRows: SubmissionHooks['onRows'];
  #bytes = 0;

  constructor(writer: ResultWriter, options: GatheredOptions = {}) {
    this.#writer = writer;
    this.#onRows = options.onRows;
    if (options.compression !== undefined) this.#frames = new FrameBuilder(CHECKSUM_BLOCK_BYTES);
  }

  /** Called after `push` with the number of complete rows so far. */
  counted(rows: number): void {
    this.#onRows?.(rows, this.#bytes);
  }

  /** Resolves when more is accepted; the bytes may be overwritten from then on. */
  async push(bytes: Uint8Array): Promise<void> {
    this.#bytes += bytes.length;
    for (let from = 0; from < bytes.length;) {
      const take = Math.min(bytes.length - from, WRITE_BYTES - this.#size);
      this.#filling.set(bytes.subarray(from, from + take), this.#size);
      this.#size += take;
      from += take;
      if (this.#size === WRITE_BYTES) await this.flush();
    }
  }

  async flush(): Promise<void> {
    if (this.#size === 0) return;
    const bytes = this.#filling.subarray(0, this.#size);
    this.#checksums.add(bytes);
    await this.#writer.write((await this.#frames?.add(bytes)) ?? bytes);
    [this.#filling, this.#writing] = [this.#writing, this.#filling];
    this.#size = 0;
  }

  /** Parts of the index; call it after the last `flush`. */
  built(): Pick<RowIndex, 'checksums' | 'frames'> {
    const frames = this.#frames?.build();
    return { checksums: this.#checksums.build(), ...(frames !== undefined && { frames }) };
  }
}

function bodyError(error: unknown): QueryError {
  return new QueryError('bad-response', "the engine's response ended unexpectedly or could not be decoded", {
    cause: error,
  });
}

/**
 * The engine's response to a query that failed, unchanged.
 * @param rows read at most once
 * @param discard releases the rows
 */
export function unstoredResponse(
  response: ScannedResponse,
  rows: AsyncIterable<Uint8Array> | readonly Uint8Array[],
  discard: () => Promise<void>,
): UnstoredResponse {
  const { head, tail, rowBytes, fields } = response;
  const exceptions = fields.findLast(({ name }) => name === 'exceptions')?.value ?? '[]';
  const length = head.length + rowBytes + tail.length;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= discard());
  return { kind: 'unstored', exceptions, length, body: joined(), close };

  async function* joined(): AsyncIterable<Uint8Array> {
    try {
      yield head;
      if (rowBytes > 0) yield* rows;
      yield tail;
    } finally {
      await close();
    }
  }
}

function recordOf(
  response: ScannedResponse,
  dataSchema: string,
  { submission, index }: { readonly submission: Submission & RecordAdditions; readonly index: RowIndex },
): ResultRecord {
  return {
    version: 1,
    ...submission,
    rowCount: response.rowCount,
    rowBytes: response.rowBytes,
    ...recordedIndex(index),
    dataSchema,
    tableFields: response.tableFields,
    fields: response.fields,
  };
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The response body without its content coding. @throws {QueryError} bad-response for a coding that was not requested */
export function decoded(response: EngineResponse): ResponsePieces {
  const coding = String(response.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (coding === 'identity') return response.pieces ?? response.body;
  const decoder = DECODERS[coding]?.();
  if (decoder === undefined) {
    response.body.destroy();
    throw new QueryError(
      'bad-response',
      `unsupported content coding \`${coding}\` in the engine's response; gzip, deflate and br are supported`,
    );
  }
  withErrorListener(decoder);
  // pipe() alone would leave the engine's stream open after an early end of either side.
  finished(response.body, (error) => {
    if (error) decoder.destroy(error);
  });
  finished(decoder, () => response.body.destroy());
  return response.body.pipe(decoder);
}
