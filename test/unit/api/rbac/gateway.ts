import type { FastifyInstance } from 'fastify';
import { systemClock } from '../../../../src/platform/clock.ts';
import { Directory } from '../../../../src/access/directory.ts';
import { type ColumnLookup, RbacManager, type TableLookup } from '../../../../src/access/manager/manager.ts';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../../src/access/policy/predefined.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import type { LimitedQueryDependencies } from '../../../../src/api/engine/limited-query.ts';
import { rbacManager } from '../../../../src/api/rbac/index.ts';
import type { AppDependencies } from '../../../../src/api/app.ts';
import type { UsageTracker } from '../../../../src/access/usage/usage-tracker.ts';
import { roleAssignment } from '../../../builders/resources.ts';
import { ALICE, testApp } from '../../../support/app.ts';
import { MemoryStore } from '../../access/memory-store.ts';

export const BASE = '/api/v1/rbac-manager';
export const NOW = new Date('2026-11-01T12:00:00Z');

export interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests check the shape
  readonly body: any;
  readonly headers: Readonly<Record<string, unknown>>;
}

export interface TestGateway {
  readonly app: FastifyInstance;
  readonly store: MemoryStore;
  readonly directory: Directory;
  readonly manager: RbacManager;
  /** The gateway's time, milliseconds since the epoch; NOW at first. */
  readonly clock: { time: number };
  /** Sends `<method> <BASE><path>`. @returns status, parsed body and headers */
  readonly call: (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) => Promise<Answer>;
}

/** An in-memory gateway whose caller has the given roles. */
export async function testGateway(
  options: {
    roles?: readonly string[];
    principal?: Principal;
    store?: MemoryStore;
    parts?: Partial<AppDependencies>;
    tables?: TableLookup;
    schemas?: ColumnLookup;
    usage?: UsageTracker;
    /** By default no table is known: only for tests that preview no query. */
    queries?: LimitedQueryDependencies;
  } = {},
): Promise<TestGateway> {
  const { roles = ['system-admin'], principal = ALICE, store = new MemoryStore(), parts, usage } = options;
  const { tables, schemas, queries = { engine: {} as never, schemas: {} as never } } = options;
  if (!store.get('Role', 'system-admin')) {
    store.seed(...PREDEFINED_POLICIES, ...PREDEFINED_ROLES);
    for (const name of roles) {
      store.seed(
        roleAssignment(`test-${name}`, { role: name, subjects: [{ type: 'user-email', name: principal.id }] }),
      );
    }
  }
  const clock = { time: NOW.getTime(), now: () => clock.time };
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' }, { clock, usage });
  const manager = new RbacManager({
    store,
    directory,
    clock: { ...systemClock, now: () => clock.time },
    ...(tables ? { tables } : {}),
    ...(schemas ? { schemas } : {}),
    usage,
  });
  const app = await testApp({
    authorizer: directory,
    principal,
    register: (scope) => rbacManager(scope, { manager, queries }),
    ...(parts ? { parts } : {}),
  });
  return {
    app,
    store,
    directory,
    manager,
    clock,
    async call(method, path, body) {
      const answer = await app.inject({
        method,
        url: BASE + path,
        ...(body === undefined ? {} : { payload: body as object }),
      });
      const text = answer.body;
      return { status: answer.statusCode, body: text === '' ? '' : JSON.parse(text), headers: answer.headers };
    },
  };
}

/** `srn2:<kind>#<name>`, percent-encoded for a path. */
export function inPath(kind: string, name: string): string {
  return `srn2:${kind}%23${name}`;
}
