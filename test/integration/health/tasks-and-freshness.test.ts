import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine } from '../../../src/pinot/types.ts';
import { HealthStates } from '../../support/health-states.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';
import { until } from '../../support/until.ts';

/** Faults of checks that need a minion, or segments that arrive regularly: made on a real cluster, and mended. */

const TASK = 'SegmentGenerationAndPushTask';

let pinot: Pinot;
let engine: Engine;
let states: HealthStates;
let input: string;

beforeAll(async () => {
  input = await mkdtemp(join(tmpdir(), 'olap-warden-minion-'));
  pinot = await startPinot({ brokers: 1, servers: 1 });
  engine = createEngine({ controllerUrls: [pinot.controllerUrl], brokerRefreshMs: 500 });
  states = new HealthStates(pinot, engine);
});

afterAll(async () => {
  await engine.close();
  await pinot.stop();
  await rm(input, { recursive: true, force: true });
});

describe('the tasks of minions', () => {
  async function schedule(table: string): Promise<string> {
    const scheduled = await states.api('POST', `/tasks/schedule?taskType=${TASK}&tableName=${table}_OFFLINE`);
    return String(scheduled[TASK]);
  }

  async function ends(name: string): Promise<void> {
    await until(`the end of ${name}`, async () => {
      const counts = await states.api('GET', `/tasks/${TASK}/taskcounts`);
      const { total = 0, waiting = 0, running = 0 } = (counts[name] ?? {}) as Record<string, number>;
      return total > 0 && waiting + running === 0;
    });
  }

  /** Runs the task of the table once, and waits for its end. */
  async function runTask(table: string): Promise<void> {
    await ends(await schedule(table));
  }

  async function ingestingTable(name: string): Promise<void> {
    await states.smallTable(name);
    await states.changeTable(name, 'OFFLINE', (config) => {
      const batch = { inputDirURI: pathToFileURL(input).href, inputFormat: 'json' };
      Object.assign(config, {
        ingestionConfig: {
          batchIngestionConfig: {
            segmentIngestionType: 'APPEND',
            segmentIngestionFrequency: 'DAILY',
            batchConfigMaps: [batch],
          },
        },
        task: { taskTypeConfigsMap: { [TASK]: {} } },
      });
    });
  }

  it('of which none has a minion are stuck, until one starts', async () => {
    expect((await states.passes('MINION_TASKS_STUCK_CHECK')).message).toContain('not applicable');
    await ingestingTable('waiting');
    try {
      const untagged = await states.fails('MINION_TASKS_STUCK_CHECK', 'minion_untagged');
      expect(untagged.findings[0]?.message).toBe(
        `no minion has the tag: tasks of \`${TASK}\` for 1 table (\`waiting_OFFLINE\`) do not run`,
      );
      await writeFile(join(input, 'waiting.json'), '{"id": "w", "ts": 1760000000}\n');
      const name = await schedule('waiting');
      const stuck = await states.fails('MINION_TASKS_STUCK_CHECK', TASK, { maxHours: 0 });
      expect(stuck.findings[0]?.message).toMatch(new RegExp(`^\`${name}\` was created .* ago and has not ended: `));
      await pinot.startMinion();
      await ends(name);
      await states.passes('MINION_TASKS_STUCK_CHECK', { maxHours: 0 });
    } finally {
      await pinot.deleteTable('waiting');
      await rm(join(input, 'waiting.json'), { force: true });
    }
  });

  it('fail after three whose subtasks failed, and pass after one that succeeded', async () => {
    await pinot.startMinion();
    await states.passes('MINION_TASK_FAILURES_CHECK');
    await ingestingTable('ingested');
    const file = join(input, 'rows.json');
    await writeFile(file, '{"id": "a", "ts": ');
    await runTask('ingested');
    await runTask('ingested');
    await states.passes('MINION_TASK_FAILURES_CHECK');
    await runTask('ingested');
    const { findings } = await states.fails('MINION_TASK_FAILURES_CHECK', TASK);
    expect(findings[0]?.message).toMatch(
      /^subtasks of 3 tasks in a row failed; in the last one, .* 1 of 1 subtask failed$/,
    );
    await writeFile(file, '{"id": "a", "ts": 1760000000}\n');
    await runTask('ingested');
    await states.passes('MINION_TASK_FAILURES_CHECK');
    await pinot.awaitRows('ingested', 1);
  });
});

describe('DATA_FRESHNESS_CHECK', () => {
  // The floor of six hours is lowered; that it is kept is in the cases of the check.
  const AT_ONCE = { minSilentHours: 0, maxGaps: 1 };

  it('fails for a table without a new segment for longer than usual, and passes with the next one', async () => {
    await states.smallTable('regular');
    const push = (i: number) => pinot.uploadRows('regular', [JSON.stringify({ id: `r${i}`, ts: 1_760_000_000 + i })]);
    let pushed = 0;
    for (; pushed < 6; pushed += 1) {
      await push(pushed);
      await delay(1_000);
    }
    await pinot.awaitRows('regular', pushed);
    // The silence must exceed the longest gap, but not all of the time before: the check compares the two.
    for (;;) {
      const { status, findings, message } = await states.outcomeOf('DATA_FRESHNESS_CHECK', AT_ONCE);
      if (status === 'FAIL') {
        expect(findings.map(({ entity }) => entity)).toEqual(['regular_OFFLINE']);
        expect(findings[0]?.message).toMatch(/^no segment has arrived for /);
        break;
      }
      // A machine that was busy for longer than the table exists: its rhythm is longer then.
      if (message.startsWith('not applicable')) await push(pushed++);
      await delay(200);
    }
    await push(pushed);
    await states.passes('DATA_FRESHNESS_CHECK', AT_ONCE);
  });
});
