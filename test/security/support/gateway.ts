import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { PREDEFINED_ROLES } from '../../../src/access/policy/predefined.ts';
import { FakeEngine, isListing } from '../../support/fake-engine.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';

/** A route that fastify knows. */
export interface Route {
  readonly method: string;
  /** Pattern. */
  readonly url: string;
}

export interface Caller {
  readonly name: string;
  /** Absent for the caller without a credential. */
  readonly token: string | undefined;
}

/** The table that the engine has. */
export const TABLE = 'orders_OFFLINE';

const ANSWER = JSON.stringify({
  resultTable: { dataSchema: { columnNames: ['city'], columnDataTypes: ['STRING'] }, rows: [['Oslo'], ['Bergen']] },
  exceptions: [],
  tablesQueried: ['orders'],
  numDocsScanned: 2,
});

/** A whole gateway with all its interfaces, an engine that answers every request, and one caller for each predefined role. */
export class RoledGateway {
  readonly service: Standalone;
  readonly engine: FakeEngine;
  readonly routes: readonly Route[];
  readonly callers: readonly Caller[];
  readonly #folder: string;

  private constructor(
    service: Standalone,
    engine: FakeEngine,
    rest: { readonly routes: readonly Route[]; readonly callers: readonly Caller[]; readonly folder: string },
  ) {
    this.service = service;
    this.engine = engine;
    this.routes = rest.routes;
    this.callers = rest.callers;
    this.#folder = rest.folder;
  }

  static async start(): Promise<RoledGateway> {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-roled-'));
    // The routes of the dashboard exist only with its index.html.
    await mkdir(join(folder, 'assets'));
    await writeFile(join(folder, 'index.html'), '<!doctype html><title>dashboard</title>');
    await writeFile(join(folder, 'assets/app.js'), '');
    const engine = new FakeEngine();
    await engine.listen();
    engine.serve([TABLE], ANSWER);
    engine.json('GET /databases', ['default']);
    engine.json('GET /logicalTables', []);
    const routes: Route[] = [];
    const record = (message: unknown): void => recordRoutes((message as { fastify: FastifyInstance }).fastify, routes);
    subscribe('fastify.initialization', record);
    try {
      const service = await startStandalone({
        controllers: engine.url,
        'ui-folder': folder,
        'max-requests-per-second': 0,
        'max-failed-attempts': 1_000_000,
      });
      return new RoledGateway(service, engine, { routes, callers: await createCallers(service), folder });
    } finally {
      unsubscribe('fastify.initialization', record);
    }
  }

  /** What the engine got since the last call, without the gateway's own requests for its lists. */
  forwarded(): number {
    return this.engine.seen.splice(0).filter((request) => !isListing(request)).length;
  }

  /** One request of a caller. */
  send(caller: Caller, method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(this.service.url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(caller.token !== undefined && { authorization: `Bearer ${caller.token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.engine.close();
    await rm(this.#folder, { recursive: true });
  }
}

function recordRoutes(app: FastifyInstance, routes: Route[]): void {
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) routes.push({ method: one, url });
  });
}

async function createCallers(service: Standalone): Promise<Caller[]> {
  const manage = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await service.call('POST', `/api/v1/rbac-manager${path}`, body);
    if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, string>;
  };
  await manage('/roles', { name: 'without-policies', description: 'No policies.' });
  const callers: Caller[] = [{ name: 'no credential', token: undefined }];
  const roles = PREDEFINED_ROLES.map(({ metadata }) => metadata.name).toReversed();
  for (const role of ['no role', 'without-policies', ...roles]) {
    const { accessKey = '', bearerToken = '' } = await manage('/service-tokens', { description: role });
    const assignment = { subject: accessKey, subjectType: 'service-token' };
    if (role !== 'no role') await manage(`/roles/srn2:role%23${role}/create-assignment`, assignment);
    callers.push({ name: role, token: bearerToken });
  }
  return callers;
}
