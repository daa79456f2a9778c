import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { finished, type Transform } from 'node:stream';
import type { AnswerPieces, EngineResponse } from '../engine/types.ts';
import { QueryError } from './errors.ts';
import type { ResultReader, ResultRecord, ResultStore, ResultWriter } from './result-store.ts';
import { AnswerScanner, type ScannedAnswer } from './scanner/answer-scanner.ts';
import type { RawField } from './scanner/fields.ts';

/** Chunks of the engine are gathered to pieces of this size before they go to the store. */
const WRITE_BYTES = 512 * 1024;

/** What the record of a result says that the answer itself does not. */
export type Submission = Pick<
  ResultRecord,
  'requestId' | 'brokerId' | 'owner' | 'tables' | 'submissionTimeMs' | 'expirationTimeMs'
>;

export type SubmitOutcome =
  | { readonly kind: 'stored'; readonly reader: ResultReader }
  /** Nothing was stored: the answer, as the engine gave it, goes to the caller. */
  | EngineAnswer;

export interface EngineAnswer {
  readonly kind: 'engine-answer';
  readonly length: number;
  readonly body: AsyncIterable<Uint8Array>;
  /** Frees what the body is read from, whether it was read or not. Whoever gets the answer calls it. Never throws. */
  readonly close: () => Promise<void>;
}

/** Looks at the engine's fields beside the rows before anybody sees the result; throws where nobody may. */
export type InspectAnswer = (fields: readonly RawField[]) => void;

/**
 * Stores the engine's answer while it streams in: scan, index, write; a slow store slows the engine. An answer with exceptions, or without
 * rows to speak of, is not stored but handed back.
 * @param signal aborts the engine's query and leaves nothing behind
 * @throws {QueryError} bad-answer, store-full, store-unavailable, aborted
 */
export async function storeAnswer(
  response: EngineResponse,
  store: ResultStore,
  submission: Submission,
  signal: AbortSignal,
  inspect: InspectAnswer = () => undefined,
): Promise<SubmitOutcome> {
  const body = decoded(response);
  const writer = await store.begin(submission.requestId, signal).catch((error: unknown) => {
    body.destroy();
    throw error;
  });
  let kept = false;
  try {
    const answer = await scanInto(new Gathered(writer), body, signal);
    inspect(answer.fields);
    await writer.seal(answer.index);
    if (answer.hasExceptions || !answer.hasRows || answer.dataSchema === undefined) {
      kept = true;
      return engineAnswer(answer, writer.read(0, answer.rowBytes, signal), () => writer.discard());
    }
    const reader = await writer.commit(recordOf(answer, answer.dataSchema, submission));
    kept = true;
    return { kind: 'stored', reader };
  } finally {
    body.destroy();
    if (!kept) await writer.discard();
  }
}

/** Takes the rows of an answer, piece by piece. */
export interface RowsSink {
  /** Resolves when more may come; the piece may be written over from then on. */
  push(rows: Uint8Array): Promise<void>;
  /** There are no more. */
  flush(): Promise<void>;
}

/**
 * Scans an answer while it streams in.
 * @param body whoever handed it in destroys it
 * @throws {QueryError} bad-answer, aborted; and whatever the sink throws
 */
export async function scanInto(rows: RowsSink, body: AnswerPieces, signal: AbortSignal): Promise<ScannedAnswer> {
  const scanner = new AnswerScanner();
  const abort = (): void => {
    body.destroy();
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    for await (const chunk of body) {
      const piece = scanner.push(chunk);
      if (piece.length > 0) await rows.push(piece);
    }
    throwIfAborted(signal);
    await rows.flush();
    return scanner.end();
  } catch (error) {
    throwIfAborted(signal);
    throw error instanceof QueryError ? error : brokenOff(error);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Gathers small pieces in two buffers, of which one is filled while the other is being written. New ones for each write would be as much memory as the
 * garbage collector lets lie.
 */
export class Gathered implements RowsSink {
  readonly #writer: ResultWriter;
  #filling = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #writing = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #size = 0;

  constructor(writer: ResultWriter) {
    this.#writer = writer;
  }

  async push(bytes: Uint8Array): Promise<void> {
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
    await this.#writer.write(this.#filling.subarray(0, this.#size));
    [this.#filling, this.#writing] = [this.#writing, this.#filling];
    this.#size = 0;
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new QueryError('aborted', 'the caller went away before the answer was there');
}

function brokenOff(error: unknown): QueryError {
  return new QueryError('bad-answer', "the engine's answer broke off or could not be decoded", { cause: error });
}

/**
 * The answer as it came.
 * @param rows as they were put aside; read at the most once
 * @param discard frees them
 */
export function engineAnswer(
  answer: ScannedAnswer,
  rows: AsyncIterable<Uint8Array> | readonly Uint8Array[],
  discard: () => Promise<void>,
): EngineAnswer {
  const { head, tail, rowBytes } = answer;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= discard());
  return { kind: 'engine-answer', length: head.length + rowBytes + tail.length, body: joined(), close };

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

function recordOf(answer: ScannedAnswer, dataSchema: string, submission: Submission): ResultRecord {
  return {
    version: 1,
    ...submission,
    rowCount: answer.rowCount,
    rowBytes: answer.rowBytes,
    stride: answer.index.stride,
    checkpoints: answer.index.checkpoints.length,
    dataSchema,
    tableFields: answer.tableFields,
    fields: answer.fields,
  };
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The answer's body without its content coding. @throws {QueryError} bad-answer for a coding that nobody asked for */
export function decoded(response: EngineResponse): AnswerPieces {
  const coding = String(response.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (coding === 'identity') return response.pieces ?? response.body;
  const decoder = DECODERS[coding]?.();
  if (decoder === undefined) {
    response.body.destroy();
    throw new QueryError(
      'bad-answer',
      `the engine's answer has the content coding \`${coding}\`; gzip, deflate and br are known`,
    );
  }
  // Whichever side ends first ends the other: pipe() alone would leave the engine's stream open.
  finished(response.body, (error) => {
    if (error) decoder.destroy(error);
  });
  finished(decoder, () => response.body.destroy());
  return response.body.pipe(decoder);
}
