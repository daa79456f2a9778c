import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayProcess } from '../../test/support/gateway-process.ts';
import type { Bench } from '../frame/bench.ts';
import { lastOf } from '../frame/measure.ts';
import { NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { runLoad, type Loaded } from '../workloads/load.ts';
import { queryTarget, startGateway, startRowsEngine } from '../workloads/load-stage.ts';

const GATEWAYS = sized({ quick: [1, 2], normal: [1, 2, 3, 4] });
const CLIENTS_OF_GATEWAYS = 32;
const SECONDS = sized({ quick: 1, normal: 6 });

/** Queries that pass through, on one to four gateways with the same tokens. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-'));
  const engine = await startRowsEngine();
  const gateways: GatewayProcess[] = [];
  const points: { gateways: number; loaded: Loaded }[] = [];
  try {
    for (const count of GATEWAYS) {
      while (gateways.length < count) gateways.push(await startGateway(engine.url, folder, gateways[0]));
      bench.note(`${count} gateways, ${CLIENTS_OF_GATEWAYS} clients`);
      const targets = gateways.map(({ url }) => queryTarget(url, gateways[0]!.token, 100));
      const pids = gateways.map(({ program }) => program.pid);
      const load = { targets, clients: CLIENTS_OF_GATEWAYS, warmUpSeconds: SECONDS, seconds: SECONDS };
      points.push({ gateways: count, loaded: await runLoad(load, pids) });
    }
  } finally {
    for (const gateway of gateways) await gateway.stop();
    engine.stop();
    await rm(folder, { recursive: true, force: true });
  }
  const cost = ({ loaded }: { loaded: Loaded }): number =>
    loaded.cpuMs.reduce((sum, own) => sum + own, 0) / loaded.requests;
  const x = { label: 'gateways', unit: '', scale: 'linear' } as const;
  bench.curve({
    id: 'throughput-by-gateways',
    title: 'Queries that pass through, 10 KB, by the number of gateways',
    x,
    y: { label: 'throughput', unit: 'queries/s', scale: 'linear' },
    series: [
      { name: `${CLIENTS_OF_GATEWAYS} clients`, points: points.map((at) => [at.gateways, at.loaded.perSecond]) },
    ],
    note: `Load generator, engine and gateways share ${availableParallelism()} cores: the throughput grows only while there are free ones. The next picture shows what does not depend on this: the CPU of a query.`,
  });
  bench.curve({
    id: 'cpu-by-gateways',
    title: 'CPU of a query by the number of gateways',
    x,
    y: { label: 'CPU of all gateways', unit: 'ms a query', scale: 'linear' },
    series: [{ name: `${CLIENTS_OF_GATEWAYS} clients`, points: points.map((at) => [at.gateways, cost(at)]) }],
  });
  const [one, most] = [points[0]!, lastOf(points)];
  bench.add({
    work: `CPU of a query, ${most.gateways} gateways`,
    unit: 'ms',
    better: 'less',
    ours: cost(most),
    peer: 'one gateway',
    theirs: cost(one),
    goal: NO_GOAL,
  });
}
