// `make fuzz-access`: random administrators make random changes. `SEED=… WALKS=…` repeats some of a run; `STORE=` selects the store.
import { randomInt } from 'node:crypto';
import { startControlPlane } from '../../support/control-plane.ts';
import { memoryWorld } from '../../support/walks/memory-world.ts';
import { folderWorld, kubernetesWorld, type OpenWorld } from '../../support/walks/real-worlds.ts';
import { walks } from '../../support/walks/report.ts';

const setting = (name: string, otherwise: number): number => Number(process.env[name] || otherwise);
const seed = setting('SEED', randomInt(2 ** 30));
const count = setting('WALKS', 20_000);
const store = process.env['STORE'] || 'memory';
const write = (text: string): boolean => process.stdout.write(`${text}\n`);

/** Opens the worlds, each for one walk at a time. */
const OPEN: Readonly<Record<string, () => Promise<{ worlds: OpenWorld[]; stop: () => Promise<void> }>>> = {
  memory: async () => ({ worlds: [{ ...memoryWorld(), close: async () => {} }], stop: async () => {} }),
  folder: async () => ({
    worlds: await Promise.all(Array.from({ length: setting('PARALLEL', 4) }, () => folderWorld())),
    stop: async () => {},
  }),
  kubernetes: async () => {
    const plane = await startControlPlane();
    await plane.applyCrds();
    const worlds = await Promise.all(Array.from({ length: setting('PARALLEL', 6) }, () => kubernetesWorld(plane)));
    return { worlds, stop: () => plane.stop() };
  },
};

const open = OPEN[store];
if (open === undefined) throw new Error(`STORE=${store}: one of ${Object.keys(OPEN).join(', ')} was expected`);
const { worlds, stop } = await open();
write(`${count} walks on ${worlds.length} × ${store}, SEED=${seed}`);
const begun = Date.now();
try {
  const report = await walks(worlds, {
    seed,
    count,
    onWalk: (done, nextSeed) => {
      if (done % Math.min(1_000, Math.ceil(count / 20)) !== 0) return;
      write(`${done} walks in ${Math.round((Date.now() - begun) / 1_000)} s; next SEED=${nextSeed}`);
    },
  });
  for (const violation of report.violations) write(violation);
  const outcomes = [...report.outcomes].sort().map(([outcome, times]) => `${outcome}: ${times}`);
  write(outcomes.join('\n'));
  write(`${report.walks} walks, ${report.skipped} others whose administrators may do everything from the beginning`);
  write(
    `${report.violations.length} violations; \`SEED=number WALKS=1 STORE=${store} make fuzz-access\` repeats a walk`,
  );
  process.exitCode = report.violations.length === 0 ? 0 : 1;
} finally {
  for (const world of worlds) await world.close();
  await stop();
}
