import { readOk, type ClusterSnapshot } from '../../snapshot.ts';
import type { EngineReader } from '../calls/reader.ts';
import type { ClusterCalls } from './cluster.ts';

/**
 * Adds what makes lost replicas and silent instances pass by themselves: when each instance joined, and which tables are being rebalanced. Both
 * only soften findings, so nothing is read where there are none, and what cannot be read is unknown.
 */
export async function withPassingStates(
  snapshot: ClusterSnapshot,
  { reader, calls }: { readonly reader: EngineReader; readonly calls: ClusterCalls },
): Promise<ClusterSnapshot> {
  const { instances, engineVersion } = snapshot;
  if (!instances.ok || !(hasSilentInstance(snapshot) || hasLostReplicas(snapshot))) return snapshot;
  const [joined, rebalances] = await Promise.all([
    reader.read(() => calls.joinTimes()),
    // A controller that does not report its version is older than 1.0, which keeps no jobs.
    engineVersion === undefined ? undefined : reader.read(() => calls.rebalancing()),
  ]);
  const joinTimes = joined.ok ? joined.value : new Map<string, number>();
  return {
    ...snapshot,
    instances: readOk(
      instances.value.map((instance) => Object.assign({}, instance, { joinedAt: joinTimes.get(instance.id) })),
    ),
    rebalancing: rebalances?.ok === true ? rebalances.value : new Set(),
  };
}

function hasSilentInstance({ instanceHealth }: ClusterSnapshot): boolean {
  return [...instanceHealth.values()].some(({ healthy }) => !healthy);
}

function hasLostReplicas({ tables }: ClusterSnapshot): boolean {
  return tables.ok && tables.value.some(({ difference }) => difference.ok && difference.value.segments.count > 0);
}
