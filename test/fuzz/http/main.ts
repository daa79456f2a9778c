// `make fuzz-http`: raw requests against a gateway process. `SEED=… FROM=… CASES=…` repeats some of a run.
import { randomInt } from 'node:crypto';
import { fuzzCase } from './cases.ts';
import { fuzzHttp } from './run.ts';

const setting = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);
const seed = setting('SEED', randomInt(2 ** 31));
const from = setting('FROM', 0);
const count = setting('CASES', 20_000);
const write = (text: string): boolean => process.stdout.write(`${text}\n`);

write(`${count} cases from ${from} on, SEED=${seed}`);
const begun = Date.now();
const report = await fuzzHttp({
  ...{ seed, from, count },
  onBatch: (done) => {
    if (done % 1_000 === 0) write(`${done} cases in ${Math.round((Date.now() - begun) / 1_000)} s`);
  },
});
const statuses = [...report.statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${status}: ${times}`);
write(`answers: ${statuses.join(', ')}`);
for (const violation of report.violations) write(violation);
if (count === 1) {
  const shown = fuzzCase(seed, from, {
    authorization: 'Bearer svc-0000000000000000-00000000000000000000000000000000',
    pageTarget: '/query/00000000-000000000000000000000000000001/results?offset=0&numRows=2',
  });
  write(JSON.stringify({ ...shown, bytes: shown.bytes.toString('latin1') }, undefined, 2));
}
write(`${report.violations.length} violations; \`SEED=${seed} FROM=number CASES=1 make fuzz-http\` repeats one case`);
process.exitCode = report.violations.length === 0 ? 0 : 1;
