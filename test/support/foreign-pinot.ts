import type { PinotDescription } from './pinot.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

interface Instance {
  readonly hostName: string;
  readonly port: string;
  readonly adminPort: number;
}

/** Finds the brokers and servers of a running cluster by its controller. @throws {Error} when it has no broker */
export async function describeCluster(controller: string): Promise<PinotDescription> {
  const controllerUrl = controller.replace(/\/+$/, '');
  const { instances } = await get<{ instances: string[] }>(`${controllerUrl}/instances`);
  const brokerUrls: string[] = [];
  const serverAdminUrls: string[] = [];
  for (const name of instances) {
    const instance = await get<Instance>(`${controllerUrl}/instances/${encodeURIComponent(name)}`);
    const host = instance.hostName.replace(/^(Broker|Server)_/, '');
    if (name.startsWith('Broker_')) brokerUrls.push(`http://${host}:${instance.port}`);
    if (name.startsWith('Server_')) serverAdminUrls.push(`http://${host}:${instance.adminPort}`);
  }
  if (brokerUrls.length === 0) throw new Error(`the cluster of ${controllerUrl} (TEST_CONTROLLER) has no broker`);
  return { controllerUrl, brokerUrls, serverAdminUrls };
}

async function get<T>(url: string): Promise<T> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
  if (!answer.ok) throw new Error(`GET ${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}
