const CALL_LIMIT_MS = 60_000;
const TAGS = ['DefaultTenant_OFFLINE', 'DefaultTenant_REALTIME'] as const;
/** The pools of each sample table, one for each replica, so that three servers have about the same load. */
const POOLS: Readonly<Record<string, readonly number[]>> = { orders: [0, 1], customers: [1, 2], types: [2] };

type Json = Readonly<Record<string, unknown>>;

async function callJson(url: string, init: RequestInit = {}): Promise<Json> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(CALL_LIMIT_MS) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${init.method ?? 'GET'} ${url}: ${answer.status} ${text.slice(0, 1_000)}`);
  return JSON.parse(text) as Json;
}

/** Gives each server of the cluster an instance pool of its own, as servers in different zones have. */
export async function assignPools(controllerUrl: string): Promise<void> {
  const { instances } = (await callJson(`${controllerUrl}/instances`)) as { instances: string[] };
  const servers = instances.filter((id) => id.startsWith('Server_')).toSorted();
  for (const [pool, id] of servers.entries()) {
    const { hostName, port, tags, adminPort, grpcPort } = await callJson(`${controllerUrl}/instances/${id}`);
    // Pinot replaces all fields.
    const pools = Object.fromEntries(TAGS.map((tag) => [tag, pool]));
    const body = JSON.stringify({
      host: hostName,
      port: Number(port),
      type: 'SERVER',
      tags,
      adminPort,
      grpcPort,
      pools,
    });
    const headers = { 'content-type': 'application/json' };
    await callJson(`${controllerUrl}/instances/${id}`, { method: 'PUT', headers, body });
  }
}

/** A sample table with a replica group for each of its replicas, each in another pool. */
export function withReplicaGroups(config: Json): Json {
  const { replication } = config['segmentsConfig'] as { replication: string };
  const replicaGroupPartitionConfig = {
    replicaGroupBased: true,
    numReplicaGroups: Number(replication),
    numInstancesPerReplicaGroup: 1,
  };
  const tagPoolConfig = { tag: TAGS[0], poolBased: true, pools: POOLS[String(config['tableName'])] };
  return { ...config, instanceAssignmentConfigMap: { OFFLINE: { tagPoolConfig, replicaGroupPartitionConfig } } };
}
