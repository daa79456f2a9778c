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
  let gathered: Uint8Array[] = [];
  let size = 0;
  const flush = async (): Promise<void> => {
    if (size === 0) return;
    const bytes = gathered.length === 1 ? (gathered[0] as Uint8Array) : Buffer.concat(gathered, size);
    gathered = [];
    size = 0;
    await writer.write(bytes);
  };
  const abort = (): void => {
    body.destroy();
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    for await (const chunk of body) {
      const rows = scanner.push(chunk as Uint8Array);
      if (rows.length === 0) continue;
      gathered.push(rows);
      size += rows.length;
      if (size >= WRITE_BYTES) await flush();
    }
    throwIfAborted(signal);
    await flush();
    return scanner.end();
  } catch (error) {
    throwIfAborted(signal);
    throw error instanceof QueryError ? error : brokenOff(error);
  } finally {
    signal.removeEventListener('abort', abort);
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
