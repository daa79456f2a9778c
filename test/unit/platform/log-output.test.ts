import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { LineQueue } from '../../../src/platform/line-queue.ts';
import { countDroppedLines, LogOutput } from '../../../src/platform/log-output.ts';
import { execute } from '../../support/execute.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { until } from '../../support/until.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-log-output-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const line = (number: number): string => `{"number":"${String(number).padStart(50, 'ä')}"}\n`;

describe('a log output', () => {
  it('keeps a bounded number of bytes for a reader that stands still, and counts and reports what it drops', async () => {
    const path = join(folder, 'pipe');
    await execute('mkfifo', [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    const [clock, registry] = [new FakeClock(), new Registry()];
    const output = new LogOutput({
      fd,
      nonBlocking: true,
      clock,
      maxWaitingBytes: 100_000,
      onDropped: countDroppedLines(registry),
      onRecovered: (dropped) => output.write(`{"dropped":${dropped}}\n`),
    });
    const written = 10_000;
    for (let number = 0; number < written; number++) output.write(line(number));
    let text = '';
    const chunk = Buffer.alloc(1024 * 1024);
    const drain = (): void => {
      try {
        text += chunk.toString('latin1', 0, readSync(reader, chunk));
      } catch {
        // Nothing is left.
      }
    };
    while (!text.includes('dropped')) {
      drain();
      await clock.advance(100);
    }
    closeSync(fd);
    closeSync(reader);
    const lines = Buffer.from(text, 'latin1').toString().trimEnd().split('\n');
    const kept = lines.length - 1;
    expect(kept).toBeLessThan(written / 2);
    expect(lines.slice(0, kept)).toEqual(Array.from({ length: kept }, (_, number) => line(number).trimEnd()));
    expect(lines.at(-1)).toBe(`{"dropped":${written - kept}}`);
    expect(await registry.metrics()).toContain(`olap_warden_log_dropped_total ${written - kept}`);
    expect(clock.timers).toBe(0);
  });

  it.each([false, true])('has all lines of a file in their order when it is closed (%s)', async (nonBlocking) => {
    const path = join(folder, `file-${nonBlocking}`);
    const fd = openSync(path, 'a');
    const output = new LogOutput({
      ...{ fd, nonBlocking, clock: systemClock },
      ...{ onDropped: () => undefined, onRecovered: () => undefined },
    });
    for (let number = 0; number < 5_000; number++) output.write(line(number));
    await output.close();
    output.write('after\n');
    await until('the last line is written', async () => (await readFile(path, 'utf8')).endsWith('after\n'));
    closeSync(fd);
    expect(await readFile(path, 'utf8')).toBe(`${Array.from({ length: 5_000 }, (_, i) => line(i)).join('')}after\n`);
  });

  it.each([false, true])('that cannot write closes within a second (%s)', async (nonBlocking) => {
    const fd = openSync('/dev/full', 'w');
    const clock = new FakeClock();
    const output = new LogOutput({
      ...{ fd, nonBlocking, clock },
      ...{ onDropped: () => undefined, onRecovered: () => undefined },
    });
    output.write(line(1));
    await until('the write has failed', () => clock.timers === 1);
    let closed = false;
    const closing = output.close().then(() => (closed = true));
    await clock.advance(1_000);
    await closing;
    expect([closed, clock.timers]).toEqual([true, 0]);
    output.flushSync();
    closeSync(fd);
  });
});

it('a queue joins lines, continues after a part of them, and takes a line of any length when it is empty', () => {
  const queue = new LineQueue(20);
  expect(queue.add(Buffer.from('a line that is longer than the limit'))).toBe(true);
  expect(queue.add(Buffer.from('b'))).toBe(false);
  queue.remove(queue.first().length - 3);
  expect(queue.first().toString()).toBe('mit');
  expect(queue.add(Buffer.from('c'))).toBe(true);
  expect(queue.first().toString()).toBe('mit');
  queue.remove(3);
  expect(queue.add(Buffer.from('d'))).toBe(true);
  expect(queue.first().toString()).toBe('cd');
  queue.remove(2);
  expect(queue.isEmpty).toBe(true);
});
