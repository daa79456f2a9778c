import { spawnSync } from 'node:child_process';

const DOCKER_LIMIT_MS = 10_000;

/** The cluster for the tests of a release; `otherwiseNode`: the node in namespaces is used if kind cannot create its cluster. */
export type Choice =
  | { readonly cluster: 'kind'; readonly otherwiseNode: boolean }
  | { readonly cluster: 'node' }
  | { readonly cluster: 'none'; readonly obstacle: string };

export interface Machine {
  /** The result of dockerWorks(). */
  readonly docker: boolean;
  /** The result of canHoldNode(). */
  readonly nodeObstacle: string | undefined;
}

/**
 * kind where Docker works, else the node in namespaces.
 * @param wanted the environment's E2E_CLUSTER
 * @throws {Error} if the requested one is not possible, because its tests must not be skipped
 */
export function chooseCluster(wanted: string | undefined, { docker, nodeObstacle }: Machine): Choice {
  switch (wanted) {
    case undefined:
    case '':
      if (docker) return { cluster: 'kind', otherwiseNode: nodeObstacle === undefined };
      if (nodeObstacle === undefined) return { cluster: 'node' };
      return { cluster: 'none', obstacle: `kind needs a Docker that works here; ${nodeObstacle}` };
    case 'kind':
      if (!docker) throw new Error('E2E_CLUSTER=kind needs Linux and a Docker that works: `docker info` fails');
      return { cluster: 'kind', otherwiseNode: false };
    case 'node':
      if (nodeObstacle !== undefined) throw new Error(`E2E_CLUSTER=node is not possible: ${nodeObstacle}`);
      return { cluster: 'node' };
    default:
      throw new Error(`E2E_CLUSTER is \`${wanted}\`; it must be \`node\`, \`kind\` or unset`);
  }
}

/** Whether `docker info` succeeds: the program without its daemon is not enough. Pods can reach this host by Docker's bridge only on Linux. */
export function dockerWorks(env: NodeJS.ProcessEnv = process.env): boolean {
  if (process.platform !== 'linux') return false;
  return spawnSync('docker', ['info'], { env, stdio: 'ignore', timeout: DOCKER_LIMIT_MS }).status === 0;
}
