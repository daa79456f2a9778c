import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { ControlPlaneClient } from './control-plane.ts';
import { freePorts } from './kubernetes/processes.ts';
import { Program } from './processes.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

const ROOT = join(import.meta.dirname, '../..');
const PATIENCE = { timeout: WAIT_LIMIT_MS, interval: 100 };

export interface RunningProduct {
  readonly program: Program;
  readonly url: string;
  readonly metricsUrl: string;
}

/**
 * One of the processes on free ports of 127.0.0.1, with the rights of its own service account in the namespace. Resolves when its probe succeeds; the caller ends
 * `program`, also where this throws, which is why `onStart` is told of it first.
 */
export async function startProduct(
  api: ControlPlaneClient,
  command: 'operator' | 'gateway',
  options: {
    readonly namespace: string;
    readonly settings: Readonly<Record<string, string>>;
    readonly onStart: (program: Program) => void;
    /** `livez` for a process that does not get ready; `readyz` by default. */
    readonly probe?: 'readyz' | 'livez';
    /** `olap.broker.…=value` */
    readonly properties?: readonly string[];
    /** URL of a proxy in front of the API server. */
    readonly server?: string;
    /** Besides PATH. */
    readonly env?: Readonly<Record<string, string>>;
    /** Node and the entry point of the program; by default those of the tests and of the sources. */
    readonly command?: readonly string[];
    /** For a process whose clock is outside the validity of the certificates. */
    readonly anyCertificate?: boolean;
  },
): Promise<RunningProduct> {
  const { namespace, settings, onStart, probe = 'readyz', properties = [] } = options;
  const [port, metricsPort] = (await freePorts(2)) as [number, number];
  const kubeconfig = await api.serviceAccountKubeconfig(namespace, `olap-warden-${command}`);
  if (options.server !== undefined) {
    const config = await readFile(kubeconfig, 'utf8');
    await writeFile(kubeconfig, config.replaceAll(api.url, options.server));
  }
  if (options.anyCertificate === true) {
    const config = await readFile(kubeconfig, 'utf8');
    const authority = /"certificate-authority-data":"[^"]*"/u;
    await writeFile(kubeconfig, config.replace(authority, '"insecure-skip-tls-verify":true'));
  }
  const all = { host: '127.0.0.1', port, 'metrics-port': metricsPort, kubeconfig, namespace, ...settings };
  const args = [
    ...Object.entries(all).map(([name, value]) => `--${name}=${value}`),
    ...properties.map((property) => `--set=${property}`),
  ];
  const [node = '', ...entry] = options.command ?? [process.execPath, 'bin/olap-warden.js'];
  const program = new Program(node, [...entry, command, ...args], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], ...options.env },
  });
  onStart(program);
  const running = { program, url: `http://127.0.0.1:${port}`, metricsUrl: `http://127.0.0.1:${metricsPort}` };
  await vi.waitFor(async () => {
    const answer = await fetch(`${running.metricsUrl}/${probe}`).catch(() => undefined);
    if (answer?.status !== 200) throw new Error(`${command} does not get ready:\n${program.output}`);
  }, PATIENCE);
  return running;
}
