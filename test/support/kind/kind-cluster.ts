import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installed } from '../../../tools/pinot/jvm.ts';
import { auditFlags, auditLogPath } from '../kubernetes/programs.ts';
import { runCommand, type CommandOptions, type CommandResult } from '../node/command.ts';
import { listen } from '../node/relay.ts';
import type { Cluster } from './cluster.ts';
import { kindConfig, RELAY_PORTS, relayPod } from './config.ts';
import { KUBECTL_TIMEOUT } from '../limits.ts';

/** The image of kind's node has 400 MB, and comes over the network the first time. */
const CREATE_LIMIT_MS = 900_000;
const DELETE_LIMIT_MS = 120_000;
const IMPORT_LIMIT_MS = 300_000;

/** The result of startKindCluster(); `name` is random, so that other clusters of this machine are not touched. */
interface Layout {
  readonly name: string;
  readonly directory: string;
  readonly kind: string;
  readonly kubectl: string;
}

/** A cluster of kind, in a container of Docker; its images come by {@link importImage} alone. */
export class KindCluster implements Cluster {
  readonly directory: string;
  readonly kubeconfigPath: string;
  readonly #layout: Layout;
  readonly #servers: Server[] = [];
  readonly #freePorts = Array.from(RELAY_PORTS);
  #image: string | undefined;

  constructor(layout: Layout) {
    this.directory = layout.directory;
    this.kubeconfigPath = kubeconfigOf(layout);
    this.#layout = layout;
  }

  kubectl(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const env = { KUBECONFIG: this.kubeconfigPath, ...options.env };
    return runCommand([this.#layout.kubectl, ...args], { ...options, env });
  }

  async mustKubectl(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const env = { KUBECONFIG: this.kubeconfigPath, ...options.env };
    return must([this.#layout.kubectl, ...args], { ...options, env });
  }

  inside(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    return runCommand(['docker', 'exec', '--interactive', this.#node, ...command], options);
  }

  /** The image also carries what {@link reach} needs: it has to be that of olap-warden. */
  async importImage(archive: string): Promise<void> {
    const { name, kind } = this.#layout;
    await must([kind, 'load', 'image-archive', archive, '--name', name], { timeoutMs: IMPORT_LIMIT_MS });
    const { stdout } = await must(['tar', '-xOf', archive, 'index.json']);
    const index = JSON.parse(stdout) as { manifests: { annotations?: Record<string, string> }[] };
    this.#image = index.manifests[0]?.annotations?.['io.containerd.image.name'];
  }

  /** Pods reach the host as the gateway of the node's network. */
  async expose(url: string): Promise<string> {
    const exposed = new URL(url);
    const port = portOf(exposed);
    const format = '{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}';
    const { stdout } = await must(['docker', 'inspect', '--format', format, this.#node]);
    const host = stdout.trim();
    const server = await listen({ host, port: 0 }, () => connect({ host: '127.0.0.1', port, allowHalfOpen: true }));
    server.unref();
    this.#servers.push(server);
    exposed.hostname = host;
    exposed.port = String((server.address() as AddressInfo).port);
    return exposed.href.replace(/\/$/, '');
  }

  /** By a pod in the node's network, at a port that Docker publishes. */
  async reach(url: string): Promise<string> {
    const reached = new URL(url);
    const port = this.#freePorts.shift();
    if (port === undefined) throw new Error(`no more than ${RELAY_PORTS.length} servers of the cluster can be reached`);
    if (this.#image === undefined) throw new Error('call importImage() before reach(), which uses its image');
    const pod = relayPod({ port, host: reached.hostname, target: portOf(reached), image: this.#image });
    await this.mustKubectl(['apply', '-f', '-'], { input: JSON.stringify(pod) });
    const ready = ['wait', '-n', 'default', '--for=condition=Ready', KUBECTL_TIMEOUT, `pod/relay-${port}`];
    await this.mustKubectl(ready);
    const { stdout } = await must(['docker', 'port', this.#node, `${port}/tcp`]);
    reached.hostname = '127.0.0.1';
    reached.port = stdout.trim().split(':').at(-1) ?? '';
    return reached.href.replace(/\/$/, '');
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) server.close();
    await deleteCluster(this.#layout);
  }

  /** As kind names the container of its one node. */
  get #node(): string {
    return `${this.#layout.name}-control-plane`;
  }
}

/**
 * Makes a cluster of its own; one to three minutes, more where the image of kind's node has to come first. Ask dockerWorks() first.
 * @throws {Error} with the output of kind; nothing of it is left then
 */
export async function startKindCluster(): Promise<KindCluster> {
  const kind = join(await installed('kind'), 'kind');
  const kubectl = join(await installed('kubernetes'), 'kubectl');
  const name = `olap-warden-${randomBytes(4).toString('hex')}`;
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-kind-'));
  const layout: Layout = { name, directory, kind, kubectl };
  try {
    const config = kindConfig(directory, await auditFlags(directory));
    // The API server runs as root. It appends to an existing file; a file that it creates would be readable only by root.
    await writeFile(auditLogPath(directory), '');
    process.stderr.write(
      `making the cluster \`${name}\`; if this is cut off, \`kind delete cluster --name ${name}\`\n`,
    );
    const create = [kind, 'create', 'cluster', '--name', name, '--config', '-', '--wait', '180s'];
    const target = ['--kubeconfig', kubeconfigOf(layout)];
    await must([...create, ...target], { input: config, timeoutMs: CREATE_LIMIT_MS });
    return new KindCluster(layout);
  } catch (error) {
    await deleteCluster(layout).catch((cause: unknown) => process.stderr.write(`${String(cause)}\n`));
    throw error;
  }
}

async function deleteCluster(layout: Layout): Promise<void> {
  const { kind, name, directory } = layout;
  const command = [kind, 'delete', 'cluster', '--name', name, '--kubeconfig', kubeconfigOf(layout)];
  try {
    await must(command, { timeoutMs: DELETE_LIMIT_MS });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function kubeconfigOf({ directory }: Layout): string {
  return join(directory, 'kubeconfig');
}

async function must(command: readonly string[], options?: CommandOptions): Promise<CommandResult> {
  const result = await runCommand(command, options);
  if (result.code !== 0) throw new Error(`\`${command.join(' ')}\` ended with ${result.code}: ${result.stderr}`);
  return result;
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}
