import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_OPTIONS } from '../../tools/image/node-options.ts';
import { searchFolder, searchText } from './credential-search.ts';
import { Program } from './processes.ts';
import { RawClient, type RawRequest } from './raw-client.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Limits that would reject a test with many fast requests. */
const NO_LIMITS = { 'max-requests-per-second': 0, 'max-concurrent-queries': 0, 'max-failed-attempts': 1_000_000 };

export interface GatewayProcessOptions {
  /** The engine's controller. */
  readonly controllers: string;
  /** Settings by name; limits of requests are off unless set here. */
  readonly flags?: Readonly<Record<string, string | number>>;
  /** `olap.broker.…=value` */
  readonly properties?: readonly string[];
  /** File descriptors that it may open; default: those of the test. */
  readonly descriptors?: number;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Node and the entry point of the program; by default those of the tests and of the sources. */
  readonly command?: readonly string[];
  /** Another gateway whose tokens this one accepts, too. */
  readonly tokensOf?: GatewayProcess;
}

export interface ServiceToken {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly bearerToken: string;
}

type Statement = Readonly<Record<string, unknown>>;

/** The whole gateway as a separate process with its own folder and the image's options of Node.js: it does not share event loop and memory with the test. */
export class GatewayProcess {
  readonly program: Program;
  readonly port: number;
  readonly metricsPort: number;
  readonly dataDir: string;
  /** The first administrator's. */
  readonly token: string;

  private constructor(program: Program, dataDir: string, token: string) {
    this.program = program;
    this.dataDir = dataDir;
    this.token = token;
    this.port = Number(/"port":(\d+)/.exec(program.output)?.[1]);
    this.metricsPort = Number(/"metricsPort":(\d+)/.exec(program.output)?.[1]);
  }

  static async start(options: GatewayProcessOptions): Promise<GatewayProcess> {
    const dataDir = await mkdtemp(join(tmpdir(), 'olap-warden-gateway-'));
    const tokenFile =
      options.tokensOf === undefined ? {} : { 'token-file': join(options.tokensOf.dataDir, 'tokens.jsonl') };
    const flags = {
      ...{ host: '127.0.0.1', port: 0, 'metrics-port': 0, 'data-dir': dataDir, controllers: options.controllers },
      ...NO_LIMITS,
      ...tokenFile,
      ...options.flags,
    };
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    const temporary = `--set=olap.broker.pagination.temp.dir=${join(dataDir, 'temp')}`;
    const sets = (options.properties ?? []).map((property) => `--set=${property}`);
    const start = options.command ?? [process.execPath, 'bin/olap-warden.js'];
    const command = [...start, 'standalone', ...args, temporary, ...sets];
    const limit = `ulimit -n ${options.descriptors ?? 'unlimited'} && exec "$@"`;
    const [file = '', ...rest] =
      options.descriptors === undefined ? command : ['/bin/sh', '-c', limit, 'sh', ...command];
    const program = new Program(file, rest, {
      cwd: ROOT,
      env: {
        PATH: process.env['PATH'],
        NODE_OPTIONS: NODE_OPTIONS.join(' '),
        ...options.env,
      },
    });
    try {
      await program.printed('"msg":"started"', WAIT_LIMIT_MS);
      const folder = options.tokensOf?.dataDir ?? dataDir;
      return new GatewayProcess(program, dataDir, (await readFile(join(folder, 'admin-token'), 'utf8')).trim());
    } catch (error) {
      program.signalGroup('SIGKILL');
      throw error;
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** A header of a raw request. */
  authorization(token: string = this.token): readonly [string, string] {
    return ['Authorization', `Bearer ${token}`];
  }

  /** One call with the administrator's token. A body is sent as JSON. */
  call(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    });
  }

  /** Creates a service token whose role has these statements. @param name of its policy and role */
  async tokenFor(name: string, statements: readonly Statement[]): Promise<ServiceToken> {
    await this.#manage('/policies', { name, policyDocument: { version: 'v1', statements } });
    await this.#manage('/roles', { name, description: name });
    await this.#manage(`/roles/srn2:role%23${name}/attach-policy`, { policySrn: `srn2:policy#${name}` });
    const token = (await this.#manage('/service-tokens', { description: name })) as ServiceToken;
    const assignment = { subject: token.accessKey, subjectType: 'service-token' };
    await this.#manage(`/roles/srn2:role%23${name}/create-assignment`, assignment);
    return token;
  }

  /** One request on a new connection. */
  async once(request: RawRequest): Promise<Awaited<ReturnType<RawClient['request']>>> {
    const client = await RawClient.open(this.port);
    try {
      return await client.request(request);
    } finally {
      client.destroy();
    }
  }

  /** Resident memory in bytes (Linux). */
  async residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.program.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }

  /** Seconds of the processor that it has used. Unlike elapsed time, they do not depend on other programs. */
  async cpuSeconds(): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${this.metricsPort}/metrics`, {
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    });
    const seconds = /^process_cpu_seconds_total (\S+)$/m.exec(await answer.text())?.[1];
    if (seconds === undefined) throw new Error('no `process_cpu_seconds_total` among the metrics of the gateway');
    return Number(seconds);
  }

  async stop(): Promise<void> {
    const metrics = await fetch(`http://127.0.0.1:${this.metricsPort}/metrics`, { signal: AbortSignal.timeout(1_000) })
      .then((answer) => answer.text())
      .catch(() => '');
    searchText('metrics', metrics);
    this.program.signalGroup('SIGKILL');
    await this.program.exited;
    await searchFolder(this.dataDir);
    await rm(this.dataDir, { recursive: true, force: true });
  }

  async #manage(path: string, body: unknown): Promise<unknown> {
    const answer = await this.call('POST', `/api/v1/rbac-manager${path}`, body);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as unknown;
  }
}
