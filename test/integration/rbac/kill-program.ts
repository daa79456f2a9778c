// Writes through the RBAC manager until it is killed. Prints `<item> <number of acknowledged steps>` after each step, and `ready` at first.
// Arguments: prefix of the items' names, and `folder <path>` or `kubernetes <kubeconfig> <namespace>`.
import { Directory } from '../../../src/access/directory.ts';
import { RbacManager } from '../../../src/access/manager/manager.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { openStore } from './kill-stores.ts';
import { STEPS } from './kill-steps.ts';

const WORKERS = 4;

const [prefix = '', ...where] = process.argv.slice(2);
const { store } = await openStore(where);
const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' });
const manager = new RbacManager({ store, directory, clock: systemClock });
process.stdout.write('ready\n');

async function work(worker: number): Promise<never> {
  for (let number = 0; ; number++) {
    const item = `${prefix}-${worker}-${number}`;
    // Every second item stays.
    const steps = number % 2 === 0 ? STEPS.length : 7;
    for (const [index, { run }] of STEPS.slice(0, steps).entries()) {
      await run(manager, item);
      // A pipe is written synchronously: what was acknowledged is known whatever happens next.
      process.stdout.write(`${item} ${index + 1}\n`);
    }
  }
}

await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
