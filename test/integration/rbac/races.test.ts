import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderDeployment, kubernetesDeployment, type Deployment } from './gateways.ts';
import { policyRace, roleRace, runRaces } from './races.ts';
import { TEST_LIMIT_MS } from '../../support/limits.ts';

/** Races of each kind; `make test-races` runs 1,000. */
const RACES = Number(process.env['RACES'] ?? 150);
const TIMEOUT_MS = TEST_LIMIT_MS + RACES * 2000;

describe.each([
  ['a folder of manifests', folderDeployment],
  ['three gateways on a kube-apiserver', () => kubernetesDeployment(3)],
])('deleting and referring at the same time, on %s', (_name, start) => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await start();
  });
  afterAll(() => deployment?.stop());

  it.each([
    ['a role and its assignment', 'role', roleRace],
    ['a policy and its attachment', 'policy', policyRace],
  ])('never both succeed: %s', { timeout: TIMEOUT_MS }, async (_pair, prefix, raceOf) => {
    const outcomes = await runRaces(deployment, RACES, raceOf, prefix);
    process.stdout.write(`${RACES} races: ${JSON.stringify(outcomes)}\n`);
    expect(outcomes).toMatchObject({ both: [], dangling: [], marked: [] });
    // Both sides win often enough that the race is a race.
    expect(Math.min(outcomes.deleted, outcomes.referred)).toBeGreaterThan(RACES / 10);
  });
});
