import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { installed } from '../../tools/pinot/jvm.ts';
import { Pki } from './kubernetes/pki.ts';
import { runCommand, type CommandOptions, type CommandResult } from './node/command.ts';
import { API_PORT, NODE_ADDRESS, writeConfiguration, writeKubeconfig } from './node/configuration.ts';
import { NodeBridge } from './node/node-bridge.ts';

const START_LIMIT_MS = 240_000;
const STOP_LIMIT_MS = 60_000;
const MAX_OUTPUT_CHARACTERS = 64_000;

export interface NodeOptions {
  /** CoreDNS for the names of Services and of pods behind headless ones. On by default; the first time on a machine it takes minutes to build. */
  readonly dns?: boolean;
}

/**
 * A whole single-node cluster that this process started: etcd, API server, controller manager, scheduler, containerd with runc, kubelet,
 * kube-proxy, CoreDNS, in namespaces and cgroups of their own. Its network has no way out but what {@link expose} and {@link reach} forward.
 * Images come by {@link importImage} alone.
 */
export class KubernetesNode {
  /** Credentials of a cluster administrator, for programs of the host (kubectl, helm, clients) while this process lives. */
  readonly kubeconfigPath: string;
  /** The same API server, for programs in the node's network. */
  readonly insideKubeconfigPath: string;
  /** URL of the API server on the host's loopback. */
  readonly url: string;
  /** Where kubectl is. */
  readonly binaries: string;
  /** The node's IP address, as pods see it. */
  readonly address = NODE_ADDRESS;
  /** Logs (`kubelet.log`, `containerd.log`, …) and state; deleted by stop(). */
  readonly directory: string;
  readonly #launcher: ChildProcess;
  readonly #bridge: NodeBridge;
  readonly #pid: number;
  readonly #path: string;

  constructor(started: Started) {
    this.directory = started.directory;
    this.kubeconfigPath = started.kubeconfigPath;
    this.insideKubeconfigPath = join(started.directory, 'node-admin.kubeconfig');
    this.url = started.url;
    this.binaries = started.binaries;
    this.#launcher = started.launcher;
    this.#bridge = started.bridge;
    this.#pid = started.pid;
    this.#path = started.path;
  }

  /** Runs kubectl as the administrator. A command that fails is a result, not an error. */
  kubectl(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const env = {
      KUBECONFIG: this.kubeconfigPath,
      KUBECACHEDIR: join(this.directory, 'kubectl-cache'),
      ...options.env,
    };
    return runCommand([join(this.binaries, 'kubectl'), ...args], { ...options, env });
  }

  /** As kubectl(). @throws {Error} when the command fails */
  async mustKubectl(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const result = await this.kubectl(args, options);
    if (result.code !== 0) throw new Error(`\`kubectl ${args.join(' ')}\` ended with ${result.code}: ${result.stderr}`);
    return result;
  }

  /** Runs a command on the node: in all its namespaces, with KUBECONFIG set and the node's programs (`ctr` among them) on the PATH. */
  inside(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const env = { KUBECONFIG: this.insideKubeconfigPath, PATH: this.#path, ...options.env };
    const namespaces = ['--mount', '--uts', '--ipc', '--net', '--pid', '--cgroup'];
    return runCommand(['nsenter', '--target', String(this.#pid), ...namespaces, '--', ...command], { ...options, env });
  }

  /** Imports an OCI or docker archive under the names that it carries. Pods take it with `imagePullPolicy` `IfNotPresent` or `Never`. */
  async importImage(archive: string): Promise<void> {
    const command = ['ctr', '--namespace', 'k8s.io', 'images', 'import', '--local', archive];
    const result = await this.inside(command, { timeoutMs: 120_000 });
    if (result.code !== 0) throw new Error(`containerd rejected the image \`${archive}\`: ${result.stderr}`);
  }

  /**
   * Lets pods reach a server that listens on the host's loopback.
   * @param url of the server on the host, such as `http://127.0.0.1:9000`
   * @returns the URL under which pods reach it: the same, with the node's address in place of the host
   */
  async expose(url: string): Promise<string> {
    const inside = new URL(url);
    const port = portOf(inside);
    await this.#bridge.toHost(NODE_ADDRESS, port, port);
    inside.hostname = NODE_ADDRESS;
    return inside.href.replace(/\/$/, '');
  }

  /**
   * Lets the host reach a server of the cluster: a Service's cluster IP, a pod, a node port ({@link address}).
   * @param url as it is inside, such as `http://10.96.3.4:8080`
   * @returns the URL under which this host reaches it, on 127.0.0.1 and a free port
   */
  async reach(url: string): Promise<string> {
    const outside = new URL(url);
    const port = await this.#bridge.toNode(outside.hostname, portOf(outside));
    outside.hostname = '127.0.0.1';
    outside.port = String(port);
    return outside.href.replace(/\/$/, '');
  }

  /** The end of a program's log, such as `kubelet`'s. */
  async logTail(program: string, lines = 40): Promise<string> {
    const text = await readFile(join(this.directory, `${program}.log`), 'utf8');
    return text.trimEnd().split('\n').slice(-lines).join('\n');
  }

  /** Ends every process of the node and removes its files and cgroups; less than a second, mostly. */
  async stop(): Promise<void> {
    this.#bridge.close();
    await endLauncher(this.#launcher);
  }
}

interface Started {
  readonly directory: string;
  readonly binaries: string;
  /** Where commands that run on the node are looked for. */
  readonly path: string;
  readonly kubeconfigPath: string;
  readonly url: string;
  readonly pid: number;
  readonly launcher: ChildProcess;
  readonly bridge: NodeBridge;
}

/**
 * Starts a cluster of one node, which ends with this process at the latest, however that ends; about ten seconds and 1 GB of memory.
 * Ask `canHoldNode()` of `node/machine.ts` first. The first call on a machine builds the programs, which takes minutes.
 *
 * @throws {Error} with the end of the log of the program that did not come up; nothing is left running then
 */
export async function startNode(options: NodeOptions = {}): Promise<KubernetesNode> {
  const { dns = true } = options;
  const binaries = await installed('kubernetes');
  const nodeParts = await installed('node-parts');
  const folders = [nodeParts, binaries, ...(dns ? [await installed('coredns')] : []), dirname(process.execPath)];
  const path = [...folders, process.env['PATH'], '/usr/sbin', '/sbin'].join(delimiter);
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-node-'));
  // First, so that the folder is removed with this process from now on.
  const launcher = launch(directory, { NODE_PARTS: nodeParts, PATH: path });
  try {
    await writeConfiguration({ directory, nodeParts }, dns);
    await writeFile(join(directory, 'configured'), '');
    return await connectTo(launcher, { directory, binaries, path });
  } catch (error) {
    await endLauncher(launcher);
    throw error;
  }
}

function launch(directory: string, env: Readonly<Record<string, string>>): ChildProcess {
  const launcher = spawn('bash', [join(import.meta.dirname, 'node/launch.sh'), directory], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, ...env },
  });
  launcher.unref();
  launcher.stdin?.on('error', () => {}); // a launcher that has ended reads no more; its exit is reported
  return launcher;
}

type Layout = Pick<Started, 'directory' | 'binaries' | 'path'>;

async function connectTo(launcher: ChildProcess, layout: Layout): Promise<KubernetesNode> {
  const { directory } = layout;
  await untilReady(launcher, directory);
  const pid = await initOf(launcher);
  const bridge = new NodeBridge(directory, pid);
  try {
    const url = `https://127.0.0.1:${await bridge.toNode(NODE_ADDRESS, API_PORT)}`;
    const kubeconfigPath = await writeKubeconfig(directory, new Pki(join(directory, 'pki')), 'admin', 'admin', url);
    return new KubernetesNode({ ...layout, kubeconfigPath, url, pid, launcher, bridge });
  } catch (error) {
    bridge.close();
    throw error;
  }
}

async function untilReady(launcher: ChildProcess, directory: string): Promise<void> {
  let output = '';
  for (const stream of [launcher.stdout, launcher.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT_CHARACTERS);
    });
  }
  const deadline = Date.now() + START_LIMIT_MS;
  while (!existsSync(join(directory, 'ready'))) {
    if (launcher.exitCode !== null || launcher.signalCode !== null)
      throw new Error(`the node did not start:\n${output}`);
    if (Date.now() > deadline) throw new Error(`the node was not ready after ${START_LIMIT_MS} ms:\n${output}`);
    await sleep(100);
  }
}

/** The process that is number 1 on the node: launch.sh → unshare → init.sh. */
async function initOf(launcher: ChildProcess): Promise<number> {
  let pid = launcher.pid ?? 0;
  for (let generation = 0; generation < 2; generation++) {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    pid = Number(children.trim());
    if (!Number.isInteger(pid) || pid === 0)
      throw new Error(`the processes of the node are not as expected: \`${children}\``);
  }
  return pid;
}

async function endLauncher(launcher: ChildProcess): Promise<void> {
  if (launcher.exitCode !== null || launcher.signalCode !== null) return;
  const exited = once(launcher, 'exit').then(() => true);
  launcher.ref();
  launcher.stdin?.end();
  const limit = new AbortController();
  const late = sleep(STOP_LIMIT_MS, false, { signal: limit.signal }).catch(() => true);
  const ended = await Promise.race([exited, late]);
  limit.abort();
  if (!ended)
    throw new Error(
      `the node (${basename(launcher.spawnargs.at(-1) ?? '')}) has not exited within ${STOP_LIMIT_MS} ms`,
    );
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}
