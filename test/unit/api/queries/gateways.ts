import type { FairQueue } from '../../../../src/platform/fair-queue.ts';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import type { PropertyValues } from '../../../../src/platform/setting-schema.ts';
import { RETENTION_PERIOD_MS } from '../../../../src/results/retention/retention-loop.ts';
import { BEAT_MS } from '../../../../src/results/runs/runs.ts';
import { type Clock, systemClock } from '../../../../src/platform/clock.ts';
import type { Authenticator } from '../../../../src/access/authenticators/authenticator.ts';
import type { Authorizer } from '../../../../src/access/authorizer.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import type { Engine, EngineEndpoint, KnownTables } from '../../../../src/pinot/types.ts';
import type { AppDependencies } from '../../../../src/api/app.ts';
import { memoryQueue } from '../../../../src/api/server/admission/memory.ts';
import { createQueryService, type QueryService } from '../../../../src/app/parts/query-service.ts';
import { createLogger } from '../../../../src/platform/logging.ts';
import type { GatewayAddress } from '../../../../src/results/peers/peers.ts';
import { DEFAULT_PAGINATION_SETTINGS, type PaginationSettings } from '../../../../src/results/settings.ts';
import { allowAll, testApp } from '../../../support/app.ts';
import { freePorts } from '../../../support/kubernetes/processes.ts';

export interface TestGateway {
  readonly id: string;
  readonly url: string;
  readonly port: number;
  readonly app: FastifyInstance;
  readonly service: QueryService;
  readonly registry: Registry;
}

/** An engine whose controller and brokers are this endpoint. */
export function engineOf(endpoint: EngineEndpoint): Engine & KnownTables {
  return {
    controller: endpoint,
    brokerFor: async () => endpoint,
    endpoint: () => endpoint,
    close: async () => undefined,
    tableNames: () => undefined,
    isLogical: () => false,
    currentTables: async () => [],
    actualTables: async (names) => names,
  };
}

export interface GatewaysOptions {
  readonly engine: Engine & KnownTables;
  /** Properties of the result store; see test/support/result-stores.ts. */
  readonly store: (gateway: number) => PropertyValues;
  /** Whether the gateways know of no others; false where absent. */
  readonly isSingle?: boolean;
  readonly authorizer?: Authorizer;
  /** The caller; Alice where absent. */
  readonly principal?: () => Principal;
  /** Epoch milliseconds; the system clock where absent. */
  readonly now?: () => number;
  readonly settings?: () => PaginationSettings;
  /** Receives the periodic retention callback, which is otherwise never called. */
  readonly every?: (call: () => void) => void;
  /** Receives the periodic check of asynchronous queries, which otherwise runs every 5 s. */
  readonly beat?: (call: () => void) => void;
  readonly memory?: FairQueue;
  /** Overrides other parts of the app. */
  readonly parts?: Partial<AppDependencies>;
}

/** Starts gateways of one deployment on 127.0.0.1. */
export async function startGateways(count: number, options: GatewaysOptions): Promise<TestGateway[]> {
  const ports = await freePorts(count);
  const addresses: GatewayAddress[] = ports.map((port) => ({ host: '127.0.0.1', port }));
  return Promise.all(
    ports.map(async (port, index) => {
      const id = `gateway-${index}`;
      const registry = new Registry();
      let seed = 0;
      const service = await createQueryService({
        engine: options.engine,
        identity: { id, host: '127.0.0.1', port },
        store: options.store(index),
        settings: options.settings ?? (() => DEFAULT_PAGINATION_SETTINGS),
        ...(options.isSingle !== true && { gateways: async () => addresses }),
        registry,
        log: createLogger('silent'),
        clock: clockOf(options),
        random: (bytes) => Buffer.alloc(bytes, `${index}-${seed++}-`),
      });
      const { principal, memory = memoryQueue() } = options;
      const app = await testApp({
        authorizer: options.authorizer ?? allowAll,
        register: service.register,
        parts: {
          ...(principal && { authenticator: authenticatorOf(principal) }),
          dataPlane: { ...service.data, memory },
          ...options.parts,
        },
      });
      await app.listen({ host: '127.0.0.1', port });
      const { port: bound } = app.server.address() as AddressInfo;
      return { id, url: `http://127.0.0.1:${bound}`, port: bound, app, service, registry };
    }),
  );
}

/** The system clock, with the wall clock and the retention timer of the test. */
function clockOf({ now, every, beat }: GatewaysOptions): Clock {
  return {
    ...systemClock,
    ...(now && { now }),
    schedule(callback, ms) {
      if (ms === BEAT_MS && beat !== undefined) {
        beat(callback);
        return () => undefined;
      }
      if (ms !== RETENTION_PERIOD_MS) return systemClock.schedule(callback, ms);
      every?.(callback);
      return () => undefined;
    },
  };
}

function authenticatorOf(principal: () => Principal): Authenticator {
  return { name: 'fixed', authenticate: async () => ({ outcome: 'authenticated', principal: principal() }) };
}

export async function stopGateways(gateways: readonly TestGateway[]): Promise<void> {
  for (const { app, service } of gateways) {
    await app.close();
    await service.close();
  }
}
