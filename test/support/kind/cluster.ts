import { startNode, type KubernetesNode } from '../node.ts';
import { canHoldNode } from '../node/machine.ts';
import { chooseCluster, dockerWorks, type Choice } from './choice.ts';
import { startKindCluster } from './kind-cluster.ts';

/** A real cluster; its members have the meaning of those of KubernetesNode. `directory` contains the API server's audit log. */
export type Cluster = Pick<
  KubernetesNode,
  'directory' | 'kubeconfigPath' | 'kubectl' | 'mustKubectl' | 'inside' | 'importImage' | 'expose' | 'reach' | 'stop'
>;

function choiceHere(): Choice {
  return chooseCluster(process.env['E2E_CLUSTER'], { docker: dockerWorks(), nodeObstacle: canHoldNode() });
}

/** Why startCluster() cannot work on this machine, for tests to be skipped with; undefined when it can. @throws {Error} as chooseCluster() */
export function canHoldCluster(): string | undefined {
  const choice = choiceHere();
  return choice.cluster === 'none' ? choice.obstacle : undefined;
}

/** Starts the cluster for this machine, see chooseCluster(). @throws {Error} if it does not start; nothing is left running then */
export async function startCluster(): Promise<Cluster> {
  const choice = choiceHere();
  if (choice.cluster === 'none') throw new Error(choice.obstacle);
  if (choice.cluster === 'node') return startNode();
  try {
    return await startKindCluster();
  } catch (error) {
    if (!choice.otherwiseNode) throw error;
    process.stderr.write(`kind could not make its cluster, so the node in namespaces is used: ${String(error)}\n`);
    return startNode();
  }
}
