import type { FastifyInstance } from 'fastify';
import lightMyRequest, { type InjectOptions } from 'light-my-request';
import { systemClock } from '../../src/platform/clock.ts';
import type { AuthenticationResult, Authenticator, Credential } from '../../src/access/authenticators/authenticator.ts';
import type { Authorizer, Decision, Decisions } from '../../src/access/authorizer.ts';
import type { Reading } from '../../src/access/conditions.ts';
import type { Principal } from '../../src/access/principal.ts';
import type { Srn } from '../../src/access/policy/srn.ts';
import type { Engine, KnownTables } from '../../src/pinot/types.ts';
import { memoryQueue } from '../../src/api/server/admission/memory.ts';
import type { DataPlaneDependencies } from '../../src/api/queries/data-plane/dependencies.ts';
import { PaginatedQueries } from '../../src/results/submit/paginated-queries.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../src/results/settings.ts';
import { MemoryStore } from '../../src/results/stores/memory/memory-store.ts';
import { buildApp, type AppDependencies, type RegisterRoutes } from '../../src/api/app.ts';
import { createLogger } from '../../src/platform/logging.ts';

const ALLOWED: Decision = { allowed: true, reason: 'allowed', matchedStatements: [] };
const DENIED: Decision = { allowed: false, reason: 'implicitDeny', matchedStatements: [] };

const READS_ALL: Reading = { allowed: true, conditions: undefined };
const READS_NOTHING: Reading = { allowed: false };

/** Allows what `rule` allows, without matching statements. */
export function authorizerBy(rule: (principal: Principal, action: string, resource: Srn) => boolean): Authorizer {
  return {
    isAllowed: rule,
    wouldAllow: rule,
    reading: (principal, table) => (rule(principal, 'Query', table) ? READS_ALL : READS_NOTHING),
    hasConditions: () => false,
    decide: (principal, action, resource) => (rule(principal, action, resource) ? ALLOWED : DENIED),
    isActive: () => true,
  };
}

/** Decides by these decisions; every principal exists. */
export function authorizerOf(decisions: Decisions): Authorizer {
  return {
    isAllowed: (...asked) => decisions.isAllowed(...asked),
    wouldAllow: (...asked) => decisions.wouldAllow(...asked),
    reading: (...asked) => decisions.reading(...asked),
    hasConditions: (principal) => decisions.hasConditions(principal),
    decide: (...asked) => decisions.decide(...asked),
    isActive: () => true,
  };
}
export const allowAll: Authorizer = authorizerBy(() => true);
export const denyAll: Authorizer = authorizerBy(() => false);

export const ALICE: Principal = {
  kind: 'user',
  srn: 'srn2:user#alice@example.com',
  id: 'alice@example.com',
  groups: ['analysts'],
  domain: 'example.com',
  authenticator: 'token-file',
};

/** The bearer token that `testApp` accepts; `inject` of the returned app sends it. */
export const TEST_TOKEN = 'test-token';
export const TEST_HEADERS = { authorization: `Bearer ${TEST_TOKEN}` };

/** Accepts only `TEST_TOKEN`. */
export function fixedAuthenticator(principal: Principal): Authenticator {
  const check = (credential: Credential): AuthenticationResult =>
    credential.scheme === 'bearer' && credential.token === TEST_TOKEN
      ? { outcome: 'authenticated', principal }
      : { outcome: 'rejected', message: 'the token is not known' };
  return { name: 'fixed', authenticate: async (credential) => check(credential) };
}

/** The parts that serve queries of an engine, with results in memory. */
export function dataPlaneOf(engine: Engine & KnownTables): DataPlaneDependencies {
  const settings = () => DEFAULT_PAGINATION_SETTINGS;
  const queries = new PaginatedQueries({
    store: new MemoryStore({ maxBytes: 16 * 1024 * 1024 }),
    settings,
    identity: { id: 'gateway', host: '127.0.0.1', port: 1 },
    clock: systemClock,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  });
  return { engine, queries, settings, memory: memoryQueue() };
}

export interface TestAppOptions {
  /** Allows everything by default. */
  readonly authorizer?: Authorizer;
  /** Alice by default. */
  readonly principal?: Principal;
  readonly register: RegisterRoutes | readonly RegisterRoutes[];
  /** Anything else of the app, such as `clock`, `limits`, `audit` or a logger. */
  readonly parts?: Partial<AppDependencies>;
}

/**
 * An app around the routes under test, ready for `inject`, which sends `TEST_HEADERS` unless it is given an `authorization`
 * (`''` for none at all). Close it.
 */
export async function testApp(options: TestAppOptions): Promise<FastifyInstance> {
  const app = await buildApp({
    logger: createLogger('silent'),
    version: '0.0.0-test',
    authenticator: fixedAuthenticator(options.principal ?? ALICE),
    authorizer: options.authorizer ?? allowAll,
    plugins: typeof options.register === 'function' ? [options.register] : options.register,
    ...options.parts,
  });
  await app.ready();
  // Like `app.inject`, but through the whole server.
  const inject = (request: InjectOptions) =>
    lightMyRequest((incoming, response) => void app.server.emit('request', incoming, response), request);
  app.inject = ((request: string | InjectOptions) =>
    inject(
      typeof request === 'string'
        ? { url: request, headers: TEST_HEADERS }
        : { ...request, headers: { ...TEST_HEADERS, ...request.headers } },
    )) as typeof app.inject;
  return app;
}
