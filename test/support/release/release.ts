import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runCommand } from '../node/command.ts';
import type { Cluster } from '../kind/cluster.ts';
import { helmTools } from '../../../tools/helm/render.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const CHART = join(ROOT, 'charts/olap-warden');
const RELEASED = join(ROOT, 'test/fixtures/released');
const HELM_LIMIT_MS = 300_000;

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
  };
}

/** The chart of the newest release, as its users have it. */
export function releasedChart(): string {
  const releases = readdirSync(RELEASED).filter((name) => existsSync(join(RELEASED, name, 'chart.tgz')));
  const newest = releases.sort(new Intl.Collator('en', { numeric: true }).compare).at(-1);
  if (newest === undefined) throw new Error(`there is no chart in \`${RELEASED}\``);
  return join(RELEASED, newest, 'chart.tgz');
}

/** The fields of a pod that tests use. */
export interface PodState {
  readonly name: string;
  readonly uid: string;
  readonly ip: string;
  readonly ready: boolean;
  readonly restarts: number;
}

/** The chart on a real cluster, used by helm and kubectl. */
export class Release {
  readonly node: Cluster;
  readonly namespace: string;
  readonly name = 'olap-warden';

  constructor(node: Cluster, namespace: string) {
    this.node = node;
    this.namespace = namespace;
  }

  /** Packs the sources as an image, without any container tool, and hands it to the node. @param image with a tag */
  async loadImage(image: string): Promise<void> {
    const archive = join(this.node.directory, 'image.tar');
    const command = [process.execPath, join(ROOT, 'tools/image/oci-archive.ts'), archive, image];
    const { code, stderr } = await runCommand(command, { timeoutMs: 300_000 });
    if (code !== 0) throw new Error(`the image could not be packed: ${stderr}`);
    await this.node.importImage(archive);
  }

  /** Runs helm against the node. @returns its output @throws with all that it wrote when it fails */
  async helm(args: readonly string[], values: object = {}): Promise<string> {
    const command = [join(await helmTools(), 'helm'), ...args, '--namespace', this.namespace];
    const env = { KUBECONFIG: this.node.kubeconfigPath };
    const input = JSON.stringify(values);
    const { code, stdout, stderr } = await runCommand(command, { env, input, timeoutMs: HELM_LIMIT_MS });
    if (code !== 0) throw new Error(`\`helm ${args.join(' ')}\` ended with ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  /** Installs or upgrades the release and waits until all of its pods are ready. */
  async deploy(values: object): Promise<void> {
    await this.helm([...this.#upgrade(CHART), '--wait', '--timeout', '240s'], values).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await this.describePods()}`, { cause: error });
    });
  }

  /** Installs the chart of the last release. The image is that of the tree, which needs newer definitions: its pods do not get ready. */
  async deployReleased(values: object): Promise<void> {
    await this.helm(this.#upgrade(releasedChart()), values);
  }

  #upgrade(chart: string): string[] {
    return ['upgrade', '--install', this.name, chart, '--values', '-'];
  }

  /** kubectl in the release's namespace. @throws when it fails */
  async kubectl(...args: string[]): Promise<string> {
    return (await this.node.mustKubectl(['-n', this.namespace, ...args])).stdout;
  }

  async apply(...objects: object[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    await this.node.mustKubectl(['-n', this.namespace, 'apply', '-f', '-'], { input });
  }

  /** Creates an object as the gateway's account does. */
  async createAsGateway(object: object): Promise<void> {
    const as = ['--as', `system:serviceaccount:${this.namespace}:${this.name}-gateway`];
    const create = ['create', '--field-manager=olap-warden-gateway', '-f', '-'];
    await this.node.mustKubectl(['-n', this.namespace, ...as, ...create], { input: JSON.stringify(object) });
  }

  async pods(component: 'operator' | 'gateway'): Promise<PodState[]> {
    const label = `app.kubernetes.io/component=${component}`;
    const { items } = JSON.parse(await this.kubectl('get', 'pods', '-l', label, '-o', 'json')) as { items: Pod[] };
    return items.map(({ metadata, status }) => ({
      name: metadata.name,
      uid: metadata.uid,
      ip: status.podIP ?? '',
      ready: status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false,
      restarts: (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
    }));
  }

  /** Kills a pod without a grace period, like a failed node. */
  async kill(pod: string): Promise<void> {
    await this.kubectl('delete', 'pod', pod, '--grace-period=0', '--force', '--wait=false');
  }

  /** Kills the process of a pod, which its kubelet then starts again. */
  async killProcess(pod: string): Promise<void> {
    const container = await this.kubectl(
      'get',
      'pod',
      pod,
      '-o',
      'jsonpath={.status.containerStatuses[0].containerID}',
    );
    const id = container.replace('containerd://', '');
    const command = ['ctr', '--namespace', 'k8s.io', 'tasks', 'kill', '--signal', 'SIGKILL', id];
    const { code, stderr } = await this.node.inside(command);
    if (code !== 0) throw new Error(`the process of \`${pod}\` could not be killed: ${stderr}`);
  }

  /** The leader, and the number of changes. */
  async lease(): Promise<{ readonly holderIdentity: string; readonly leaseTransitions: number }> {
    const { spec } = JSON.parse(await this.kubectl('get', 'lease', `${this.name}-operator`, '-o', 'json')) as {
      spec: { holderIdentity: string; leaseTransitions: number };
    };
    return spec;
  }

  /** The pod that leads. */
  async leader(): Promise<string> {
    const { holderIdentity: holder } = await this.lease();
    const pods = await this.pods('operator');
    return pods.find(({ name }) => holder.startsWith(name))?.name ?? holder;
  }

  /** Diagnostics for a failed start. */
  async describePods(): Promise<string> {
    const parts = await Promise.all([
      this.node.kubectl(['-n', this.namespace, 'get', 'pods', '-o', 'wide']),
      this.node.kubectl(['-n', this.namespace, 'get', 'events', '--sort-by=.lastTimestamp']),
      this.node.kubectl([
        '-n',
        this.namespace,
        'logs',
        '-l',
        'app.kubernetes.io/name=olap-warden',
        '--tail=15',
        '--prefix',
      ]),
    ]);
    return parts.map(({ stdout, stderr }) => stdout + stderr).join('\n');
  }
}
