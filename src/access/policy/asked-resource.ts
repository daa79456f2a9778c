import { tableNameOf } from '../../pinot/table-name.ts';
import { isOnlyOnAllNames } from './action-kinds.ts';
import {
  parseSrn,
  serviceTokenResource,
  tableResource,
  type Deployment,
  type Srn,
  type SrnParseResult,
} from './srn.ts';

/** What a question about access names: one resource, by the name that requests of it have. */
export interface AskedResource {
  readonly resource: Srn;
  /** The table of the own cluster, whose name the engine may resolve to others; undefined for other resources. */
  readonly table: string | undefined;
}

/**
 * Parses the resource of a question (simulate-access, who-can). A table may be written as in a request: with its type or the database `default`.
 * @param action of the question: that of a new service token is asked on those of all names, because it has no name yet
 * @returns the resource, or one sentence that describes the error
 */
export function parseAskedResource(
  text: string,
  action: string,
  deployment: Deployment,
): SrnParseResult<AskedResource> {
  const parsed = parseSrn(text);
  if (!parsed.ok) return parsed;
  const { levels } = parsed.value;
  if (levels.length === 1 && levels[0]?.kind === 'service-token' && isOnlyOnAllNames(action))
    return { ok: true, value: { resource: serviceTokenResource('*'), table: undefined } };
  if (levels.some(({ id }) => id.includes('*')))
    return {
      ok: false,
      message: `\`${text}\` names several resources: a question is about one, without \`*\`, because a deny for one of them would not show`,
    };
  const last = levels.at(-1);
  if (last?.kind !== 'table') return { ok: true, value: { resource: parsed.value, table: undefined } };
  if (/["`']/.test(last.id))
    return { ok: false, message: `\`${text}\` has quotation marks: write the name of the table without them` };
  const name = tableNameOf(last.id);
  const outer = levels.slice(0, -1);
  const isOwn = outer.every(
    ({ kind, id }) => id === (kind === 'cluster' ? deployment.cluster : deployment.environment),
  );
  const resource = { levels: [...outer, ...tableResource(name).levels] };
  return { ok: true, value: { resource, table: isOwn ? name : undefined } };
}

/** @param meant the tables to which the engine may resolve the name; undefined if that is not known */
export function meaningsOf(
  { resource, table }: AskedResource,
  action: string,
  meant: readonly string[] | undefined,
): readonly Srn[] {
  if (table === undefined || meant === undefined) return [resource];
  const outer = resource.levels.slice(0, -1);
  const resources = meant.map((id) => ({ levels: [...outer, { kind: 'table', id }] }));
  // A query reads what its names mean. Other calls also need the name as it is written, which the controller may know.
  return action.toLowerCase() === 'query' || meant.includes(table) ? resources : [resource, ...resources];
}
