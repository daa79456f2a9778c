import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster, type RunningCluster } from '../../../tools/pinot/cluster.ts';
import { loadSampleTables } from '../../../tools/pinot/tables.ts';
import { PinotClient, type PinotDescription } from '../pinot.ts';
import type { KubernetesNode } from '../node.ts';

export interface NodePinot {
  /** URLs as pods reach them; the controller lists its brokers with such URLs, too. */
  readonly inside: PinotDescription;
  /** The same cluster by URLs of this host. */
  readonly client: PinotClient;
  stop(): Promise<void>;
}

export interface NodePinotOptions {
  /** 1 by default. */
  readonly brokers?: number;
  /** 2 by default, as many as the sample tables have replicas. */
  readonly servers?: number;
  /** Names of sample tables to load (`orders`, `customers`, `types`); none by default. */
  readonly tables?: readonly string[];
}

/**
 * Starts a Pinot in the node's network, on the node's address, so that pods find its brokers through its controller as they do in a real
 * cluster. It is a process of the host otherwise and ends with this one.
 */
export async function startNodePinot(node: KubernetesNode, options: NodePinotOptions = {}): Promise<NodePinot> {
  const { brokers = 1, servers = 2, tables = [] } = options;
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-pinot-'));
  let cluster: RunningCluster | undefined;
  async function stop(): Promise<void> {
    await cluster?.stop();
    await rm(directory, { recursive: true, force: true });
  }
  try {
    const place = { host: node.address, commandPrefix: node.networkPrefix };
    cluster = await startCluster({ directory, brokers, servers, ...place });
    const { controllerUrl, brokerUrls, serverAdminUrls } = cluster;
    const client = new PinotClient({
      controllerUrl: await node.reach(controllerUrl),
      brokerUrls: await Promise.all(brokerUrls.map((url) => node.reach(url))),
      serverAdminUrls: await Promise.all(serverAdminUrls.map((url) => node.reach(url))),
    });
    if (tables.length > 0) await loadSampleTables(client, () => undefined, tables);
    return { inside: { controllerUrl, brokerUrls, serverAdminUrls }, client, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
