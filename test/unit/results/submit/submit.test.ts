import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { EngineResponse } from '../../../../src/pinot/types.ts';
import type { ResultStore, ResultWriter } from '../../../../src/results/result-store.ts';
import type { ScannedResponse } from '../../../../src/results/scanner/response-scanner.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import {
  decoded,
  type UnstoredResponse,
  unstoredResponse,
  storeResponse,
} from '../../../../src/results/submit/submit.ts';
import { answerText, collect, responseOf, rowTexts, submission } from '../answers.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';

const MB = 1024 * 1024;
const PIECE = 64 * 1024;

/** A store whose writes wait for `release`. */
function blocked(store: ResultStore): { store: ResultStore; release: () => void; writing: () => number } {
  const gate = Promise.withResolvers<void>();
  let writing = 0;
  const slow: Partial<ResultStore> = {
    begin: async (requestId, signal) => {
      const writer = await store.begin(requestId, signal);
      const write: ResultWriter['write'] = async (bytes) => {
        writing++;
        await gate.promise;
        await writer.write(bytes);
      };
      return new Proxy(writer, {
        get: (target, name) => {
          if (name === 'write') return write;
          const value = Reflect.get(target, name) as unknown;
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    },
  };
  return { store: { ...slow } as ResultStore, release: gate.resolve, writing: () => writing };
}

describe('the content coding of a response', () => {
  const text = answerText(rowTexts(3));

  it.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['GZIP', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
    ['identity', Buffer.from(text)],
    [undefined, Buffer.from(text)],
  ])('can be %s', async (coding, bytes) => {
    const headers = coding === undefined ? {} : { 'content-encoding': coding };
    expect(await collect(decoded(responseOf(bytes, { headers, chunkBytes: 7 })))).toBe(text);
  });

  it('is refused where it is another one, and the response is not read', () => {
    const response = responseOf(text, { headers: { 'content-encoding': 'zstd' } });
    expect(() => decoded(response)).toThrow(
      "unsupported content coding `zstd` in the engine's response; gzip, deflate and br are supported",
    );
    expect(response.body.destroyed).toBe(true);
  });
});

it('a submission reports its rows and their bytes while they arrive', async () => {
  const rows = Array.from({ length: 20 }, (_, at) => `[${at + 100},"x"]`);
  const seen: (readonly [rows: number, bytes: number])[] = [];
  const store = new MemoryStore({ maxBytes: MB });
  const response = responseOf(answerText(rows), { chunkBytes: 100 });
  await storeResponse(response, store, submission(), AbortSignal.timeout(WAIT_LIMIT_MS), {
    onRows: (count, bytes) => void seen.push([count, bytes]),
  });
  expect(seen.length).toBeGreaterThan(2);
  expect(seen).toEqual(seen.toSorted(([, a], [, b]) => a - b));
  // Each row has nine bytes, and a comma before the next one. The last one may be incomplete.
  for (const [count, bytes] of seen) expect(Math.abs(bytes / 10 - count)).toBeLessThan(1);
  expect(seen.at(-1)).toEqual([20, 199]);
});

it('a submission stores the rows as they arrive, whatever their size', async () => {
  // More than two writes of half a megabyte.
  const rows = Array.from({ length: 4000 }, (_, at) => `[${at},"${'x'.repeat(at % 700)}"]`);
  for (const chunkBytes of [1000, 64 * 1024, 3 * MB]) {
    const store = new MemoryStore({ maxBytes: 8 * MB });
    const response = responseOf(answerText(rows), { chunkBytes });
    const outcome = await storeResponse(response, store, submission(), AbortSignal.timeout(WAIT_LIMIT_MS));
    if (outcome.kind !== 'stored') throw new Error(outcome.kind);
    const { reader } = outcome;
    const text = rows.join(',');
    expect([reader.record.rowCount, reader.record.rowBytes]).toEqual([4000, text.length]);
    // Without the megabytes of a difference.
    expect(Buffer.concat(await reader.read(0, text.length, AbortSignal.abort())).toString() === text).toBe(true);
  }
});

describe('a response that is returned instead of stored', () => {
  const returned = async (text: string): Promise<UnstoredResponse> => {
    const store = new MemoryStore({ maxBytes: MB });
    const outcome = await storeResponse(responseOf(text), store, submission(), AbortSignal.timeout(WAIT_LIMIT_MS));
    if (outcome.kind !== 'unstored') throw new Error(outcome.kind);
    return outcome;
  };

  it('has its bytes, their number and its exceptions', async () => {
    const exceptions = '[{"errorCode":427,"message":"a server did not respond"}]';
    for (const rows of [[], rowTexts(3)]) {
      const text = answerText(rows, { exceptions });
      const answer = await returned(text);
      expect([answer.exceptions, answer.length]).toEqual([exceptions, Buffer.byteLength(text)]);
      expect(await collect(answer.body)).toBe(text);
    }
  });

  it('may have no table', async () => {
    const text = '{"exceptions":[{"errorCode":190}],"numDocsScanned":3}';
    const answer = await returned(text);
    expect([answer.exceptions, answer.length]).toEqual(['[{"errorCode":190}]', text.length]);
    expect(await collect(answer.body)).toBe(text);
  });

  it('reads its rows only where it has some, and releases them once', async () => {
    const scanned = (rowBytes: number): ScannedResponse =>
      ({ head: Buffer.from('a'), tail: Buffer.from('z'), rowBytes, hasExceptions: false, fields: [] }) as never;
    let discards = 0;
    let reads = 0;
    async function* rows(): AsyncIterable<Uint8Array> {
      reads++;
      yield Buffer.from('m');
    }
    const answerOf = (rowBytes: number): UnstoredResponse =>
      unstoredResponse(scanned(rowBytes), rows(), async () => void discards++);
    expect([await collect(answerOf(0).body), reads, discards]).toEqual(['az', 0, 1]);
    const answer = answerOf(1);
    expect([await collect(answer.body), reads, discards, answer.length]).toEqual(['amz', 1, 2, 3]);
    await answer.close();
    expect(discards).toBe(2);
  });
});

describe('a response whose rows are not valid JSON', () => {
  it.each([
    ['a word', '[abc]'],
    ['a comma without a value', '[2,]'],
    ['a leading zero', '[01]'],
    ['NaN', '[NaN]'],
    ['an incomplete literal', '[tru]'],
    ['a control character', '["\u0001"]'],
    ['an unknown escape', '["\\q"]'],
    ['invalid UTF-8', Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d])],
  ])('is rejected and leaves nothing: %s', async (_name, row) => {
    const rows = Array.from({ length: 20_000 }, (_, i) => `[${i},"text ${i}"]`);
    const [before = '', after = ''] = answerText([...rows, '[]', ...rows.slice(0, 10)]).split('[],[');
    const body = Buffer.concat([Buffer.from(before), Buffer.from(row), Buffer.from(`,[${after}`)]);
    const store = new MemoryStore({ maxBytes: 64 * MB });
    const stored = storeResponse(responseOf(body), store, submission(), AbortSignal.timeout(WAIT_LIMIT_MS));
    await expect(stored).rejects.toMatchObject({ code: 'bad-response' });
    const listed = [];
    for await (const { record } of store.list()) listed.push(record.requestId);
    expect(listed).toEqual([]);
    expect(await store.open(submission().requestId)).toBeUndefined();
  });
});

describe('a submission to a slow store', () => {
  it.each(['identity', 'gzip'])('slows down the engine (content coding %s)', { tags: 'slow' }, async (coding) => {
    // Incompressible rows.
    const noise = (i: number): string =>
      Buffer.from(Array.from({ length: 300 }, (_, k) => (i * 7919 + k * k * 31) % 251)).toString('base64');
    const text = Buffer.from(answerText(Array.from({ length: 40_000 }, (_, i) => `[${i},"${noise(i)}"]`)));
    const bytes = coding === 'gzip' ? gzipSync(text, { level: 0 }) : text;
    let sent = 0;
    const body = Readable.from(
      (function* pieces() {
        for (let at = 0; at < bytes.length; at += PIECE) {
          sent += PIECE;
          yield bytes.subarray(at, at + PIECE);
        }
      })(),
    );
    const response: EngineResponse = { status: 200, headers: { 'content-encoding': coding }, body };
    const { store, release, writing } = blocked(new MemoryStore({ maxBytes: 64 * MB }));
    const outcome = storeResponse(response, store, submission(), AbortSignal.timeout(WAIT_LIMIT_MS));
    await expect.poll(writing).toBe(1);
    for (let i = 0; i < 200; i++) await turn();
    // Half a megabyte being written, and the buffers of the streams.
    expect(sent).toBeLessThan(3 * MB);
    expect(writing()).toBe(1);
    release();
    expect((await outcome).kind).toBe('stored');
    expect(sent).toBeGreaterThan(15 * MB);
  });
});
