import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until.ts';
import { FAULT_MS, type Figures } from './figures.ts';
import { Client, longest, type Outcome, statuses } from './load.ts';

export interface Fault {
  readonly name: string;
  readonly begin: () => unknown;
  readonly end: () => unknown;
}

export interface Seen {
  readonly reads: readonly Outcome[];
  readonly writes: readonly Outcome[];
}

/** One client reads and another one writes for the time of a fault, until both succeed again. Its figures are a row. */
export async function observe(
  figures: Figures,
  { name, begin, end }: Fault,
  read: () => Promise<Outcome>,
  write: () => Promise<Outcome>,
): Promise<Seen> {
  const [reads, writes] = [new Client(read, 50), new Client(write, 50)];
  await until('both clients are served', () => reads.lastGoodAt > 0 && writes.lastGoodAt > 0);
  await begin();
  await delay(FAULT_MS);
  await end();
  const endedAt = performance.now();
  await until('both are served again', () => reads.lastGoodAt >= endedAt && writes.lastGoodAt >= endedAt);
  const recoveredMs = performance.now() - endedAt;
  const seen = { reads: await reads.stop(), writes: await writes.stop() };
  const text = `reads ${statuses(seen.reads)}; writes ${statuses(seen.writes)}`;
  figures.add({ fault: name, seen: text, longest: longest([...seen.reads, ...seen.writes]), recoveredMs });
  return seen;
}
