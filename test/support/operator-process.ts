// An operator as a separate process, for tests that stop and continue it:
//   node test/support/operator-process.ts KUBECONFIG NAMESPACE IDENTITY
// While it leads it writes its identity into the description of the Role `journal`, every 20 ms, through the store that is
// fenced by its lease; the test observes these writes. Prints `leading` and `following` to stdout. SIGTERM stops it gracefully.
import { runOperator } from './operator.ts';
import { StoreError } from '../../src/store/resource-store.ts';
import type { LeaderTask } from '../../src/operator/operator.ts';
import { NotLeaderError } from '../../src/operator/leader/fenced-store.ts';

const [kubeconfig = '', namespace = '', identity = ''] = process.argv.slice(2);

const journal: LeaderTask = {
  name: 'journal',
  async run(signal, { store }) {
    process.stdout.write('leading\n');
    while (!signal.aborted) {
      const role = store.get('Role', 'journal');
      try {
        if (role)
          await store.update('Role', { ...role, spec: { ...role.spec, description: `${identity} ${Date.now()}` } });
      } catch (error) {
        // A write of a version that another leader has changed, or after the lease, is rejected as expected.
        if (!(error instanceof StoreError) && !(error instanceof NotLeaderError)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    process.stdout.write('following\n');
  },
};

const running = runOperator(kubeconfig, namespace, {
  identity,
  tasks: [journal],
  // A renewal that is late on a busy machine would end the leadership, so the lease is longer than the default of 15 s.
  leaderTimes: { leaseMs: 25_000, renewDeadlineMs: 20_000, retryMs: 400 },
});
process.once('SIGTERM', () => void running.stop());
