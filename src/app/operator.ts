import { observeStore } from '../api/server/metrics.ts';
import type { Boot } from './parts/boot.ts';
import { watchDefinitions } from './parts/definitions.ts';
import { openEngine } from './parts/engine.ts';
import { openFurtherClusters } from './parts/further-clusters.ts';
import { openKubernetesStore, openTransport } from './parts/kubernetes.ts';
import { startControllers } from './parts/controllers.ts';
import { resultCleaner } from './parts/queries.ts';
import type { ServiceDefinition } from './service.ts';

/** Reconciles the custom resources and runs the health checks and the cleaner, on one elected replica. */
export const operator: ServiceDefinition = { name: 'operator', defaultHost: '0.0.0.0', compose };

/** `/readyz` fails after this time without contact to the API server. */
const MAX_AGE_MS = 60_000;

async function compose(boot: Boot): Promise<undefined> {
  const { readiness, registry } = boot;
  const transport = await openTransport(boot);
  const store = openKubernetesStore(boot, transport);
  observeStore(registry, () => store.health());
  watchDefinitions(boot, transport);
  const engine = await openEngine(boot);
  const furtherClusters = await openFurtherClusters(boot);
  const tasks = await resultCleaner(boot, furtherClusters);
  const running = startControllers(boot, { store, engine, transport, tasks, furtherClusters });
  readiness.set('resources', () => {
    const { ageMs, lastError } = store.health();
    if (!running.ready()) return `not synced${lastError === undefined ? '' : `: ${lastError}`}`;
    return ageMs > MAX_AGE_MS ? `no contact to the Kubernetes API for ${Math.round(ageMs / 1000)} s` : undefined;
  });
}
