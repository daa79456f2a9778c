import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunProgress } from '../../../../src/health/run/run.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { ProgressWriter } from '../../../../src/operator/health/health-progress.ts';

let written: RunProgress[];
let errors: unknown[];
let writes: PromiseWithResolvers<void>[];
let writer: ProgressWriter;

const newWriter = (): ProgressWriter =>
  new ProgressWriter({
    clock: systemClock,
    write: (progress) => {
      written.push(progress);
      const pending = Promise.withResolvers<void>();
      writes.push(pending);
      return pending.promise;
    },
    onError: (error) => errors.push(error),
  });

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  written = [];
  errors = [];
  writes = [];
  writer = newWriter();
});

afterEach(() => {
  vi.useRealTimers();
});

/** The progress of a run with this many reads and evaluated checks. */
const at = (done: number, total: number, checks = 0): RunProgress => ({
  done,
  total,
  checks: Array.from({ length: checks }, (_, i) => ({ name: `CHECK_${i}`, status: 'PASS' as const })),
  checksTotal: 33,
});
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const writeEnds = async (): Promise<void> => {
  writes.shift()?.resolve();
  await pass(0);
};

describe('the progress of a health run', () => {
  it('is written at a bounded rate, one write at a time, only the newest values', async () => {
    writer.report(at(1, 10));
    writer.report(at(2, 10));
    await pass(5000);
    writer.report(at(3, 10));
    expect(written).toEqual([at(1, 10)]);
    await writeEnds();
    expect(written).toEqual([at(1, 10), at(3, 10)]);
    await writeEnds();
    writer.report(at(4, 12));
    writer.report(at(5, 12));
    await pass(999);
    expect(written).toHaveLength(2);
    await pass(1);
    expect(written.at(-1)).toEqual(at(5, 12));
  });

  it('is written about 45 times in five minutes without an evaluated check', async () => {
    for (let ms = 0; ms < 300_000; ms += 100) {
      writer.report(at(ms, 300_000));
      await writeEnds();
      await pass(100);
    }
    expect(written.length).toBeGreaterThan(35);
    expect(written.length).toBeLessThan(55);
  });

  it('contains an evaluated check within half a second, also late in a long run', async () => {
    writer.report(at(1, 10));
    await writeEnds();
    await pass(200_000);
    writer.report(at(2, 10));
    await writeEnds();
    expect(written).toHaveLength(2);
    writer.report(at(2, 10, 1));
    writer.report(at(2, 10, 3));
    await pass(499);
    expect(written).toHaveLength(2);
    await pass(1);
    expect(written.at(-1)).toEqual(at(2, 10, 3));
    await writeEnds();
    writer.report(at(3, 10, 3));
    await pass(19_000);
    expect(written).toHaveLength(3);
  });

  it('ends with the current write', async () => {
    writer.report(at(1, 2));
    writer.report(at(2, 2, 1));
    let over = false;
    const end = writer.end().then(() => {
      over = true;
    });
    await pass(0);
    expect(over).toBe(false);
    await writeEnds();
    await end;
    writer.report(at(2, 2, 2));
    await pass(60_000);
    expect(written).toHaveLength(1);
  });

  it('continues after a failed write', async () => {
    writer.report(at(1, 3));
    writes.shift()?.reject(new Error('no store'));
    await pass(0);
    expect(errors).toEqual([new Error('no store')]);
    await pass(2000);
    writer.report(at(2, 3));
    expect(written).toHaveLength(2);
    await writeEnds();
    await writer.end();
  });
});
