import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { standalone } from '../../src/app/standalone.ts';
import { startService, type ServiceDefinition } from '../../src/app/service.ts';

export interface TestService {
  /** Of the REST interfaces, without a trailing slash. */
  readonly url: string;
  readonly metricsUrl: string;
  /** What it printed on stdout; its log is silent. */
  readonly printed: readonly string[];
  stop(): Promise<void>;
}

/** A whole service in this process, on free ports of 127.0.0.1. @param flags settings by their names */
export async function startTestService(
  definition: ServiceDefinition,
  flags: Readonly<Record<string, string | number>> = {},
): Promise<TestService> {
  const printed: string[] = [];
  const all = { host: '127.0.0.1', port: 0, 'metrics-port': 0, 'log-level': 'silent', ...flags };
  const service = await startService(definition, {
    args: Object.entries(all).map(([name, value]) => `--${name}=${value}`),
    env: {},
    stdout: (text) => printed.push(text),
    stderr: () => undefined,
  });
  return {
    url: `http://127.0.0.1:${service.port ?? 0}`,
    metricsUrl: `http://127.0.0.1:${service.metricsPort}`,
    printed,
    stop: () => service.stop(),
  };
}

export interface Standalone extends TestService {
  readonly dataDir: string;
  /** The first administrator's. */
  readonly token: string;
  /** As the first administrator, unless the headers have another credential. A body that is not a string is sent as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Also removes its folder. */
  stop(): Promise<void>;
}

/** Standalone with its own folder. Without an engine, unless `controllers` is set. */
export async function startStandalone(flags: Readonly<Record<string, string | number>> = {}): Promise<Standalone> {
  const dataDir = await mkdtemp(join(tmpdir(), 'olap-warden-standalone-'));
  const service = await startTestService(standalone, {
    'data-dir': dataDir,
    controllers: 'http://127.0.0.1:9',
    ...flags,
  });
  const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
  return {
    ...service,
    dataDir,
    token,
    call: (method, path, body, headers) =>
      fetch(service.url + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    async stop() {
      await service.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
