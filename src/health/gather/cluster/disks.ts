import { readFailed, readOk, type DiskUsage, type Instance, type InstanceHealth, type Read } from '../../snapshot.ts';
import { StatusError } from '../calls/call.ts';
import type { ClusterCalls } from './cluster.ts';
import { objectOf } from '../json-values.ts';
import type { EngineReader } from '../calls/reader.ts';
import { FairQueue } from '../../../platform/fair-queue.ts';

const CALLS_AT_ONCE = 32;

export interface DiskOptions {
  readonly reader: EngineReader;
  readonly calls: ClusterCalls;
  readonly scheme: 'http' | 'https';
}

/**
 * Reads how full the disks of the live servers are. A server whose `/health` did not respond is not called.
 * @returns by server; without servers that do not report it, as those of Pinot 0.11
 */
export async function readDisks(
  { reader, calls, scheme }: DiskOptions,
  instances: readonly Instance[],
  health: ReadonlyMap<string, InstanceHealth>,
): Promise<Map<string, Read<DiskUsage>>> {
  const queue = FairQueue.ofJobs('disks', CALLS_AT_ONCE);
  const servers = instances.filter(({ type, enabled, live }) => type === 'server' && enabled && live);
  const read = async ({ id, host, adminPort }: Instance): Promise<Read<DiskUsage> | undefined> => {
    const state = health.get(id);
    if (state === undefined || adminPort === undefined) return undefined;
    if (state.unreachable) return readFailed(`not read, because \`${state.url}\` did not respond`);
    const usage = await reader.read(async () => {
      try {
        return diskUsage(await reader.json(calls.diskUtilization(host, adminPort, scheme)));
      } catch (error) {
        if (error instanceof StatusError && error.status === 404) return undefined;
        throw error;
      }
    });
    if (!usage.ok) return usage;
    return usage.value === undefined ? undefined : readOk(usage.value);
  };
  const reads = await Promise.all(
    servers.map(async (server) => [server.id, await queue.run(() => read(server))] as const),
  );
  // All servers have the same version: where one reports its disk, the others can.
  const missing = reads.some(([, usage]) => usage?.ok)
    ? readFailed('the server does not report it, but others do')
    : undefined;
  return new Map(
    reads.flatMap(([id, usage = missing]): [string, Read<DiskUsage>][] => (usage === undefined ? [] : [[id, usage]])),
  );
}

function diskUsage(body: unknown): DiskUsage {
  const { path, totalSpaceBytes: total, usedSpaceBytes: used } = objectOf(body);
  if (typeof total !== 'number' || typeof used !== 'number' || !(total > 0) || !(used >= 0)) {
    throw new Error('the response has no `totalSpaceBytes` and `usedSpaceBytes`');
  }
  return { path: typeof path === 'string' ? path : '', totalBytes: total, usedBytes: used };
}
