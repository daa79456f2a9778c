import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Bench, formatTable, writeResults } from './harness.ts';

/** The export of a file in `bench/suites/`. */
export interface Suite {
  /** Measures and adds rows; cleans up after itself. */
  run(bench: Bench): Promise<void>;
}

/** In the order of execution. Each is imported when it runs, because peers need memory. */
const SUITES = ['decisions', 'kubernetes', 'health', 'pages', 'export', 'proxy', 'stall'] as const;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const fileOf = (name: string): URL => new URL(`suites/${name}.ts`, import.meta.url);

const only = process.argv[2] || process.env['ONLY'];
const known = SUITES.filter((name) => existsSync(fileOf(name)));
const chosen = only ? known.filter((name) => only.split(',').includes(name)) : known;
if (chosen.length === 0) {
  print(`unknown benchmark \`${only}\`; known are ${known.join(', ')}`);
  process.exit(2);
}

const rows = [];
for (const name of chosen) {
  print(name);
  const suite = (await import(fileOf(name).href)) as Suite;
  const bench = new Bench(print);
  await suite.run(bench);
  rows.push(...bench.rows);
}
await writeResults(fileURLToPath(new URL('results.json', import.meta.url)), rows);
print('');
print(formatTable(rows));
const missed = rows.filter(({ met }) => !met);
if (missed.length > 0) {
  print(`\n${missed.length} of ${rows.length} goals were missed`);
  process.exitCode = 1;
}
