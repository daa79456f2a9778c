import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Outcome, send } from '../faults/support/load.ts';
import { freePorts } from './kubernetes/processes.ts';
import { WAIT_LIMIT_MS } from './limits.ts';
import { once } from './once.ts';
import { COMPILED_MODULES } from './processes.ts';
import { until } from './until.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Nothing listens there. */
const NO_CONTROLLER = 'http://127.0.0.1:9';

export interface ProbedGatewayOptions {
  /** Of its data. */
  readonly folder: string;
  readonly stdio?: StdioOptions;
  /** Settings by name. */
  readonly flags?: Readonly<Record<string, string | number>>;
}

/** A gateway as a separate process whose output a test may choose: probes tell when it is ready. */
export class ProbedGateway {
  readonly child: ChildProcess;
  /** Exit code and signal. */
  readonly exited: Promise<unknown[]>;
  readonly port: number;
  readonly #folder: string;
  readonly #metricsUrl: string;

  private constructor(child: ChildProcess, folder: string, [port, metricsPort]: readonly [number, number]) {
    this.child = child;
    this.exited = once(child, 'exit', {}, 2 * WAIT_LIMIT_MS);
    this.exited.catch(() => undefined);
    this.port = port;
    this.#folder = folder;
    this.#metricsUrl = `http://127.0.0.1:${metricsPort}`;
  }

  static async start({ folder, stdio = 'ignore', flags = {} }: ProbedGatewayOptions): Promise<ProbedGateway> {
    const ports = (await freePorts(2)) as [number, number];
    const all = {
      ...{ host: '127.0.0.1', port: ports[0], 'metrics-port': ports[1], 'data-dir': folder },
      ...{ controllers: NO_CONTROLLER, 'max-failed-attempts': 1_000_000, 'max-requests-per-second': 0 },
      ...flags,
    };
    const args = Object.entries(all).map(([name, value]) => `--${name}=${value}`);
    const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILED_MODULES };
    const child = spawn(process.execPath, ['bin/olap-warden.js', 'standalone', ...args], { cwd: ROOT, env, stdio });
    const gateway = new ProbedGateway(child, folder, ports);
    try {
      await until('the gateway is ready', async () => (await gateway.probe('readyz')) === 200);
      return gateway;
    } catch (error) {
      await gateway.kill();
      throw error;
    }
  }

  async probe(path: string): Promise<Outcome['status']> {
    return (await send(`${this.#metricsUrl}/${path}`)).status;
  }

  /** The value of a metric without labels. */
  async metric(name: string): Promise<number> {
    const { text } = await send(`${this.#metricsUrl}/metrics`);
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  }

  /** @param options.token the administrator's by default; an empty one is not sent */
  async send(
    method: string,
    path: string,
    options: { readonly token?: string; readonly body?: unknown } = {},
  ): Promise<Outcome> {
    const { token = (await readFile(join(this.#folder, 'admin-token'), 'utf8')).trim(), body } = options;
    const headers = {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    return send(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** Ends it as Kubernetes does. @returns exit code and signal */
  end(): Promise<unknown[]> {
    this.child.kill('SIGTERM');
    return this.exited;
  }

  /** Kills it, if it has not ended. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }
}
