import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { searchCluster } from './credential-search.ts';
import { Pki } from './kubernetes/pki.ts';
import { freePorts, Processes } from './kubernetes/processes.ts';
import {
  apiserverFlags,
  argumentsOf,
  auditFlags,
  certificateUser,
  controllerManagerFlags,
  createControlPlanePki,
  etcdFlags,
  issueClient,
  writeKubeconfigFile,
} from './kubernetes/programs.ts';
import { runCommand, type CommandResult } from './node/command.ts';
import { KUBECTL_TIMEOUT, WAIT_LIMIT_MS } from './limits.ts';
import { execute } from './execute.ts';

const root = join(import.meta.dirname, '../..');

export interface ControlPlaneOptions {
  /** Starts kube-controller-manager too: default service accounts, namespace and owner garbage collection. Off by default. */
  readonly controllerManager?: boolean;
  /** Writes every request's metadata to `audit.log` in the control plane's folder, one JSON event a line. */
  readonly auditLog?: boolean;
  readonly apiserverArgs?: readonly string[];
  readonly etcdArgs?: readonly string[];
}

export type { CommandResult };

/** What another process needs to use a running control plane; plain data, for tests that share one. */
export interface ControlPlaneDescription {
  readonly directory: string;
  readonly binaries: string;
  readonly url: string;
  readonly etcdUrl: string;
}

/** A running control plane, with the operations that any process may use. */
export class ControlPlaneClient {
  readonly description: ControlPlaneDescription;
  /** Credentials of a cluster administrator (group system:masters). */
  readonly kubeconfigPath: string;
  readonly url: string;
  readonly #pki: Pki;

  constructor(description: ControlPlaneDescription) {
    this.description = description;
    this.url = description.url;
    this.kubeconfigPath = join(description.directory, 'admin.kubeconfig');
    this.#pki = new Pki(join(description.directory, 'pki'));
  }

  /** Path of a new kubeconfig that authenticates as `user` in `groups` by a client certificate. */
  async kubeconfig(
    user: string,
    groups: readonly string[] = [],
    options: { namespace?: string } = {},
  ): Promise<string> {
    const name = `user-${randomBytes(6).toString('hex')}`;
    await issueClient(this.#pki, name, user, ...groups);
    return this.#writeKubeconfig(name, await certificateUser(this.#pki, name), options.namespace);
  }

  /** Path of a new kubeconfig with a token of the service account, which is created if it does not exist. The caller grants its rights. */
  async serviceAccountKubeconfig(namespace: string, name: string): Promise<string> {
    const token = await this.serviceAccountToken(namespace, name);
    return this.#writeKubeconfig(`sa-${randomBytes(6).toString('hex')}`, { token }, namespace);
  }

  /** A token of the service account, which is created if it does not exist. */
  async serviceAccountToken(
    namespace: string,
    name: string,
    options: { audience?: string; durationSeconds?: number } = {},
  ): Promise<string> {
    const created = await this.kubectl(['create', 'serviceaccount', name, '-n', namespace]);
    if (created.code !== 0 && !created.stderr.includes('already exists')) throw commandError(created);
    const args = ['create', 'token', name, '-n', namespace, '--duration', `${options.durationSeconds ?? 3600}s`];
    if (options.audience !== undefined) args.push('--audience', options.audience);
    return (await this.mustKubectl(args)).stdout.trim();
  }

  /** Runs kubectl as the administrator. A command that fails is a result, not an error. */
  async kubectl(
    args: readonly string[],
    options: { input?: string; kubeconfig?: string; timeoutMs?: number } = {},
  ): Promise<CommandResult> {
    const env = {
      KUBECONFIG: options.kubeconfig ?? this.kubeconfigPath,
      KUBECACHEDIR: join(this.description.directory, 'kubectl-cache'),
    };
    return runCommand([join(this.description.binaries, 'kubectl'), ...args], { ...options, env });
  }

  /** As kubectl(). @throws when the command fails */
  async mustKubectl(
    args: readonly string[],
    options: { input?: string; kubeconfig?: string } = {},
  ): Promise<CommandResult> {
    const result = await this.kubectl(args, options);
    if (result.code !== 0) throw commandError(result, args);
    return result;
  }

  /** Applies `crds/` and waits until all are served. */
  async applyCrds(): Promise<void> {
    const crds = join(root, 'crds');
    const files = (await readdir(crds)).filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml');
    const named = files.flatMap((file) => ['-f', join(crds, file)]);
    await this.mustKubectl(['apply', '--server-side', '--force-conflicts', ...named]);
    await this.mustKubectl(['wait', '--for=condition=Established', KUBECTL_TIMEOUT, ...named]);
    await this.#untilServed();
  }

  /** An established kind is not immediately served by every part of an API server. */
  async #untilServed(): Promise<void> {
    const args = ['apply', '--dry-run=server', '-f', join(root, 'manifests/samples')];
    const deadline = Date.now() + WAIT_LIMIT_MS;
    for (;;) {
      const result = await this.kubectl(args);
      if (result.code === 0) return;
      if (Date.now() > deadline || !result.stderr.includes('There can be a delay')) throw commandError(result, args);
    }
  }

  /** Creates a namespace with a unique name. */
  async createNamespace(prefix = 'test'): Promise<string> {
    const name = `${prefix}-${randomBytes(5).toString('hex')}`;
    await this.mustKubectl(['create', 'namespace', name]);
    return name;
  }

  /** Used once by startControlPlane for the administrator and the control plane's own parts. */
  async writeCertificateKubeconfig(name: string): Promise<string> {
    return this.#writeKubeconfig(name, await certificateUser(this.#pki, name), undefined);
  }

  #writeKubeconfig(name: string, user: Record<string, string>, namespace: string | undefined): Promise<string> {
    const path = join(this.description.directory, `${name}.kubeconfig`);
    return writeKubeconfigFile(this.#pki, { path, server: this.url, user, namespace });
  }
}

/** A control plane that this process started, and that ends with it. */
export class ControlPlane extends ControlPlaneClient {
  readonly #processes: Processes;
  readonly #apiserver: readonly string[];
  readonly #etcd: readonly string[];
  readonly #probe: Agent;

  /** @param flags of the programs */
  constructor(
    description: ControlPlaneDescription,
    processes: Processes,
    flags: { readonly apiserver: readonly string[]; readonly etcd: readonly string[] },
    probe: Agent,
  ) {
    super(description);
    this.#processes = processes;
    this.#apiserver = flags.apiserver;
    this.#etcd = flags.etcd;
    this.#probe = probe;
  }

  /** The end of `etcd`'s, `kube-apiserver`'s or `kube-controller-manager`'s log. */
  async logTail(name: string, lines?: number): Promise<string> {
    return this.#processes.logTail(name, lines);
  }

  /** Freezes kube-apiserver: its connections stay open without data. */
  pause(): void {
    this.#processes.get('kube-apiserver').kill('SIGSTOP');
  }

  resume(): void {
    this.#processes.get('kube-apiserver').kill('SIGCONT');
  }

  /** Freezes etcd: writes and consistent reads of the API server wait. */
  pauseEtcd(): void {
    this.#processes.get('etcd').kill('SIGSTOP');
  }

  resumeEtcd(): void {
    this.#processes.get('etcd').kill('SIGCONT');
  }

  /** Kills etcd and starts it again on the same port and data. */
  async restartEtcd(): Promise<void> {
    await this.#processes.kill('etcd');
    this.#processes.start('etcd', join(this.description.binaries, 'etcd'), this.#etcd);
    await this.#processes.waitUntil('etcd', async () => isReady(`${this.description.etcdUrl}/health`, this.#probe));
  }

  /** Kills kube-apiserver (by default without warning) and starts it again on the same port and data; resolves when it is ready. */
  async restart(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.stopApiserver(signal);
    await this.startApiserver();
  }

  async stopApiserver(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.#processes.kill('kube-apiserver', signal);
  }

  async startApiserver(): Promise<void> {
    this.#processes.start('kube-apiserver', join(this.description.binaries, 'kube-apiserver'), this.#apiserver);
    await this.#processes.waitUntil('kube-apiserver', async () => isReady(`${this.url}/readyz`, this.#probe));
  }

  /** Kills all parts and removes their folder. */
  async stop(): Promise<void> {
    await searchCluster(this.description.etcdUrl);
    await this.#probe.destroy();
    await this.#processes.stop();
  }
}

/**
 * Starts etcd and kube-apiserver (and kube-controller-manager, if requested) on free ports of 127.0.0.1 in a temporary folder; about three seconds.
 * They end when stop() is called or this process ends in whatever way. The first call on a machine builds the binaries, which takes minutes.
 *
 * @throws with the end of the log of the part that did not start
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = await installedBinaries();
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-control-plane-'));
  const processes = new Processes(directory);
  try {
    return await start(options, binaries, directory, processes);
  } catch (error) {
    await processes.stop();
    throw error;
  }
}

/**
 * The control plane that all tests of a run share, started by the first request. Use your own namespaces; a test that restarts or pauses
 * the API server starts its own.
 */
export async function sharedControlPlane(): Promise<ControlPlaneClient> {
  // Imported here, because benchmarks and the global set-up start control planes outside of vitest's workers.
  const { sharedPart } = await import('./shared-parts.ts');
  return new ControlPlaneClient(await sharedPart('controlPlane'));
}

async function start(
  options: ControlPlaneOptions,
  binaries: string,
  directory: string,
  processes: Processes,
): Promise<ControlPlane> {
  const [apiPort, etcdPort, peerPort, managerPort] = (await freePorts(4)) as [number, number, number, number];
  const url = `https://127.0.0.1:${apiPort}`;
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const pki = new Pki(join(directory, 'pki'));
  await mkdir(pki.directory, { mode: 0o700 });
  await createControlPlanePki(pki, []);
  const etcd = [...argumentsOf(etcdFlags(directory, etcdUrl, peerUrl)), ...(options.etcdArgs ?? [])];
  processes.start('etcd', join(binaries, 'etcd'), etcd);
  const probe = new Agent({ connect: { rejectUnauthorized: false }, headersTimeout: 20_000, bodyTimeout: 20_000 });
  await processes.waitUntil('etcd', async () => isReady(`${etcdUrl}/health`, probe));
  const apiserver = argumentsOf({
    ...apiserverFlags({ directory, pki, address: '127.0.0.1', port: apiPort, etcdUrl }),
    'endpoint-reconciler-type': 'none',
    ...(options.auditLog === true && (await auditFlags(directory))),
  });
  const description = { directory, binaries, url, etcdUrl };
  const plane = new ControlPlane(
    description,
    processes,
    { apiserver: [...apiserver, ...(options.apiserverArgs ?? [])], etcd },
    probe,
  );
  await plane.writeCertificateKubeconfig('admin');
  await plane.startApiserver();
  if (options.controllerManager === true) await startControllerManager(plane, processes, pki, managerPort);
  return plane;
}

async function startControllerManager(
  plane: ControlPlane,
  processes: Processes,
  pki: Pki,
  port: number,
): Promise<void> {
  const kubeconfig = await plane.writeCertificateKubeconfig('controller-manager');
  const flags = { ...controllerManagerFlags(plane.description.directory, pki, kubeconfig), 'secure-port': port };
  processes.start(
    'kube-controller-manager',
    join(plane.description.binaries, 'kube-controller-manager'),
    argumentsOf(flags),
  );
  await processes.waitUntil('kube-controller-manager', async () => {
    const found = await plane.kubectl(['get', 'serviceaccount', 'default', '-n', 'default']);
    return found.code === 0;
  });
}

async function isReady(url: string, dispatcher: Agent): Promise<boolean> {
  try {
    const response = await request(url, { dispatcher });
    await response.body.dump();
    return response.statusCode === 200;
  } catch {
    return false; // not listening yet
  }
}

/** Of the minor version in the environment variable KUBERNETES, such as `1.36`, or the newest. */
async function installedBinaries(): Promise<string> {
  const { KUBERNETES: minor } = process.env;
  const version = minor === undefined || minor === '' ? [] : [minor];
  // The first build takes minutes: the limit is that of the test.
  const { stdout } = await execute(join(root, 'tools/install.sh'), ['kubernetes', ...version], { timeout: 0 });
  return stdout.trim();
}

function commandError(result: CommandResult, args: readonly string[] = []): Error {
  return new Error(`kubectl ${args.join(' ')} ended with ${result.code}: ${result.stderr.trim()}`);
}
