import type { FastifyRequest } from 'fastify';
import { tableNames } from '../../access/sql/table-names.ts';
import { databaseOfTable, tableNameOf, type TableName } from '../../pinot/table-name.ts';
import { TABLE_VISIBILITY_ACTIONS } from '../../access/policy/actions.ts';
import { clusterResource, tableResource } from '../../access/policy/srn.ts';

/** Address under which the client reaches the gateway as a broker. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Changes a JSON response of the controller before it is sent to the client. */
export type RewriteResponse = (response: unknown, context: RewriteContext) => unknown;

export interface RewriteContext {
  /** Whether the caller may see a table name from the response. */
  readonly visible: (table: string) => boolean;
  /** The tables of the engine, all of them. */
  readonly tables: () => Promise<readonly TableName[]>;
  /** Whether the caller may see databases without a visible table. */
  readonly allDatabases: boolean;
  /** Replaces the broker addresses, so that clients connect to the gateway; undefined to keep them. */
  readonly broker: Address | undefined;
}

type ListedFields = Readonly<Record<string, unknown>>;

/** Names of databases: those with a table that the caller may see. */
const databases: RewriteResponse = async (response, { visible, tables, allDatabases }) => {
  if (allDatabases) return response;
  const seen = new Set((await tables()).filter(visible).map((table) => databaseOfTable(table).toLowerCase()));
  return Array.isArray(response) ? response.filter((name) => seen.has(String(name).toLowerCase())) : [];
};

const names: RewriteResponse = (response, { visible }) =>
  Array.isArray(response) ? response.filter((name) => typeof name === 'string' && visible(name)) : [];

/** `{tables: [name, …]}`, and for a tenant from 1.4 on `tablesWithProperties: [{tableNameWithType, …}, …]`. Other fields could name tables. */
const tablesField: RewriteResponse = (response, context) => {
  const { tables, tablesWithProperties } = object(response);
  if (!Array.isArray(tablesWithProperties)) return { tables: names(tables, context) };
  const isVisible = (entry: unknown): boolean => {
    const { tableName, tableNameWithType = tableName } = object(entry);
    return [tableName ?? tableNameWithType, tableNameWithType].every(
      (name) => typeof name === 'string' && context.visible(name),
    );
  };
  return { tables: names(tables, context), tablesWithProperties: tablesWithProperties.filter(isVisible) };
};

/** `{<table>: brokers, …}` */
const byTable: RewriteResponse = (response, context) =>
  Object.fromEntries(
    Object.entries(object(response))
      .filter(([table]) => context.visible(table))
      .map(([table, list]) => [table, brokers(list, context)]),
  );

/** `{<tenant>: brokers, …}` */
const byTenant: RewriteResponse = (response, context) =>
  Object.fromEntries(Object.entries(object(response)).map(([tenant, list]) => [tenant, brokers(list, context)]));

/** `{tenants: …, tables: …}` */
const tenantsAndTables: RewriteResponse = (response, context) => ({
  tenants: byTenant(object(response)['tenants'], context),
  tables: byTable(object(response)['tables'], context),
});

/** Brokers as names (`Broker_<host>_<port>`) or as `{host, port, instanceName}`, replaced by the gateway. */
const brokers: RewriteResponse = (response, { broker }) => {
  if (broker === undefined || !Array.isArray(response) || response.length === 0) return response;
  const instanceName = `Broker_${broker.host}_${broker.port}`;
  const [first] = response as unknown[];
  // The gateway has no gRPC port.
  return typeof first === 'string' ? [instanceName] : [{ ...broker, instanceName, grpcPort: -1 }];
};

/** `{schemasInfo: [{schemaName, …}, …], uncachedSchemas: [name, …]}` */
const schemasInfo: RewriteResponse = (response, context) => {
  const { visible } = context;
  const { schemasInfo, uncachedSchemas } = object(response);
  const list = Array.isArray(schemasInfo) ? (schemasInfo as unknown[]) : [];
  return {
    ...object(response),
    schemasInfo: list.filter((info) => {
      const { schemaName } = object(info);
      return typeof schemaName === 'string' && visible(schemaName);
    }),
    ...(uncachedSchemas === undefined ? {} : { uncachedSchemas: names(uncachedSchemas, context) }),
  };
};

/** `{leadControllerEntryMap: {<resource>: {leadControllerId, tableNames}}}` */
const leaders: RewriteResponse = (response, context) => ({
  ...object(response),
  leadControllerEntryMap: Object.fromEntries(
    Object.entries(object(object(response)['leadControllerEntryMap'])).map(([resource, entry]) => [
      resource,
      { ...object(entry), tableNames: names(object(entry)['tableNames'], context) },
    ]),
  ),
});

const REWRITES: Readonly<Record<string, RewriteResponse>> = {
  '/databases': databases,
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

/** How to rewrite the response; undefined to forward it unchanged. */
export function rewriteOf(method: string, segments: readonly string[]): RewriteResponse | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  const exact = REWRITES[`/${segments.join('/')}`];
  if (exact !== undefined || segments.length < 3) return exact;
  const last = segments.length - 1;
  const parent = REWRITES[`/${[...segments.slice(0, last), '*'].join('/')}`];
  return parent ?? REWRITES[`/${[segments[0], '*', ...segments.slice(2)].join('/')}`];
}

/** Whether the caller may see all databases. */
export function seesDatabases({ principal, server }: FastifyRequest): boolean {
  return ['GetDatabase', 'GetTable'].some((action) => server.authorizer.isAllowed(principal, action, clusterResource));
}

/** Tables that the caller may see in lists: all with `GetTable` on the cluster, otherwise those with a visibility action, and those that it may query in part. */
export function visibleTo(request: FastifyRequest): (table: string) => boolean {
  const { principal, server } = request;
  const { authorizer } = server;
  const all = authorizer.isAllowed(principal, 'GetTable', clusterResource);
  return (table) =>
    all ||
    (tableNames(table) ?? [tableNameOf(table)]).every(
      (name) =>
        TABLE_VISIBILITY_ACTIONS.some((action) => authorizer.isAllowed(principal, action, tableResource(name))) ||
        authorizer.reading(principal, tableResource(name)).allowed,
    );
}

const AUTHORITY = /^([\w.-]+|\[[0-9a-fA-F:]+\])(?::(\d{1,5}))?$/;

/** The gateway address in the `Host` header. */
export function addressOf(request: FastifyRequest): Address | undefined {
  const [, host, port] = AUTHORITY.exec(request.headers.host ?? '') ?? [];
  if (host === undefined) return undefined;
  return { host, port: port === undefined ? (request.protocol === 'https' ? 443 : 80) : Number(port) };
}

function object(value: unknown): ListedFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ListedFields) : {};
}
