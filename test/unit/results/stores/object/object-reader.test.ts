import { beforeEach, describe, expect, it } from 'vitest';
import { QueryError } from '../../../../../src/results/errors.ts';
import type { ResultReader } from '../../../../../src/results/result-store.ts';
import { ObjectResultStore } from '../../../../../src/results/stores/object/object-store.ts';
import { storeResponse } from '../../../../../src/results/submit/submit.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { answerText, responseOf, rowTexts, submission } from '../../answers.ts';
import { MemoryBucket } from './memory-bucket.ts';

const ROWS = rowTexts(2000).join(',');
const PIECE_BYTES = 1000;

/** A bucket that closes the connection of a range after some pieces. */
class ClosingBucket extends MemoryBucket {
  /** Pieces before the connection is closed; one entry for each range, none for a complete one. */
  closes: number[] = [];
  readonly ranges: [from: number, to: number][] = [];
  onClose: () => void = () => undefined;
  error: Error = new QueryError('store-unavailable', 'the connection was closed');

  override async range(key: string, from: number, to: number): Promise<AsyncIterable<Uint8Array> | undefined> {
    this.ranges.push([from, to]);
    const all = this.objects.get(key)?.bytes;
    return all && this.#pieces(all.subarray(from, to));
  }

  async *#pieces(bytes: Buffer): AsyncIterable<Uint8Array> {
    let left = this.closes.shift() ?? Number.POSITIVE_INFINITY;
    for (let at = 0; ; at += PIECE_BYTES) {
      if (left-- === 0) {
        this.onClose();
        throw this.error;
      }
      if (at >= bytes.length) return;
      yield bytes.subarray(at, at + PIECE_BYTES);
    }
  }
}

describe('the rows of an object whose connection is closed while they are read', () => {
  let bucket: ClosingBucket;
  let clock: FakeClock;
  let reader: ResultReader;
  const controller = new AbortController();

  beforeEach(async () => {
    bucket = new ClosingBucket();
    clock = new FakeClock();
    const context = { gatewayId: 'gateway-0', clock, onProblem: () => undefined };
    const answer = responseOf(answerText(rowTexts(2000)));
    const outcome = await storeResponse(
      answer,
      new ObjectResultStore(bucket, context),
      submission(),
      controller.signal,
    );
    if (outcome.kind !== 'stored') throw new Error('not stored');
    ({ reader } = outcome);
    bucket.ranges.length = 0;
  });

  /** @param pauses milliseconds that the reader waits after each piece; then 0 */
  async function read(pauses: readonly number[], signal = controller.signal): Promise<string> {
    const pieces: Uint8Array[] = [];
    for await (const piece of reader.stream(0, reader.record.rowBytes, signal)) {
      const pause = pauses[pieces.length] ?? 0;
      pieces.push(piece);
      if (pause > 0) await clock.advance(pause);
    }
    return Buffer.concat(pieces).toString();
  }

  it('are read on from the same byte if the reader waited before, also repeatedly', async () => {
    bucket.closes = [3, 1];
    expect(await read([0, 1000, 0, 60_000])).toBe(ROWS);
    const end = reader.record.rowBytes;
    expect(bucket.ranges).toEqual([
      [0, end],
      [3 * PIECE_BYTES, end],
      [4 * PIECE_BYTES, end],
    ]);
  });

  it('are complete if only the end of the response is missing', async () => {
    const pieces = Math.ceil(reader.record.rowBytes / PIECE_BYTES);
    bucket.closes = [pieces];
    expect(await read(Array.from({ length: pieces }, (_, i) => (i === pieces - 1 ? 1000 : 0)))).toBe(ROWS);
    expect(bucket.ranges).toHaveLength(1);
  });

  it('fail if the reader did not wait, so that a bucket that always fails is not asked forever', async () => {
    bucket.closes = [3];
    await expect(read([999, 999, 999])).rejects.toThrow('the connection was closed');
    bucket.closes = [3, 2];
    await expect(read([0, 0, 1000])).rejects.toThrow('the connection was closed');
    expect(bucket.ranges).toHaveLength(3);
  });

  it('fail if they are deleted meanwhile', async () => {
    bucket.closes = [1];
    bucket.onClose = () => bucket.objects.clear();
    await expect(read([1000])).rejects.toMatchObject({ code: 'not-found' });
  });

  it.each([new QueryError('damaged', 'x'), new TypeError('x')])('fail for another reason: %s', async (error) => {
    bucket.closes = [1];
    bucket.error = error;
    await expect(read([1000])).rejects.toBe(error);
    expect(bucket.ranges).toHaveLength(1);
  });

  it('are not asked for again by a caller that has left', async () => {
    bucket.closes = [1];
    const left = new AbortController();
    bucket.onClose = () => left.abort();
    await expect(read([1000], left.signal)).rejects.toMatchObject({ code: 'aborted' });
    expect(bucket.ranges).toHaveLength(1);
  });
});

it('reads of one owner leave half of the connections to others', async () => {
  const bucket = new ClosingBucket();
  const clock = new FakeClock();
  const store = new ObjectResultStore(bucket, {
    gatewayId: 'gateway-0',
    clock,
    onProblem: () => undefined,
  });
  const { signal } = new AbortController();
  const stored = async (owner: string): Promise<ResultReader> => {
    const answer = responseOf(answerText(rowTexts(2000)));
    const outcome = await storeResponse(answer, store, submission({ owner }), signal);
    if (outcome.kind !== 'stored') throw new Error('not stored');
    return outcome.reader;
  };
  const [ofAnn, ofBob] = [await stored('ann'), await stored('bob')];
  /** Begins to read, as a client that then reads no further. */
  const begin = (reader: ResultReader) => {
    const pieces = reader.stream(0, reader.record.rowBytes, signal)[Symbol.asyncIterator]();
    return { pieces, first: pieces.next() };
  };
  const reads = Array.from({ length: 40 }, () => begin(ofAnn));
  await settle();
  expect(bucket.ranges).toHaveLength(16);
  const other = begin(ofBob);
  expect((await other.first).done).toBe(false);
  expect(bucket.ranges).toHaveLength(17);
  const refused = Promise.allSettled(reads.slice(32).map(({ first }) => first));
  for (const { pieces } of [...reads.slice(0, 16), other]) await pieces.return?.();
  await settle();
  expect(bucket.ranges).toHaveLength(17 + 16);
  await clock.advance(12_000);
  for (const result of await refused) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'busy' } });
});
