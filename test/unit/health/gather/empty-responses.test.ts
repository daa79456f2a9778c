import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../../src/health/catalogue.ts';
import type { CheckResult } from '../../../../src/health/run/evaluation.ts';
import { createGather } from '../../../../src/health/gather/gather.ts';
import { runChecks } from '../../../../src/health/run/run.ts';
import { resolveSettings } from '../../../../src/health/settings.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { SlowCluster } from '../../../support/slow-cluster.ts';

const TABLES = '/zk/getChildren?path=/c/PROPERTYSTORE/CONFIGS/TABLE';
const TABLE_NAMES = '/zk/lsl?path=/c/PROPERTYSTORE/CONFIGS/TABLE';
const IDEAL_STATES = '/zk/ls?path=/c/IDEALSTATES';

/** The results by check, of a cluster with other answers. */
async function resultsWith(answers: Readonly<Record<string, unknown>>): Promise<Map<string, CheckResult>> {
  const cluster = new SlowCluster(5, new FakeClock());
  for (const [path, body] of Object.entries(answers)) cluster.answers.set(path, { body });
  const { results } = await runChecks({
    gather: createGather({ engine: cluster, clock: systemClock, settleMs: 1, attempts: 1 }),
    settings: resolveSettings({}),
    signal: new AbortController().signal,
    clock: systemClock,
  });
  return new Map(results.map((result) => [result.name, result]));
}

describe('an empty answer', () => {
  it.each([
    ['live instances', { '/zk/ls?path=/c/LIVEINSTANCES': [] }, 'INSTANCE_HEALTH_API_CHECK', 'although a controller'],
    ['tables', { [TABLES]: [] }, 'SEGMENT_COUNT_CHECK', 'there are 5 ideal states, such as `t0_OFFLINE`'],
    [
      'metadata of segments',
      { '/segments/t0_OFFLINE/zkmetadata': {} },
      'HIGH_NUMBER_OF_DOCUMENTS_CHECK',
      'the ideal state has 4',
    ],
  ])('without %s that contradicts other data could not be evaluated', async (_what, answers, check, reason) => {
    const outcome = (await resultsWith(answers)).get(check)?.outcome;
    expect(outcome).toMatchObject({ status: 'FAIL', couldNotEvaluate: true });
    expect(outcome?.findings[0]?.message).toContain(reason);
  });

  it('without tables is right in a cluster without ideal states', async () => {
    const results = await resultsWith({
      [TABLES]: [],
      [TABLE_NAMES]: {},
      [IDEAL_STATES]: ['brokerResource', 'leadControllerResource'],
      '/zk/ls?path=/c/EXTERNALVIEW': ['brokerResource'],
      '/zk/ls?path=/c/PROPERTYSTORE/SEGMENTS': [],
      '/tables': { tables: [] },
    });
    expect([...results.values()].filter(({ outcome }) => outcome.couldNotEvaluate)).toEqual([]);
    expect(results.size).toBe(CATALOGUE.length);
  });
});
