// Runs one suite in a separate process, because peers need memory, and a failure of one suite must not end the others. Sends its findings over the
// channel to its parent. Argument: the name of the suite.
import type { Finding } from './frame/bench.ts';
import { Bench } from './frame/bench.ts';
import type { Suite } from './suites.ts';

const [name = ''] = process.argv.slice(2);
const suite = (await import(new URL(`suites/${name}.ts`, import.meta.url).href)) as Suite;
await suite.run(new Bench((finding: Finding) => void process.send?.(finding)));
// Open handles of a peer must not keep the process.
process.disconnect?.();
process.exit(0);
