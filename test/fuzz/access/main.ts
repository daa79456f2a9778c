// `make fuzz-access`: random administrators make random changes. `SEED=… FROM=… WALKS=…` repeats some of a run.
import { randomInt } from 'node:crypto';
import { memoryWorld } from '../../support/walks/memory-world.ts';
import { walk } from '../../support/walks/walk.ts';

const setting = (name: string, otherwise: number): number => Number(process.env[name] || otherwise);
const seed = setting('SEED', randomInt(2 ** 31));
const from = setting('FROM', 0);
const count = setting('WALKS', 20_000);
const write = (text: string): boolean => process.stdout.write(`${text}\n`);

write(`${count} walks from ${from} on, SEED=${seed}`);
const begun = Date.now();
const totals = new Map<string, number>();
let violations = 0;
for (let index = from; index < from + count; index++) {
  const report = await walk(memoryWorld(), seed + index);
  for (const violation of report.violations) write(`walk ${index}: ${violation}`);
  violations += report.violations.length;
  for (const [outcome, times] of report.outcomes) totals.set(outcome, (totals.get(outcome) ?? 0) + times);
  if ((index + 1 - from) % 1_000 === 0)
    write(`${index + 1 - from} walks in ${Math.round((Date.now() - begun) / 1_000)} s`);
}
write(
  [...totals]
    .sort()
    .map(([outcome, times]) => `${outcome}: ${times}`)
    .join('\n'),
);
write(`${violations} violations; \`SEED=${seed} FROM=number WALKS=1 make fuzz-access\` repeats one walk`);
process.exitCode = violations === 0 ? 0 : 1;
