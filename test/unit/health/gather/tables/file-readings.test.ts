import { beforeEach, describe, expect, it } from 'vitest';
import type { CheckOutcome } from '../../../../../src/health/check.ts';
import { createGather } from '../../../../../src/health/gather/gather.ts';
import { FileReadings } from '../../../../../src/health/gather/tables/file-readings.ts';
import { runChecks } from '../../../../../src/health/run/run.ts';
import { resolveSettings } from '../../../../../src/health/settings.ts';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';
import { ReplayEngine } from '../../../../support/replay-engine.ts';

const NAME = 'DEEP_STORE_CHECK';
const TABLE = 'ev_REALTIME';
const OF_CONTROLLER = { 'pinot-controller-version': '1.5.1' };

let engine: ReplayEngine;
/** A file that a run requests. */
let file: string;
let segment: string;
beforeEach(async () => {
  engine = new ReplayEngine('1.5.1');
  await outcome();
  file = requested().find((path) => path.startsWith('/segments/ev/')) ?? '';
  segment = file.split('/').at(-1) ?? '';
});

async function outcome(): Promise<CheckOutcome> {
  const settings = resolveSettings({});
  const { results } = await runChecks({
    gather: createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 }),
    settings: { ...settings, checks: settings.checks.filter(({ name }) => name === NAME) },
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    clock: systemClock,
  });
  return results[0]?.outcome as CheckOutcome;
}

const requested = (): string[] =>
  engine.requests.filter((request) => request.startsWith('HEAD ')).map((request) => request.split(' ')[2] ?? '');

const responds = (status: number, headers: Readonly<Record<string, string>> = OF_CONTROLLER): void =>
  void engine.on('HEAD', 'controller', file, { status, headers, body: '' });

/** The node of the segment's metadata, with this URL. */
function stored(url: string): void {
  const path = `/zk/get?path=/hc/PROPERTYSTORE/SEGMENTS/${TABLE}/${segment}`;
  engine.json(path, { id: segment, simpleFields: { 'segment.download.url': url }, mapFields: {}, listFields: {} });
}

describe('the files of segments', () => {
  it('are requested for the oldest and the newest segment of each table, without their content', async () => {
    const byTable = Map.groupBy(requested(), (path) => path.split('/')[2]);
    expect(byTable.size).toBeGreaterThan(1);
    for (const files of byTable.values()) expect(files.length).toBeLessThanOrEqual(2);
    expect(
      engine.requests.filter(
        (request) => request.startsWith('GET') && requested().some((path) => request.endsWith(path)),
      ),
    ).toEqual([]);
    expect(await outcome()).toMatchObject({ status: 'PASS', message: expect.stringContaining('has the files') });
  });

  it('are missing if the controller says so twice', async () => {
    responds(404);
    stored(`http://127.0.0.1:19000${file}`);
    expect((await outcome()).findings).toMatchObject([
      { entity: TABLE, message: expect.stringContaining(`(\`${segment}\`)`), observed: '1 segment of 2 tried' },
    ]);
  });

  it('are there if the second response has it', async () => {
    let requests = 0;
    const response = (): { status: number; headers: typeof OF_CONTROLLER; body: string } => {
      requests += 1;
      return { status: requests === 1 ? 404 : 200, headers: OF_CONTROLLER, body: '' };
    };
    engine.on('HEAD', 'controller', file, response);
    expect(await outcome()).toMatchObject({ status: 'PASS' });
    expect(requests).toBe(2);
  });

  it('let other tables be asked while a table waits to ask again', async () => {
    const reader = {
      read: async (reading: () => Promise<unknown>) => ({ ok: true, value: await reading() }),
      response: async () => ({ status: 404, headers: OF_CONTROLLER }),
    };
    const calls = { call: () => ({ path: '/' }), segmentNode: async () => undefined };
    const state = { entry: { rawName: 'ev' }, segments: { ok: true, value: { files: { served: ['a', 'b'] } } } };
    let turns = 0;
    const atPause: number[] = [];
    const read = new FileReadings(reader as never, calls as never).read(state as never, {
      turn: async (work) => {
        turns += 1;
        return work().finally(() => (turns -= 1));
      },
      pause: async () => void atPause.push(turns),
    });
    expect(await read).toMatchObject({ value: { asked: 2 } });
    expect(atPause).toEqual([0]);
  });

  it('of a segment that was deleted meanwhile are not missing', async () => {
    responds(404);
    engine.json(`/zk/get?path=/hc/PROPERTYSTORE/SEGMENTS/${TABLE}/${segment}`, { code: 404, error: 'no' }, 404);
    expect(await outcome()).toMatchObject({ status: 'PASS' });
  });

  it('that another web server has are not missing', async () => {
    responds(404);
    stored(`http://files.example/archive/${segment}.tar.gz`);
    expect(await outcome()).toMatchObject({ status: 'PASS' });
  });

  it.each([
    ['a proxy that has no route to the path', 404, {}, 'but not from a Pinot controller'],
    ['a controller that refuses the credential', 403, OF_CONTROLLER, 'responded with 403'],
  ])('are unknown behind %s', async (_, status, headers, reason) => {
    responds(status, headers);
    const { couldNotEvaluate, findings } = await outcome();
    expect(couldNotEvaluate).toBe(true);
    expect(findings[0]?.message).toContain(`\`HEAD ${file}\``);
    expect(findings[0]?.message).toContain(reason);
  });
});
