import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { EngineResponse } from '../../../src/pinot/types.ts';
import type { ResultStore, ResultWriter } from '../../../src/results/result-store.ts';
import { MemoryStore } from '../../../src/results/stores/memory/memory-store.ts';
import { storeAnswer } from '../../../src/results/submit.ts';
import { answerText, responseOf, submission } from './answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

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

describe('a submission to a slow store', () => {
  it.each(['identity', 'gzip'])('slows down the engine (content coding %s)', async (coding) => {
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
    const outcome = storeAnswer(response, store, submission(), AbortSignal.timeout(WAIT_LIMIT_MS));
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
    const stored = storeAnswer(responseOf(body), store, submission(), AbortSignal.timeout(WAIT_LIMIT_MS));
    await expect(stored).rejects.toMatchObject({ code: 'bad-answer' });
    const listed = [];
    for await (const { record } of store.list()) listed.push(record.requestId);
    expect(listed).toEqual([]);
    expect(await store.open(submission().requestId)).toBeUndefined();
  });
});
