import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { credentialFromFile } from '../../../../src/pinot/credential.ts';
import { createLogger } from '../../../../src/platform/logging.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { cleanResults, resultCleanerMetrics } from '../../../../src/operator/result-cleaner.ts';
import { createGatewayClient, type GatewayClient } from '../../../../src/results/peers/gateway-client.ts';
import type { GatewayAddress } from '../../../../src/results/peers/peers.ts';
import { freePorts } from '../../../support/kubernetes/processes.ts';

const NOW = 1_000_000;
const OLD = '11111111-000000000000000000000000000001';
const FRESH = '11111111-000000000000000000000000000002';

/** A gateway with fixed responses that records the calls. */
class StubGateway {
  readonly seen: string[] = [];
  readonly credentials = new Set<string | undefined>();
  accepts = 'Bearer first';
  answer: 'results' | 'nothing' | 'not found' = 'results';
  readonly #server: Server = createServer((request, response) => this.#handle(request, response));

  get address(): GatewayAddress {
    return { host: '127.0.0.1', port: (this.#server.address() as AddressInfo).port };
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #handle({ method, url, headers }: IncomingMessage, response: ServerResponse): void {
    this.seen.push(`${method} ${url} ${String(headers['x-olap-warden-forwarded'])}`);
    this.credentials.add(headers.authorization);
    if (this.answer === 'nothing') return;
    if (headers.authorization !== this.accepts) response.writeHead(401).end();
    else if (this.answer === 'not found') response.writeHead(404).end();
    else if (method === 'DELETE') response.end('deleted');
    else response.end(JSON.stringify({ resultMetadataList: LISTING }));
  }
}

const LISTING = [
  { requestId: OLD, expirationTimeMs: NOW },
  { requestId: FRESH, expirationTimeMs: NOW + 1 },
];

let gateways: StubGateway[];
let folder: string;
let secret: string;
let elapsedMs: number;
let client: GatewayClient;

beforeEach(async () => {
  gateways = await Promise.all([1, 2, 3].map(() => new StubGateway().listen()));
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-cleaner-'));
  secret = join(folder, 'token');
  await writeFile(secret, 'first\n');
  elapsedMs = 0;
  const credential = credentialFromFile(secret, { monotonic: () => elapsedMs });
  client = createGatewayClient({ credential: () => credential.current() });
});
afterEach(async () => {
  await client.close();
  for (const gateway of gateways) gateway.close();
  await rm(folder, { recursive: true });
});

async function clean(more: readonly GatewayAddress[] = []): Promise<{ deleted: number; error: string | undefined }[]> {
  const outcomes = await cleanResults(
    {
      gateways: async () => [...gateways.map(({ address }) => address), ...more],
      client,
      settings: () => ({ frequencyMs: 1, initialDelayMs: 0 }),
      clock: { ...systemClock, now: () => NOW },
      log: createLogger('silent'),
      metrics: resultCleanerMetrics(new Registry()),
      gatewayTimeoutMs: 300,
    },
    AbortSignal.timeout(5000),
  );
  return outcomes.map(({ deleted, error }) => ({ deleted, error }));
}

const CLEANED = { deleted: 1, error: undefined };

describe('the cleaner at real gateways', () => {
  it('asks each for what it holds itself, and deletes what has expired', async () => {
    expect(await clean()).toEqual([CLEANED, CLEANED, CLEANED]);
    for (const { seen } of gateways) {
      expect(seen).toEqual(['GET /query/resultStore 1', `DELETE /query/resultStore/${OLD} 1`]);
    }
  });

  it('is delayed by none that is down, silent, or answers 404', async () => {
    const [silent, absent] = gateways as [StubGateway, StubGateway, StubGateway];
    silent.answer = 'nothing';
    absent.answer = 'not found';
    const [port] = (await freePorts(1)) as [number];
    const started = performance.now();
    const outcomes = await clean([{ host: '127.0.0.1', port }]);
    expect(performance.now() - started).toBeLessThan(2000);
    expect(outcomes).toEqual([
      { deleted: 0, error: 'timed out after 300 ms' },
      { deleted: 0, error: 'the listing was answered with 404' },
      CLEANED,
      { deleted: 0, error: expect.stringContaining('ECONNREFUSED') },
    ]);
  });

  it('comes with the credential that the file holds now, from the first call after a rotation on', async () => {
    expect(await clean()).toEqual([CLEANED, CLEANED, CLEANED]);
    await writeFile(secret, 'second\n');
    for (const gateway of gateways) gateway.accepts = 'Bearer second';
    // Runs are an hour apart.
    elapsedMs += 3_600_000;
    expect(await clean()).toEqual([CLEANED, CLEANED, CLEANED]);
    expect([...gateways[0]!.credentials]).toEqual(['Bearer first', 'Bearer second']);
  });

  it('keeps the credential that it has while the file cannot be read', async () => {
    expect(await clean()).toEqual([CLEANED, CLEANED, CLEANED]);
    await rm(secret);
    elapsedMs += 3_600_000;
    expect(await clean()).toEqual([CLEANED, CLEANED, CLEANED]);
  });
});
