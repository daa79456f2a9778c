import { describe, expect, it } from 'vitest';
import { Readers } from '../../../../src/results/rows/readers.ts';
import type { ResultReader } from '../../../../src/results/result-store.ts';
import { submission } from '../answers.ts';

const MB = 1024 * 1024;

it('pages in memory may use 64 MiB, 4 MiB each, until their readers are closed', async () => {
  const readers = new Readers();
  const reader = readers.tracked({ record: submission(), close: async () => undefined } as unknown as ResultReader);
  expect(readers.room).toBe(4 * MB);
  readers.hold(reader, 60 * MB);
  expect(readers.room).toBe(4 * MB);
  readers.hold(reader, 63 * MB);
  expect(readers.room).toBe(MB);
  readers.hold(reader, 70 * MB);
  expect(readers.room).toBe(0);
  await reader.close();
  expect(readers.room).toBe(4 * MB);
});

describe('the readers of a gateway', () => {
  const inner = (requestId: string, closes: unknown[] = []): ResultReader =>
    ({
      record: submission({ requestId }),
      close: async (reuse?: boolean) => void closes.push([requestId, reuse]),
    }) as unknown as ResultReader;

  it('know that a result is being read until its last reader is closed', async () => {
    const readers = new Readers();
    const [first, second, other] = ['a', 'a', 'b'].map((id) => readers.tracked(inner(id)));
    expect(['a', 'b', 'c'].map((id) => readers.isBeingRead(id))).toEqual([true, true, false]);
    await first!.close();
    // Closed twice, it is counted once.
    await first!.close();
    expect(readers.isBeingRead('a')).toBe(true);
    await second!.close();
    expect(['a', 'b'].map((id) => readers.isBeingRead(id))).toEqual([false, true]);
    await other!.close();
    expect(readers.isBeingRead('b')).toBe(false);
    await readers.tracked(inner('a')).close();
    expect(readers.isBeingRead('a')).toBe(false);
  });

  it('reserve memory only where there is room', () => {
    const readers = new Readers();
    const [large, small] = [readers.tracked(inner('a')), readers.tracked(inner('b'))];
    readers.hold(large, 61 * MB);
    expect(readers.reserve(small, 3 * MB + 1)).toBe(false);
    expect(readers.room).toBe(3 * MB);
    expect(readers.reserve(small, 3 * MB)).toBe(true);
    expect(readers.room).toBe(0);
    readers.hold(large, 60 * MB);
    expect(readers.room).toBe(MB);
  });

  it('hold no memory for readers that they do not track, because nothing would release it', () => {
    const readers = new Readers();
    expect(readers.reserve(inner('a'), 2 * MB)).toBe(true);
    readers.hold(inner('a'), 63 * MB);
    expect(readers.room).toBe(4 * MB);
  });

  it('close the readers of the store with the request to use their connections again', async () => {
    const closes: unknown[] = [];
    await new Readers().tracked(inner('a', closes)).close(true);
    expect(closes).toEqual([['a', true]]);
  });
});
