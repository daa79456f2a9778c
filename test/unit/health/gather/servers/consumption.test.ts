import { beforeEach, describe, expect, it } from 'vitest';
import { createGather } from '../../../../../src/health/gather/gather.ts';
import { runChecks, type Gather } from '../../../../../src/health/run/run.ts';
import { resolveSettings } from '../../../../../src/health/settings.ts';
import type { CheckOutcome } from '../../../../../src/health/check.ts';
import { systemClock, type Clock } from '../../../../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';
import { ReplayEngine } from '../../../../support/replay-engine.ts';

interface Info {
  consumerState: string;
  partitionToOffsetMap: Record<string, string>;
  partitionOffsetInfo?: Record<string, Record<string, string>>;
}
type Infos = Record<string, Info[]>;

const PATH = '/tables/ev/consumingSegmentsInfo';
const IDEAL_STATE = '/tables/ev_REALTIME/idealstate';

async function outcomeOf(gather: Gather, name: string, clock: Clock = systemClock): Promise<CheckOutcome> {
  const settings = resolveSettings({});
  const checks = settings.checks.filter((check) => check.name === name);
  const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
  const { results } = await runChecks({ gather, settings: { ...settings, checks }, signal, clock });
  return results[0]?.outcome as CheckOutcome;
}

/** Changes the recorded answer about the consuming segments of a partition of `ev`. */
function change(engine: ReplayEngine, partition: number, to: (info: Info) => Info | undefined): void {
  const body = engine.body(PATH) as { _segmentToConsumingInfoMap: Infos };
  const segments = Object.entries(body._segmentToConsumingInfoMap).map(([segment, infos]) => [
    segment,
    segment.startsWith(`ev__${partition}__`) ? infos.map(to).filter((info) => info !== undefined) : infos,
  ]);
  engine.json(PATH, { ...body, _segmentToConsumingInfoMap: Object.fromEntries(segments) });
}

/** Removes the consuming segment of a partition of `ev` from the ideal state. */
function withoutConsuming(engine: ReplayEngine, partition: number): void {
  const body = engine.body(IDEAL_STATE) as { REALTIME: Record<string, Record<string, string>> };
  const rest = Object.entries(body.REALTIME).filter(
    ([segment, states]) => !segment.startsWith(`ev__${partition}__`) || !Object.values(states).includes('CONSUMING'),
  );
  engine.json(IDEAL_STATE, { ...body, REALTIME: Object.fromEntries(rest) });
}

/** Removes all segments of a partition of `ev` from the ideal state. */
function withoutPartition(engine: ReplayEngine, partition: number): void {
  const body = engine.body(IDEAL_STATE) as { REALTIME: Record<string, Record<string, string>> };
  const rest = Object.entries(body.REALTIME).filter(([segment]) => !segment.startsWith(`ev__${partition}__`));
  engine.json(IDEAL_STATE, { ...body, REALTIME: Object.fromEntries(rest) });
}

describe.each(['0.11.0', '1.5.1'] as const)('the ingestion of a recorded cluster of %s', (version) => {
  let engine: ReplayEngine;
  let gather: Gather;
  beforeEach(() => {
    engine = new ReplayEngine(version);
    gather = createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 });
  });

  it('has stopped for a partition without a consuming segment', async () => {
    withoutConsuming(engine, 2);
    engine.json('/tables/ev/pauseStatus', { pauseFlag: false, consumingSegments: [] });
    const { findings } = await outcomeOf(gather, 'INGESTION_STOPPED_CHECK');
    expect(findings).toMatchObject([
      { entity: 'ev_REALTIME', message: '1 partition has no consuming segment in the ideal state (`2`)' },
    ]);
  });

  it('is paused', async () => {
    withoutConsuming(engine, 2);
    engine.json('/tables/ev/pauseStatus', { pauseFlag: true, consumingSegments: [] });
    expect(await outcomeOf(gather, 'INGESTION_STOPPED_CHECK')).toMatchObject({ status: 'PASS' });
  });

  it('is paused by Pinot, which is no intention', async () => {
    withoutConsuming(engine, 2);
    const [reasonCode, comment] = ['STORAGE_QUOTA_EXCEEDED', 'Storage quota of 10G exceeded for table ev_REALTIME'];
    engine.json('/tables/ev/pauseStatus', { pauseFlag: true, consumingSegments: [], reasonCode, comment });
    const { findings } = await outcomeOf(gather, 'INGESTION_STOPPED_CHECK');
    expect(findings).toMatchObject([
      { entity: 'ev_REALTIME', message: expect.stringContaining(`${reasonCode}: ${comment}`), observed: 'paused' },
    ]);
  });

  it('is paused by an administrator, with a reason code', async () => {
    withoutConsuming(engine, 2);
    engine.json('/tables/ev/pauseStatus', { pauseFlag: true, consumingSegments: [], reasonCode: 'ADMINISTRATIVE' });
    expect(await outcomeOf(gather, 'INGESTION_STOPPED_CHECK')).toMatchObject({ status: 'PASS' });
  });

  it('has stopped for a partition without any segment', async () => {
    withoutPartition(engine, 1);
    engine.json('/tables/ev/pauseStatus', { pauseFlag: false, consumingSegments: [] });
    const { findings } = await outcomeOf(gather, 'INGESTION_STOPPED_CHECK');
    expect(findings).toMatchObject([
      { entity: 'ev_REALTIME', message: expect.stringContaining('1 partition has no segment at all') },
    ]);
  });

  it('has stopped also after retention deleted the last segment of the last partition', async () => {
    engine.json('/tables/ev/pauseStatus', { pauseFlag: false, consumingSegments: [] });
    expect(await outcomeOf(gather, 'INGESTION_STOPPED_CHECK')).toMatchObject({ status: 'PASS' });
    withoutPartition(engine, 3);
    const { findings } = await outcomeOf(gather, 'INGESTION_STOPPED_CHECK');
    expect(findings).toMatchObject([{ message: expect.stringContaining('numbers (`3`)') }]);
    // A table of the same name that was created again has the partitions of today.
    engine.tables(['dd_REALTIME', 'ev_REALTIME', 'orders_OFFLINE', 'up_REALTIME'], 99);
    expect(await outcomeOf(gather, 'INGESTION_STOPPED_CHECK')).toMatchObject({ status: 'PASS' });
  });

  it('has a replica that does not consume while the other one does', async () => {
    const body = engine.body(PATH) as { _segmentToConsumingInfoMap: Infos };
    const [segment = '', infos = []] = Object.entries(body._segmentToConsumingInfoMap)[0] ?? [];
    const spare = { ...infos[0], serverName: 'Server_spare_8098', consumerState: 'NOT_CONSUMING' };
    const map = { ...body._segmentToConsumingInfoMap, [segment]: [...infos, spare] };
    engine.json(PATH, { ...body, _segmentToConsumingInfoMap: map });
    const { findings } = await outcomeOf(gather, 'INGESTION_STOPPED_CHECK');
    expect(findings).toMatchObject([{ severity: 'warning', message: expect.stringContaining('on Server_spare_8098') }]);
  });

  it('has stopped if all servers of a partition report so twice', async () => {
    change(engine, 1, (info) => ({ ...info, consumerState: 'NOT_CONSUMING' }));
    const { findings } = await outcomeOf(gather, 'INGESTION_STOPPED_CHECK');
    expect(findings).toMatchObject([
      { entity: 'ev_REALTIME', message: expect.stringContaining('1 partition has no server that consumes') },
    ]);
  });

  it('has not stopped while a segment is committed', async () => {
    const right = { status: 200, body: JSON.stringify(engine.body(PATH)) };
    const committing = right.body.replaceAll('"CONSUMING"', '"NOT_CONSUMING"');
    let looks = 0;
    engine.on('GET', 'controller', PATH, () => (++looks === 1 ? { status: 200, body: committing } : right));
    expect(await outcomeOf(gather, 'INGESTION_STOPPED_CHECK')).toMatchObject({ status: 'PASS' });
    expect(looks).toBe(2);
  });

  it('is unknown if no live server of a partition reports', async () => {
    change(engine, 0, () => undefined);
    const outcome = await outcomeOf(gather, 'INGESTION_STOPPED_CHECK');
    expect(outcome).toMatchObject({ status: 'FAIL', couldNotEvaluate: true });
    expect(outcome.findings[0]?.message).toContain('none of its servers reported');
  });

  it('is unknown without the map of segments', async () => {
    engine.json(PATH, {});
    expect(await outcomeOf(gather, 'INGESTION_STOPPED_CHECK')).toMatchObject({ couldNotEvaluate: true });
  });

  it('reads the consumption once for both of its uses', async () => {
    const settings = resolveSettings({});
    const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
    await runChecks({ gather, settings, signal, clock: systemClock });
    expect(engine.requests.filter((request) => request.includes(PATH))).toHaveLength(1);
  });
});

describe('the lag of a recorded cluster', () => {
  it('is that of the stream in 1.5.1', async () => {
    const engine = new ReplayEngine('1.5.1');
    const lag = { latestUpstreamOffsetMap: { '3': '9944600' }, recordsLagMap: { '3': '9900000' } };
    change(engine, 3, (info) => ({ ...info, partitionOffsetInfo: { ...info.partitionOffsetInfo, ...lag } }));
    const gather = createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 });
    const { findings } = await outcomeOf(gather, 'CONSUMER_LAG_CHECK');
    expect(findings).toMatchObject([
      { entity: 'ev_REALTIME', message: expect.stringContaining('partition 3 on `Server_127.0.0.1_1820') },
    ]);
    expect(findings[0]?.observed).toMatch(/^9,900,000 rows, /u);
  });

  it('is not applicable in 0.11.0', async () => {
    const engine = new ReplayEngine('0.11.0');
    const gather = createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1 });
    const outcome = await outcomeOf(gather, 'CONSUMER_LAG_CHECK');
    expect(outcome.status).toBe('PASS');
    expect(outcome.message).toContain('not applicable');
  });
});

describe('a consumption that does not move', () => {
  const behind = (offset: string, latest: string) => (info: Info) => ({
    ...info,
    partitionToOffsetMap: { '1': offset },
    partitionOffsetInfo: {
      latestUpstreamOffsetMap: { '1': latest },
      recordsLagMap: { '1': String(Number(latest) - Number(offset)) },
    },
  });

  it('is found in the second run that sees it, and not while it moves or nothing waits', async () => {
    const engine = new ReplayEngine('1.5.1');
    let elapsed = 0;
    const clock = { ...systemClock, monotonic: () => performance.now() + elapsed };
    const gather = createGather({ engine, clock, settleMs: 1, attempts: 1 });
    const run = () => outcomeOf(gather, 'INGESTION_STOPPED_CHECK', clock);
    const after = async (minutes: number, offset: string, latest: string) => {
      elapsed += minutes * 60_000;
      change(engine, 1, behind(offset, latest));
      return (await run()).findings.map(({ message }) => message);
    };
    expect(await after(0, '100', '100')).toEqual([]);
    expect(await after(20, '100', '120')).toEqual([]);
    expect(await after(4, '100', '120')).toEqual([]);
    expect(await after(20, '100', '180')).toEqual([
      '1 partition has a consumption that has not moved for 24 minutes while rows wait (`1`)',
    ]);
    expect(await after(20, '110', '200')).toEqual([]);
    expect(await after(20, '200', '200')).toEqual([]);
    expect(await after(20, '200', '200')).toEqual([]);
  });
});
