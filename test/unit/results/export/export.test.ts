import { beforeEach, expect, it } from 'vitest';
import { LruCache } from '../../../../src/platform/lru.ts';
import type { CsvLayout } from '../../../../src/results/export/csv-layout.ts';
import { exportRows } from '../../../../src/results/export/export.ts';
import type { ResultReader } from '../../../../src/results/result-store.ts';
import { ObjectResultStore } from '../../../../src/results/stores/object/object-store.ts';
import { storeResponse } from '../../../../src/results/submit/submit.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { answerText, responseOf, submission } from '../answers.ts';
import { MemoryBucket } from '../stores/object/memory-bucket.ts';

const signal = new AbortController().signal;
const ROWS = Array.from({ length: 5_000 }, (_, at) => `[${at},"city ${'x'.repeat(at % 40)}"]`);
const CSV = ROWS.map((row) => `${(JSON.parse(row) as unknown[]).join(',')}\r\n`);
/** Rows: all, from the start, from the middle, the last one, none. */
const PARTS = [
  [0, 5_000],
  [0, 10],
  [1_234, 2_000],
  [4_999, 1],
  [3, 0],
] as const;

let reader: ResultReader;
beforeEach(async () => {
  const context = { gatewayId: 'gateway-0', clock: new FakeClock(), onProblem: () => undefined };
  const store = new ObjectResultStore(new MemoryBucket(), context, undefined);
  const outcome = await storeResponse(responseOf(answerText(ROWS)), store, submission(), signal);
  if (outcome.kind !== 'stored') throw new Error('not stored');
  ({ reader } = outcome);
});

it.each(PARTS)(
  'any bytes of the rows from %i, %i of them, can be read in JSON lines and CSV',
  async (offset, numRows) => {
    const wanted = {
      jsonl: ROWS.slice(offset, offset + numRows).map((row) => `${row}\n`),
      csv: ['id,city\r\n', ...CSV.slice(offset, offset + numRows)],
    };
    const layouts = new LruCache<string, CsvLayout>({ maxWeight: 10 });
    for (const format of ['jsonl', 'csv'] as const) {
      const whole = wanted[format].join('');
      const found = await exportRows(reader, { format, layouts }, { offset, numRows }, signal);
      const length = found.length ?? (await found.measure?.(signal));
      expect(length, format).toBe(whole.length);
      const edges = [0, 1, 9, 10, whole.length >> 1, whole.length - 1, whole.length].filter((at) => at >= 0);
      for (const from of edges) {
        for (const to of edges.filter((at) => at >= from)) {
          const pieces: Buffer[] = [];
          for await (const piece of found.body(from, to, signal)) pieces.push(Buffer.from(piece));
          expect(pieces.every((piece) => piece.length > 0)).toBe(true);
          expect(Buffer.concat(pieces).toString() === whole.slice(from, to), `${format} ${from}-${to}`).toBe(true);
        }
      }
    }
  },
);
