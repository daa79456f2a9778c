import type { FastifyRequest } from 'fastify';
import { tableNames } from '../../access/sql-tables.ts';
import { clusterResource, tableResource } from '../../access/srn.ts';

/** Where the gateway can be reached as a broker, by the client that asks. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What is done to an answer of the controller before the client sees it. */
export type Rewrite = (answer: unknown, context: RewriteContext) => unknown;

export interface RewriteContext {
  /** Whether the caller may know of a table, by the name that an answer gives it. */
  readonly visible: (table: string) => boolean;
  /** What is told instead of the brokers' addresses, which the caller shall not go to; undefined to leave them. */
  readonly broker: Address | undefined;
}

type Json = Readonly<Record<string, unknown>>;

const names: Rewrite = (answer, { visible }) =>
  Array.isArray(answer) ? answer.filter((name) => typeof name === 'string' && visible(name)) : [];

/** `{tables: [name, …], …}` */
const tablesField: Rewrite = (answer, context) => ({
  ...object(answer),
  tables: names(object(answer)['tables'], context),
});

/** `{<table>: brokers, …}` */
const byTable: Rewrite = (answer, context) =>
  Object.fromEntries(
    Object.entries(object(answer))
      .filter(([table]) => context.visible(table))
      .map(([table, list]) => [table, brokers(list, context)]),
  );

/** `{<tenant>: brokers, …}` */
const byTenant: Rewrite = (answer, context) =>
  Object.fromEntries(Object.entries(object(answer)).map(([tenant, list]) => [tenant, brokers(list, context)]));

/** `{tenants: …, tables: …}` */
const tenantsAndTables: Rewrite = (answer, context) => ({
  tenants: byTenant(object(answer)['tenants'], context),
  tables: byTable(object(answer)['tables'], context),
});

/** Brokers as names (`Broker_<host>_<port>`) or as `{host, port, instanceName}`: all of them become the gateway. */
const brokers: Rewrite = (answer, { broker }) => {
  if (broker === undefined || !Array.isArray(answer) || answer.length === 0) return answer;
  const instanceName = `Broker_${broker.host}_${broker.port}`;
  const [first] = answer as unknown[];
  // Its gRPC port is no way in.
  return typeof first === 'string' ? [instanceName] : [{ ...broker, instanceName, grpcPort: -1 }];
};

/** `{schemasInfo: [{schemaName, …}, …]}` */
const schemasInfo: Rewrite = (answer, { visible }) => {
  const { schemasInfo } = object(answer);
  const list = Array.isArray(schemasInfo) ? (schemasInfo as unknown[]) : [];
  return {
    ...object(answer),
    schemasInfo: list.filter((info) => {
      const { schemaName } = object(info);
      return typeof schemaName === 'string' && visible(schemaName);
    }),
  };
};

/** `{leadControllerEntryMap: {<resource>: {leadControllerId, tableNames}}}` */
const leaders: Rewrite = (answer, context) => ({
  ...object(answer),
  leadControllerEntryMap: Object.fromEntries(
    Object.entries(object(object(answer)['leadControllerEntryMap'])).map(([resource, entry]) => [
      resource,
      { ...object(entry), tableNames: names(object(entry)['tableNames'], context) },
    ]),
  ),
});

const REWRITES: Readonly<Record<string, Rewrite>> = {
  '/tables': tablesField,
  '/schemas': names,
  '/tableConfigs': names,
  '/logicalTables': names,
  '/schemas/info': schemasInfo,
  '/leader/tables': leaders,
  '/tenants/*/tables': tablesField,
  '/tables/livebrokers': byTable,
  '/tables/*/livebrokers': brokers,
  '/brokers': tenantsAndTables,
  '/brokers/tables': byTable,
  '/brokers/tables/*': brokers,
  '/brokers/tenants': byTenant,
  '/brokers/tenants/*': brokers,
  '/v2/brokers': tenantsAndTables,
  '/v2/brokers/tables': byTable,
  '/v2/brokers/tables/*': brokers,
  '/v2/brokers/tenants': byTenant,
  '/v2/brokers/tenants/*': brokers,
};

/** How the answer of a call must be rewritten; undefined where it goes on as it comes. */
export function rewriteOf(method: string, segments: readonly string[]): Rewrite | undefined {
  if (method !== 'GET') return undefined;
  const exact = REWRITES[`/${segments.join('/')}`];
  if (exact !== undefined || segments.length < 3) return exact;
  const last = segments.length - 1;
  const parent = REWRITES[`/${[...segments.slice(0, last), '*'].join('/')}`];
  return parent ?? REWRITES[`/${[segments[0], '*', ...segments.slice(2)].join('/')}`];
}

/** Any of these on a table lets its holder know that it exists. */
const SEEING_ACTIONS = ['Query', 'GetTableConfig', 'GetSchema', 'GetMetadata'] as const;

/** Which tables the caller may see in a list: those that it may do something with, or all where it may list them on the cluster. */
export function visibleTo(request: FastifyRequest): (table: string) => boolean {
  const { principal, server } = request;
  const { authorizer } = server;
  const all = authorizer.isAllowed(principal, 'GetTable', clusterResource);
  return (table) =>
    all ||
    (tableNames(table, undefined) ?? [table]).every((name) =>
      SEEING_ACTIONS.some((action) => authorizer.isAllowed(principal, action, tableResource(name))),
    );
}

const AUTHORITY = /^([\w.-]+|\[[0-9a-fA-F:]+\])(?::(\d{1,5}))?$/;

/** The address under which a client reached the gateway, by its `Host` header. */
export function addressOf(request: FastifyRequest): Address | undefined {
  const [, host, port] = AUTHORITY.exec(request.headers.host ?? '') ?? [];
  if (host === undefined) return undefined;
  return { host, port: port === undefined ? (request.protocol === 'https' ? 443 : 80) : Number(port) };
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}
