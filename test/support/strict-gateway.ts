import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { DecisionEngine } from '../../src/access/policy/decision.ts';
import { createQueryService, type QueryService } from '../../src/app/parts/query-service.ts';
import { engineProxy } from '../../src/api/proxy/index.ts';
import { createEngine } from '../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../src/pinot/types.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../src/results/settings.ts';
import { memoryQueue } from '../../src/api/server/admission/memory.ts';
import { authorizerOf, testApp } from './app.ts';
import { memoryProperties } from './result-stores.ts';
import { StrictPinot } from './strict-pinot.ts';

interface Outcome {
  readonly status: number;
  readonly body: string;
  /** Without a JSON object an empty one. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** A gateway whose engine is a `StrictPinot`. Its caller holds what `grant` gave last. */
export class StrictGateway {
  readonly pinot: StrictPinot;
  readonly engine: Engine & KnownTables;
  readonly #decisions: DecisionEngine;
  #service: QueryService | undefined;
  #app: FastifyInstance | undefined;

  private constructor(pinot: StrictPinot) {
    this.pinot = pinot;
    // No refresh in the background: `asked` has only what requests caused.
    this.engine = createEngine({ controllerUrls: [pinot.controllerUrl], brokerRefreshMs: 3_600_000 });
    const held = { roles: ['r'], validFrom: -Infinity, validUntil: Infinity };
    this.#decisions = new DecisionEngine({ environment: 'e', cluster: 'pinot' }, { heldRoles: () => held });
  }

  /** @param recordings name of the file */
  static async start(recordings: string): Promise<StrictGateway> {
    const gateway = new StrictGateway(await StrictPinot.start(recordings));
    await gateway.#open();
    return gateway;
  }

  async #open(): Promise<void> {
    const { engine } = this;
    const service = await createQueryService({
      engine,
      identity: { id: 'gateway', host: '127.0.0.1', port: 1 },
      store: memoryProperties(),
      settings: () => DEFAULT_PAGINATION_SETTINGS,
      registry: new Registry(),
      log: createLogger('silent'),
      clock: { ...systemClock, schedule: () => () => undefined },
      random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    });
    this.#service = service;
    this.#app = await testApp({
      authorizer: authorizerOf(this.#decisions),
      parts: { dataPlane: { ...service.data, memory: memoryQueue() } },
      register: [service.register, (scope) => engineProxy(scope, { engine })],
    });
  }

  /** The caller may do these actions, separated by blanks, on these resources, and nothing else. */
  grant(...statements: readonly (readonly [actions: string, ...resources: string[]])[]): void {
    this.#decisions.setPolicy('p', {
      statements: statements.map(([actions, ...resources]) => ({
        effect: 'allow',
        actions: actions.split(' '),
        resources,
      })),
    });
    this.#decisions.setRole('r', ['p']);
  }

  async call(call: string, payload?: object, headers: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    const [method, url] = call.split(' ') as ['GET' | 'POST' | 'DELETE', string];
    const body = payload === undefined ? {} : { payload };
    const answer = await (this.#app as FastifyInstance).inject({ method, url, headers, ...body });
    return { status: answer.statusCode, body: answer.body, json: objectOf(answer.body) };
  }

  query(sql: string, headers: Readonly<Record<string, string>> = {}, url = '/query/sql'): Promise<Outcome> {
    return this.call(`POST ${url}`, { sql }, headers);
  }

  async close(): Promise<void> {
    await this.#app?.close();
    await this.#service?.close();
    await this.engine.close();
    await this.pinot.close();
  }
}

function objectOf(body: string): Record<string, unknown> {
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    return {};
  }
}
