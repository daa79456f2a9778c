// @module-tag slow
import { expect, it } from 'vitest';
import type { EngineResponse } from '../../../../src/pinot/types.ts';
import type { PageRequest } from '../../../../src/results/rows/page.ts';
import { PaginatedQueries } from '../../../../src/results/submit/paginated-queries.ts';
import { submit } from '../../../support/submit.ts';
import type { ResultReader } from '../../../../src/results/result-store.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';
import { answerText, responseOf, rowTexts } from '../answers.ts';

const ROWS = 60_000;
const TEXTS = rowTexts(ROWS);

/** A memory store whose reads end only when all of `count` have begun. */
class SlowStore extends MemoryStore {
  #left = 0;
  #go = Promise.withResolvers<void>();

  expectReads(count: number): void {
    this.#left = count;
    this.#go = Promise.withResolvers();
  }

  override async open(requestId: string): Promise<ResultReader | undefined> {
    const reader = await super.open(requestId);
    if (reader === undefined) return undefined;
    const read: ResultReader['read'] = reader.read.bind(reader);
    return Object.assign(reader, {
      read: async (...range: Parameters<ResultReader['read']>) => {
        if (--this.#left === 0) this.#go.resolve();
        await this.#go.promise;
        return read(...range);
      },
    });
  }
}

const signal = AbortSignal.timeout(WAIT_LIMIT_MS);

/** Reads these pages of one result at once. */
async function readAtOnce(pages: readonly PageRequest[]): Promise<{ whole: number; texts: string[] }> {
  const store = new SlowStore({ maxBytes: 16 * 1024 * 1024 });
  const queries = new PaginatedQueries({
    store,
    settings: () => ({ ...DEFAULT_PAGINATION_SETTINGS, maxPageSize: ROWS }),
    identity: { id: 'gateway-0', host: 'gateway-0.test', port: 8080 },
    clock: { now: () => 1000 },
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  });
  const run = async (): Promise<EngineResponse> => responseOf(answerText(TEXTS));
  const submitted = await submit(queries.submissions, run, { origin: { owner: 'srn2:user#ann', tables: [] }, signal });
  if (submitted.kind !== 'stored') throw new Error(`the query was ${submitted.kind}`);
  const { requestId } = submitted.reader.record;
  await submitted.reader.close();
  store.expectReads(pages.length);
  const readers = await Promise.all(pages.map(() => queries.open(requestId, signal)));
  const read = await Promise.all(pages.map((page, at) => queries.page(readers[at]!, page, signal)));
  const texts: string[] = [];
  for (const { rows } of read) {
    const pieces: Uint8Array[] = [];
    for await (const piece of rows) pieces.push(piece);
    texts.push(Buffer.concat(pieces).toString());
  }
  for (const reader of readers) await reader.close();
  return { whole: read.filter(({ rows }) => Array.isArray(rows)).length, texts };
}

// A page in memory has the status of an error; one that is streamed only ends early.
it('keeps small pages in memory, however many are read at once', async () => {
  const pages = Array.from({ length: 1000 }, (_, at) => ({ offset: at * 10, numRows: 10 }));
  const { whole, texts } = await readAtOnce(pages);
  expect(whole).toBe(pages.length);
  expect(texts).toEqual(pages.map(({ offset }) => TEXTS.slice(offset, offset + 10).join(',')));
});

it('streams large pages beyond 64 MiB', async () => {
  const pages = Array.from({ length: 40 }, () => ({ offset: 0, numRows: ROWS }));
  const all = TEXTS.join(',');
  const { whole, texts } = await readAtOnce(pages);
  expect(whole).toBe(Math.floor((64 * 1024 * 1024) / Buffer.byteLength(all)));
  expect(whole).toBeLessThan(pages.length);
  // Without the megabytes of a difference.
  expect(texts.filter((text) => text !== all).length).toBe(0);
});
