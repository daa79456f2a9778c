import { describe, expect, it } from 'vitest';
import type { RunProgress } from '../../../src/health/report.ts';
import { ProgressWriter } from '../../../src/operator/health-progress.ts';

function harness(): {
  writer: ProgressWriter;
  written: RunProgress[];
  problems: unknown[];
  at: (ms: number) => void;
  next: () => PromiseWithResolvers<void>;
} {
  let time = 0;
  const written: RunProgress[] = [];
  const problems: unknown[] = [];
  const writes: PromiseWithResolvers<void>[] = [];
  const writer = new ProgressWriter({
    now: () => time,
    write: (progress) => {
      written.push(progress);
      const pending = Promise.withResolvers<void>();
      writes.push(pending);
      return pending.promise;
    },
    onProblem: (error) => problems.push(error),
  });
  return {
    writer,
    written,
    problems,
    at: (ms) => {
      time = ms;
    },
    next: () => writes.shift()!,
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the progress of a health run', () => {
  it('is told at a bounded rate, one write at a time', async () => {
    const { writer, written, at, next } = harness();
    writer.report(1, 10);
    writer.report(2, 10);
    at(5000);
    writer.report(3, 10);
    expect(written).toEqual([{ done: 1, total: 10 }]);
    next().resolve();
    await settled();
    writer.report(4, 12);
    expect(written.at(-1)).toEqual({ done: 4, total: 12 });
    next().resolve();
    await settled();
    at(5999);
    writer.report(5, 12);
    expect(written).toHaveLength(2);
    at(6000);
    writer.report(6, 12);
    expect(written).toHaveLength(3);
  });

  it('is told about 45 times in five minutes', async () => {
    const { writer, written, at, next } = harness();
    for (let ms = 0; ms < 300_000; ms += 100) {
      at(ms);
      const before = written.length;
      writer.report(ms, 300_000);
      if (written.length > before) {
        next().resolve();
        await settled();
      }
    }
    expect(written.length).toBeGreaterThan(35);
    expect(written.length).toBeLessThan(55);
  });

  it('ends with the write that is under way, and begins none after', async () => {
    const { writer, written, at, next } = harness();
    writer.report(1, 2);
    let over = false;
    const end = writer.end().then(() => {
      over = true;
    });
    await settled();
    expect(over).toBe(false);
    next().resolve();
    await end;
    at(60_000);
    writer.report(2, 2);
    expect(written).toHaveLength(1);
  });

  it('outlives a write that failed', async () => {
    const { writer, written, problems, at, next } = harness();
    writer.report(1, 3);
    next().reject(new Error('no store'));
    await settled();
    expect(problems).toEqual([new Error('no store')]);
    at(2000);
    writer.report(2, 3);
    expect(written).toHaveLength(2);
    next().resolve();
    await writer.end();
  });
});
