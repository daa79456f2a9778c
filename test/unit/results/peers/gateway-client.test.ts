import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { credentialFromFile } from '../../../../src/pinot/credential.ts';
import { createLogger } from '../../../../src/platform/logging.ts';
import { type Clock, systemClock } from '../../../../src/platform/clock.ts';
import { cleanResults, resultCleanerMetrics } from '../../../../src/operator/result-cleaner.ts';
import { createGatewayClient, type GatewayClient } from '../../../../src/results/peers/gateway-client.ts';
import type { GatewayAddress } from '../../../../src/results/peers/peers.ts';
import { RENEWAL_GRACE_MS } from '../../../../src/results/retention/retention.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { Pki } from '../../../support/kubernetes/pki.ts';
import { freePorts } from '../../../support/kubernetes/processes.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';

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
  { requestId: OLD, expirationTimeMs: NOW - RENEWAL_GRACE_MS },
  { requestId: FRESH, expirationTimeMs: NOW - RENEWAL_GRACE_MS + 1 },
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

async function clean(
  more: readonly GatewayAddress[] = [],
  clock: Clock = systemClock,
): Promise<{ deleted: number; error: string | undefined }[]> {
  const outcomes = await cleanResults(
    {
      gateways: async () => [...gateways.map(({ address }) => address), ...more],
      client,
      settings: () => ({ frequencyMs: 1, initialDelayMs: 0 }),
      clock: {
        now: () => NOW,
        monotonic: () => clock.monotonic(),
        random: () => clock.random(),
        schedule: (callback, ms) => clock.schedule(callback, ms),
      },
      log: createLogger('silent'),
      metrics: resultCleanerMetrics(new Registry()),
      gatewayTimeoutMs: GATEWAY_TIMEOUT_MS,
    },
    AbortSignal.timeout(WAIT_LIMIT_MS),
  );
  return outcomes.map(({ deleted, error }) => ({ deleted, error }));
}

const GATEWAY_TIMEOUT_MS = 30_000;
const CLEANED = { deleted: 1, error: undefined };

describe('a deletion', () => {
  it('is true of a result that the gateway had, false of one that is absent, and an error for any other status', async () => {
    const [gateway] = gateways as [StubGateway];
    const remove = () => client.delete(gateway.address, OLD, AbortSignal.timeout(WAIT_LIMIT_MS));
    expect(await remove()).toBe(true);
    gateway.answer = 'not found';
    expect(await remove()).toBe(false);
    gateway.accepts = 'Bearer another';
    await expect(remove()).rejects.toThrow(`deleting \`${OLD}\`: status 401`);
  });
});

it('a gateway with TLS is trusted with the certificate of the settings', async () => {
  const pki = new Pki(folder);
  await pki.createAuthority();
  await pki.issue('gateway', [['CN', 'gateway']], 'subjectAltName=IP:127.0.0.1');
  const [key, cert, ca] = await Promise.all(
    ['gateway.key', 'gateway.crt', 'ca.crt'].map((file) => readFile(pki.path(file), 'utf8')),
  );
  const server = createTlsServer({ key, cert }, (_request, response) => {
    response.end(JSON.stringify({ resultMetadataList: LISTING }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  const [trusting, other] = [{ ca: ca! }, {}].map((options) =>
    createGatewayClient({ scheme: 'https', ...options, credential: () => undefined }),
  ) as [GatewayClient, GatewayClient];
  try {
    const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
    expect(await trusting.list(address, signal)).toEqual(LISTING);
    await expect(other.list(address, signal)).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  } finally {
    await Promise.all([trusting.close(), other.close()]);
    server.closeAllConnections();
    server.close();
  }
});

describe('the cleaner', () => {
  it('requests the own results of each gateway, and deletes those that expired before the grace of a renewal', async () => {
    expect(await clean()).toEqual([CLEANED, CLEANED, CLEANED]);
    for (const { seen } of gateways) {
      expect(seen).toEqual(['GET /query/resultStore 1', `DELETE /query/resultStore/${OLD} 1`]);
    }
  });

  it('is not delayed by gateways that are down, do not respond, or respond with 404', async () => {
    const [silent, absent] = gateways as [StubGateway, StubGateway, StubGateway];
    silent.answer = 'nothing';
    absent.answer = 'not found';
    const [port] = (await freePorts(1)) as [number];
    const clock = new FakeClock();
    const cleaned = clean([{ host: '127.0.0.1', port }], clock);
    // Only the time-out of the silent gateway is left: the work on the others is complete.
    await vi.waitFor(() => expect([silent.seen.length, clock.timers]).toEqual([1, 1]), { timeout: WAIT_LIMIT_MS });
    await clock.advance(GATEWAY_TIMEOUT_MS);
    expect(await cleaned).toEqual([
      { deleted: 0, error: expect.stringContaining('timed out') },
      { deleted: 0, error: 'listing results: status 404' },
      CLEANED,
      { deleted: 0, error: expect.stringContaining('ECONNREFUSED') },
    ]);
  });

  it('uses the current content of the credential file from the first call after a rotation', async () => {
    expect(await clean()).toEqual([CLEANED, CLEANED, CLEANED]);
    await writeFile(secret, 'second\n');
    for (const gateway of gateways) gateway.accepts = 'Bearer second';
    // Interval between two runs.
    elapsedMs += 3_600_000;
    expect(await clean()).toEqual([CLEANED, CLEANED, CLEANED]);
    expect([...gateways[0]!.credentials]).toEqual(['Bearer first', 'Bearer second']);
  });

  it('keeps the credential while the file cannot be read', async () => {
    expect(await clean()).toEqual([CLEANED, CLEANED, CLEANED]);
    await rm(secret);
    elapsedMs += 3_600_000;
    expect(await clean()).toEqual([CLEANED, CLEANED, CLEANED]);
  });
});
