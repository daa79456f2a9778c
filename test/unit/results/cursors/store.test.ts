import { beforeEach, describe, expect, it } from 'vitest';
import { settle } from '../../../support/fake-clock.ts';
import type { CursorBrokers, CursorRecord } from '../../../../src/results/cursors/brokers.ts';
import { cursorStore } from '../../../../src/results/cursors/store.ts';
import { damaged, QueryError } from '../../../../src/results/errors.ts';
import { newCursorId, newRequestId } from '../../../../src/results/request-id.ts';
import type { ResultRecord, ResultStore } from '../../../../src/results/result-store.ts';
import { CURSOR, cursorRecord } from './cursor-answers.ts';

const signal = new AbortController().signal;
const bytes = (count: number): Uint8Array => new Uint8Array(count).fill(7);
const CURSOR_ID = newCursorId('gateway-0', bytes);
const OTHER_ID = newRequestId('gateway-0', bytes);

let calls: string[];
let problems: string[];
let now: number;
let failure: Error | undefined;
let found: ResultRecord | Error | undefined;
beforeEach(() => {
  [calls, problems, now, failure] = [[], [], 0, undefined];
  found = cursorRecord({ requestId: CURSOR_ID, expirationTimeMs: 1000 });
});

function storeOf(more: Partial<ResultStore> = {}, native = false): ResultStore {
  const brokers = {
    delete: async ({ requestId }: CursorRecord) => {
      calls.push(`engine ${requestId}`);
      if (failure !== undefined) throw failure;
    },
  } as unknown as CursorBrokers;
  const store = {
    local: true,
    notes: 'notes',
    open: async (requestId: string) => {
      calls.push(`open ${requestId}`);
      if (found instanceof Error) throw found;
      return found && { record: found, close: async () => void calls.push('close') };
    },
    delete: async (requestId: string) => {
      calls.push(`delete ${requestId}`);
      return true;
    },
    async *list() {
      const files = { bytes: 5, dataFile: 'data', metadataFile: 'metadata' };
      yield { record: cursorRecord({ requestId: CURSOR_ID }), ...files };
      const { cursor: _, ...record } = cursorRecord({ requestId: OTHER_ID });
      yield { record, ...files };
    },
    ...more,
  } as unknown as ResultStore;
  return cursorStore({
    store,
    brokers,
    native,
    clock: { now: () => now },
    onProblem: (message) => problems.push(message),
  });
}

describe('a store with results that the engine keeps', () => {
  it('has what its store has; its capacity does not limit results of the engine', async () => {
    for (const name of ['capacityBytes', 'compression', 'link', 'tidy']) expect(storeOf()).not.toHaveProperty(name);
    const all: Partial<ResultStore> = {
      capacityBytes: 7,
      compression: 'zstd',
      link: async (id) => ({ url: `signed:${id}`, expirationTimeMs: 1 }),
      tidy: async () => {
        await settle();
        calls.push('tidy');
      },
    };
    const store = storeOf(all);
    expect(store).toMatchObject({ local: true, notes: 'notes', capacityBytes: 7, compression: 'zstd' });
    expect(await store.link?.('a', 1, signal)).toEqual({ url: 'signed:a', expirationTimeMs: 1 });
    await store.tidy?.(signal);
    expect(calls).toEqual(['tidy']);
    expect(storeOf(all, true)).not.toHaveProperty('capacityBytes');
  });

  it('lists the bytes and the place at the engine', async () => {
    const listed: unknown[] = [];
    for await (const { bytes: size, dataFile, metadataFile } of storeOf().list(signal))
      listed.push([size, dataFile, metadataFile]);
    expect(listed).toEqual([
      [5 + CURSOR.bytes, 'http://broker.test:8099/responseStore/1234/results', 'metadata'],
      [5, 'data', 'metadata'],
    ]);
  });

  it('deletes a result at the engine, too', async () => {
    expect(await storeOf().delete(CURSOR_ID, signal)).toBe(true);
    expect(calls).toEqual([`open ${CURSOR_ID}`, 'close', `engine ${CURSOR_ID}`, `delete ${CURSOR_ID}`]);
  });

  it('deletes other results only in the store', async () => {
    expect(await storeOf().delete(OTHER_ID, signal)).toBe(true);
    expect(calls).toEqual([`delete ${OTHER_ID}`]);
  });

  it.each([
    ['absent', undefined],
    ['damaged', damaged('its record is not valid')],
    ['without a cursor', { ...cursorRecord(), cursor: undefined }],
  ])('deletes a result whose record is %s only in the store', async (_what, record) => {
    found = record as ResultRecord | undefined;
    await storeOf().delete(CURSOR_ID, signal);
    expect(calls.filter((call) => call !== 'close')).toEqual([`open ${CURSOR_ID}`, `delete ${CURSOR_ID}`]);
  });

  it.each([new QueryError('store-unavailable', 'later'), new Error('other')])(
    'deletes nothing where the record cannot be read: %s',
    async (error) => {
      found = error;
      await expect(storeOf().delete(CURSOR_ID, signal)).rejects.toBe(error);
      expect(calls).toEqual([`open ${CURSOR_ID}`]);
    },
  );

  it('deletes an expired result although the engine does not respond, and says so', async () => {
    failure = new Error('refused');
    now = 999;
    await expect(storeOf().delete(CURSOR_ID, signal)).rejects.toThrow('refused');
    now = 1000;
    await expect(storeOf().delete(CURSOR_ID, AbortSignal.abort())).rejects.toThrow('refused');
    expect([problems, calls.filter((call) => call.startsWith('delete'))]).toEqual([[], []]);
    expect(await storeOf().delete(CURSOR_ID, signal)).toBe(true);
    expect(problems).toEqual([
      `failed to delete the expired result ${CURSOR_ID} at the engine, which deletes it itself: refused`,
    ]);
  });
});
