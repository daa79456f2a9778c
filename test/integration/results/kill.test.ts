import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { holderTag } from '../../../src/results/request-id.ts';
import { readPage } from '../../../src/results/rows/page.ts';
import type { ResultStore } from '../../../src/results/result-store.ts';
import { FileStore } from '../../../src/results/stores/file/file-store.ts';
import { seeded } from '../../support/seed.ts';
import { once } from '../../support/once.ts';
import { until } from '../../support/until.ts';
import { collect } from '../../unit/results/answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const ROUNDS = 12;
const PROGRAM = join(import.meta.dirname, 'kill-program.ts');

describe('a gateway that is killed while it stores and deletes results', () => {
  let folder: string;
  let child: ChildProcess | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-kill-'));
  });
  afterAll(async () => {
    child?.kill('SIGKILL');
    await rm(folder, { recursive: true });
  });

  it('leaves only complete results, whenever it is killed', async () => {
    let results = 0;
    const random = seeded();
    for (let round = 0; round < ROUNDS; round++) {
      child = spawn(process.execPath, [PROGRAM, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
      let output = '';
      child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
      const wanted = 3 + random.below(6);
      await until(`${wanted} results`, () => output.split('\n').length > wanted);
      // So that it is killed at any step of storing and deleting.
      await sleep(random.below(30));
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;

      const store: ResultStore = new FileStore({
        dataDir: join(folder, 'data'),
        tempDir: join(folder, 'temp'),
        tag: holderTag('gateway'),
        clock: systemClock,
        onProblem: (message) => {
          throw new Error(message);
        },
      });
      await store.start(AbortSignal.timeout(WAIT_LIMIT_MS));
      expect(await readdir(join(folder, 'temp'))).toEqual([]);
      const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
      results = 0;
      for await (const { record } of store.list(signal)) {
        results++;
        const reader = await store.open(record.requestId, signal);
        const { rows } = await readPage(reader!, { offset: 0, numRows: record.rowCount }, {}, signal);
        const parsed = JSON.parse(`[${await collect(rows)}]`) as unknown[];
        expect(parsed).toHaveLength(record.rowCount);
        await reader!.close();
      }
      // One record and one rows file per result, and no other file.
      expect(await readdir(join(folder, 'data'))).toHaveLength(2 * results);
      await store.close();
    }
    expect(results).toBeGreaterThan(ROUNDS);
  });
});
