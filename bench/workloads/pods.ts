import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NODE_OPTIONS } from '../../tools/image/node-options.ts';
import type { ControlPlane } from '../../test/support/control-plane.ts';
import { freePorts } from '../../test/support/kubernetes/processes.ts';
import { Program } from '../../test/support/processes.ts';

const ROOT = join(import.meta.dirname, '../..');
export const NAMESPACE = 'olap';
const READY_LIMIT_MS = 60_000;
export const CHANGE_LIMIT_MS = 10_000;
/** Polling interval of a gateway: the resolution of the figures. */
const ASK_EVERY_MS = 2;

export type Kind = 'gateway' | 'operator';

/** The environment of the programs. */
export interface Stage {
  readonly plane: ControlPlane;
  /** The folders of their service accounts. */
  readonly accounts: Readonly<Record<Kind, string>>;
  readonly programs: Program[];
  /** Node and the program of an image; by default those of the sources, with a collection of garbage on SIGUSR2. */
  readonly command?: readonly string[];
}

interface Kubeconfig {
  readonly clusters: readonly { cluster: { 'certificate-authority-data': string } }[];
}

export interface RunningGateway {
  readonly url: string;
  readonly metricsUrl: string;
  readonly program: Program;
}

/** The files that the kubelet provides to a pod. */
export async function serviceAccountFolder(plane: ControlPlane, kind: Kind): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-pod-'));
  const kubeconfig = JSON.parse(await readFile(plane.kubeconfigPath, 'utf8')) as Kubeconfig;
  const authority = kubeconfig.clusters[0]!.cluster['certificate-authority-data'];
  await writeFile(join(folder, 'ca.crt'), Buffer.from(authority, 'base64'));
  await writeFile(join(folder, 'token'), await plane.serviceAccountToken(NAMESPACE, `olap-warden-${kind}`));
  await writeFile(join(folder, 'namespace'), NAMESPACE);
  return folder;
}

/** Runs a command with the credentials at their path in a pod, in a separate mount namespace, so that no other process sees them. */
const IN_A_POD = `mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io &&
ln -s "$1" /run/secrets/kubernetes.io/serviceaccount && shift && exec "$@"`;
/** Collects garbage on SIGUSR2, so that the heap contains only live objects. */
const COLLECTOR = "data:text/javascript,process.on('SIGUSR2', () => globalThis.gc())";

export async function startProgram({ plane, accounts, programs, command }: Stage, kind: Kind): Promise<RunningGateway> {
  const [port, metricsPort] = (await freePorts(2)) as [number, number];
  const common = {
    host: '127.0.0.1',
    'metrics-port': metricsPort,
    controllers: 'http://127.0.0.1:9',
    'log-level': 'warn',
  };
  // Polling every two milliseconds is part of the measurement, not of the measured work.
  const flags = kind === 'gateway' ? { ...common, port, 'max-requests-per-second': 0 } : common;
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const node = command ?? [process.execPath, '--expose-gc', '--import', COLLECTOR, 'bin/olap-warden.js'];
  const { hostname, port: apiPort } = new URL(plane.url);
  const program = new Program(
    'unshare',
    ['--mount', 'sh', '-c', IN_A_POD, 'pod', accounts[kind], ...node, kind, ...args],
    {
      cwd: ROOT,
      env: {
        PATH: process.env['PATH'],
        NODE_OPTIONS: NODE_OPTIONS.join(' '),
        KUBERNETES_SERVICE_HOST: hostname,
        KUBERNETES_SERVICE_PORT: apiPort,
        // Containers have none, other than the programs of tests.
        ...(command !== undefined && { NODE_DISABLE_COMPILE_CACHE: '1' }),
      },
    },
  );
  programs.push(program);
  const gateway = { url: `http://127.0.0.1:${port}`, metricsUrl: `http://127.0.0.1:${metricsPort}`, program };
  const isReady = async () => (await statusOf(`${gateway.metricsUrl}/readyz`)) === 200;
  if (!(await until(isReady, READY_LIMIT_MS))) throw new Error(`the ${kind} did not become ready:\n${program.output}`);
  return gateway;
}

export async function statusOf(url: string, token?: string): Promise<number | undefined> {
  try {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(CHANGE_LIMIT_MS) });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return undefined; // not listening yet
  }
}

export async function until(holds: () => Promise<boolean>, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (performance.now() < deadline) {
    if (await holds()) return true;
    await delay(ASK_EVERY_MS);
  }
  return false;
}
