import { afterEach, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../support/control-plane.ts';
import { folderWorld, kubernetesWorld, type OpenWorld } from '../../support/walks/real-worlds.ts';
import { walks } from '../../support/walks/report.ts';

/** The same walks as in test/unit/access/walks.test.ts, fewer of them, on real stores. `make fuzz-access` has more. */
describe('random changes by random administrators give no person more', () => {
  const worlds: OpenWorld[] = [];
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close();
  });

  it('in a folder', async () => {
    worlds.push(await folderWorld(), await folderWorld());
    expect(await walks(worlds, { seed: 1, count: 60 })).toMatchObject({ violations: [], walks: 60 });
  });

  it('in a Kubernetes API with two gateways', async () => {
    const plane = await sharedControlPlane();
    await plane.applyCrds();
    for (let index = 0; index < 3; index++) worlds.push(await kubernetesWorld(plane));
    expect(await walks(worlds, { seed: 1, count: 40 })).toMatchObject({ violations: [], walks: 40 });
  });
});
