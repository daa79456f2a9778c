import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { finished, type Readable, type Transform } from 'node:stream';
import type { EngineResponse } from '../engine/types.ts';
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
  /** Nothing was stored: the answer, as the engine gave it, goes to the caller. Must be read to its end or returned. */
  | { readonly kind: 'engine-answer'; readonly length: number; readonly body: AsyncIterable<Uint8Array> };

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
    const answer = await scanInto(writer, body, signal);
    inspect(answer.fields);
    await writer.seal(answer.index);
    if (answer.hasExceptions || !answer.hasRows || answer.dataSchema === undefined) {
      kept = true;
      const length = answer.head.length + answer.rowBytes + answer.tail.length;
      return { kind: 'engine-answer', length, body: handBack(answer, writer, signal) };
    }
    const reader = await writer.commit(recordOf(answer, answer.dataSchema, submission));
    kept = true;
    return { kind: 'stored', reader };
  } finally {
    body.destroy();
    if (!kept) await writer.discard();
  }
}

async function scanInto(writer: ResultWriter, body: Readable, signal: AbortSignal): Promise<ScannedAnswer> {
  const scanner = new AnswerScanner();
  const gathered = new Gathered(writer);
  const abort = (): void => {
    body.destroy();
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    for await (const chunk of body) {
      const rows = scanner.push(chunk as Uint8Array);
      if (rows.length > 0) await gathered.push(rows);
    }
    throwIfAborted(signal);
    await gathered.flush();
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
class Gathered {
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
  if (signal.aborted) throw new QueryError('aborted', 'the caller went away before the result was stored');
}

function brokenOff(error: unknown): QueryError {
  return new QueryError('bad-answer', "the engine's answer broke off or could not be decoded", { cause: error });
}

/** The answer as it came, with its rows read back; the store forgets them when the last byte is out. */
async function* handBack(answer: ScannedAnswer, writer: ResultWriter, signal: AbortSignal): AsyncIterable<Uint8Array> {
  try {
    yield answer.head;
    if (answer.rowBytes > 0) yield* writer.read(0, answer.rowBytes, signal);
    yield answer.tail;
  } finally {
    await writer.discard();
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
export function decoded(response: EngineResponse): Readable {
  const coding = String(response.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (coding === 'identity') return response.body;
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
