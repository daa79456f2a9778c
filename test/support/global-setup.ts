import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startCluster } from '../../tools/pinot/cluster.ts';
import { loadSampleTables } from '../../tools/pinot/tables.ts';
import { startControlPlane } from './control-plane.ts';
import { FINDINGS } from './credential-search.ts';
import { describeCluster } from './foreign-pinot.ts';
import { COMPILED_MODULES } from './processes.ts';
import type { SharedParts } from './shared-parts.ts';
import { once } from './once.ts';

/** A running part: its description for tests, and how to end it. */
interface Started<T> {
  readonly description: T;
  stop(): Promise<void>;
}

type Starters = { readonly [K in keyof SharedParts]: () => Promise<Started<SharedParts[K]>> };

const STARTERS: Starters = {
  async pinot() {
    const foreign = process.env['TEST_CONTROLLER'];
    if (foreign !== undefined) {
      const description = await describeCluster(foreign);
      await loadSampleTables(description, say);
      return { description, stop: async () => undefined };
    }
    const directory = await mkdtemp(join(tmpdir(), 'olap-warden-pinot-'));
    const cluster = await startCluster({ directory, brokers: 2, servers: 3 });
    await loadSampleTables(cluster, say);
    const { controllerUrl, brokerUrls, serverAdminUrls } = cluster;
    return {
      description: { controllerUrl, brokerUrls, serverAdminUrls },
      async stop() {
        await cluster.stop();
        await rm(directory, { recursive: true, force: true });
      },
    };
  },
  async controlPlane() {
    const plane = await startControlPlane({ controllerManager: true });
    return { description: plane.description, stop: () => plane.stop() };
  },
};

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** Starts each part of a worker on the first request for it, and keeps it until the run is over. */
class PartsServer {
  readonly #started = new Map<string, Promise<Started<unknown>>>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#start((request.url ?? '').slice(1)).then(
        ({ description }) => response.end(JSON.stringify(description)),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  }

  async listen(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    const results = await Promise.allSettled(this.#started.values());
    for (const result of results) if (result.status === 'fulfilled') await result.value.stop();
  }

  /** @param key the name of a part and a worker, as `pinot/1` */
  #start(key: string): Promise<Started<unknown>> {
    const [name] = key.split('/');
    const starter = STARTERS[name as keyof SharedParts] as (() => Promise<Started<unknown>>) | undefined;
    if (starter === undefined) return Promise.reject(new Error(`there is no part \`${name}\``));
    const running = this.#started.get(key) ?? starter();
    this.#started.set(key, running);
    return running;
  }
}

/** The projects of one run share the parts. This module is loaded once for each of them, so the state is process-wide. */
interface Shared {
  readonly server: PartsServer;
  readonly url: Promise<string>;
  /** Credentials that the product wrote where none belongs. */
  readonly findings: Promise<string>;
  users: number;
}
const place = globalThis as typeof globalThis & { olapWardenSharedParts?: Shared };

/** Vitest's global set-up of the projects `integration` and `e2e`. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (place.olapWardenSharedParts === undefined) {
    const server = new PartsServer();
    process.env['NODE_COMPILE_CACHE'] ??= COMPILED_MODULES;
    place.olapWardenSharedParts = { server, url: server.listen(), findings: collectFindings(), users: 0 };
  }
  const shared = place.olapWardenSharedParts;
  shared.users++;
  await shared.findings;
  project.provide('sharedParts', await shared.url);
  return async () => {
    shared.users--;
    if (shared.users > 0) return;
    delete place.olapWardenSharedParts;
    await shared.server.close();
    await failForFindings(await shared.findings);
  };
}

/** Workers that start later inherit the variable. */
async function collectFindings(): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'olap-warden-findings-')), 'findings.jsonl');
  await writeFile(file, '');
  process.env[FINDINGS] = file;
  return file;
}

/** @throws {Error} where a program wrote a credential in any test of the run */
async function failForFindings(file: string): Promise<void> {
  const found = await readFile(file, 'utf8');
  await rm(join(file, '..'), { recursive: true, force: true });
  if (found !== '') throw new Error(`credentials were written where none belongs:\n${found}`);
}
