import { ANY_ACTION } from './action-names.ts';
import {
  FILTERED,
  IGNORING_DATABASE,
  NAME_REPEATED,
  ON_CLUSTER,
  ON_CLUSTER_AND_TABLE,
  ON_TABLE,
  ON_TABLE_OF_BODY,
  TABLES_IN_BODY,
  UPLOADS,
} from './call-list.ts';

/** Query parameters from which the controller reads a table. */
export const TABLE_PARAMETERS = ['tableName', 'tableNameWithType', 'schemaName', 'table'] as const;
/** Query parameters whose parts can be names of tables: paths of ZooKeeper nodes, and lists. */
const PARTS_PARAMETERS = ['path', 'includeTables', 'excludeTables'] as const;

/** Parameters used for the access decision. They must occur once, in this spelling. */
export const DECIDING_PARAMETERS: ReadonlySet<string> = new Set([...TABLE_PARAMETERS, ...PARTS_PARAMETERS, 'state']);

/** What the engine does to each table of a database that it deletes, without asking for the rights. */
export const DELETING_ACTIONS = ['DeleteDatabase', 'DeleteTable', 'DeleteSchema'] as const;

export interface EngineCall {
  /** Whether the list of calls has it. */
  readonly isKnown: boolean;
  /** Required on the cluster; all are needed. */
  readonly onCluster: readonly string[];
  /** Required on every table named in path, parameters and body; all are needed. */
  readonly onTable: readonly string[];
  /** Table names in path and parameters, with their spelling. No statement may deny `onCluster` on them. */
  readonly tables: readonly string[];
  /** Indexes of the path segments that are table names. */
  readonly tableSegments: readonly number[];
  /** Other parts of path and parameters; for those that are names of tables the same holds as for `tables`. */
  readonly parts: readonly string[];
  /**
   * How the body is used. `nothing`: it is not read and may be streamed. `more-tables`: a table that it names is checked too.
   * `tables`: it names the tables; if it names none, `onTable` is required on the cluster. `cluster`: no statement may deny `onCluster` on a table that it names.
   */
  readonly body: 'nothing' | 'more-tables' | 'tables' | 'cluster';
  /** Whether the engine takes names in the body as they are, without the database of the header. */
  readonly ignoresDatabase: boolean;
  /** Whether the body must name the table exactly as the path does. */
  readonly repeatsName: boolean;
  /** The database whose tables the call deletes. No statement may deny `DELETING_ACTIONS` on one of them. */
  readonly deletedDatabase: string | undefined;
  /** Whether the response is a list of tables that must be filtered. */
  readonly filtered: boolean;
  /** Whether the call uploads segments. */
  readonly upload: boolean;
  /** Whether the call is known to change something, even with `GET`. */
  readonly changes: boolean;
}

interface ActionRule {
  readonly segments: readonly string[];
  /** Query parameter that names the table. */
  readonly parameter: string | undefined;
  readonly onCluster: readonly string[];
  readonly onTable: readonly string[];
  readonly tablesInBody: boolean;
  readonly repeatsName: boolean;
  /** Where the table is named; undefined for calls only on the cluster. */
  readonly tableIn: 'path' | 'parameter' | 'body' | undefined;
  /** Number of characters outside placeholders: like in the engine, the rule with the most wins. */
  readonly literal: number;
}

const FILTERED_CALLS = callSet(FILTERED);
const UPLOAD_CALLS = callSet(UPLOADS);
const CALLS_IGNORING_DATABASE = callSet(IGNORING_DATABASE);
const TABLES_IN_BODY_CALLS = callSet(TABLES_IN_BODY);
const NAME_REPEATED_CALLS = callSet(NAME_REPEATED);
const RULES: ReadonlyMap<string, readonly ActionRule[]> = compile();

/** Version 0.11 changes the state of tables, segments and tenants with `GET …?state=`. */
const TABLE_STATE_ACTIONS = ['EnableTable', 'DisableTable', 'DeleteTable', 'DeleteSegment'] as const;
const TENANT_STATE_ACTIONS = ['UpdateTenant', 'DeleteTenant'] as const;

/** Actions that only read. A `GET` with another action changes something, such as `/periodictask/run`. */
const READS = /^(?:Get|Download|Debug)/;

/** An unknown call may do anything, including reading any table. Requiring these actions keeps policies that deny them effective. */
export const UNKNOWN_CALL_ACTIONS = [ANY_ACTION, 'Query', 'DownloadSegment', 'GetResponseStore'] as const;

/**
 * Actions on tables that some calls require on the cluster: calls whose table is not known (a form, an upload without its name), unknown calls,
 * and queries in the configuration of a task.
 */
export const TABLE_ACTIONS_ALSO_ON_CLUSTER: ReadonlySet<string> = new Set([
  ...UNKNOWN_CALL_ACTIONS.filter((action) => action !== ANY_ACTION),
  ...[...RULES].flatMap(([key, rules]) =>
    rules.flatMap(({ tableIn, onCluster, onTable }) =>
      tableIn === 'parameter' || (tableIn !== undefined && !key.startsWith('GET ')) ? [...onCluster, ...onTable] : [],
    ),
  ),
]);

const UNKNOWN_CALL: EngineCall = {
  isKnown: false,
  onCluster: UNKNOWN_CALL_ACTIONS,
  onTable: [],
  tables: [],
  tableSegments: [],
  parts: [],
  body: 'nothing',
  ignoresDatabase: false,
  repeatsName: false,
  deletedDatabase: undefined,
  filtered: false,
  upload: false,
  changes: false,
};

/**
 * Permissions that a controller call requires. An unknown call requires `*` on the cluster and every action that reads data.
 * @param segments decoded path segments, none empty
 * @param parameter returns the value of a query parameter
 */
export function engineCall(
  method: string,
  segments: readonly string[],
  parameter: (name: string) => string | undefined,
): EngineCall {
  // The engine handles HEAD like GET.
  const asked = method === 'HEAD' ? 'GET' : method;
  const rule = ruleFor(asked, segments);
  if (rule === undefined) return { ...UNKNOWN_CALL, parts: [...segments, ...partsOfParameters(parameter)] };
  const call = `${asked} /${segments.join('/')}`;
  const state = asked === 'GET' && parameter('state') !== undefined;
  const common = {
    isKnown: true,
    ignoresDatabase: CALLS_IGNORING_DATABASE.has(call),
    repeatsName: rule.repeatsName,
    deletedDatabase: segments[rule.segments.indexOf('{database}')],
    filtered: FILTERED_CALLS.has(call),
    upload: UPLOAD_CALLS.has(call),
    changes: asked !== 'GET' || state || ![...rule.onCluster, ...rule.onTable].every((action) => READS.test(action)),
  };
  const actions = state ? stateActions(rule, segments) : rule;
  return { ...common, ...checkedTables(rule, actions, segments, parameter) };
}

function stateActions(rule: ActionRule, segments: readonly string[]): Pick<EngineCall, 'onCluster' | 'onTable'> {
  const { onCluster, onTable, tableIn } = rule;
  if (segments[0] === 'tables' && tableIn === 'path') return { onCluster, onTable: TABLE_STATE_ACTIONS };
  return { onCluster: segments[0] === 'tenants' ? [...onCluster, ...TENANT_STATE_ACTIONS] : onCluster, onTable };
}

type CheckedTables = Pick<EngineCall, 'onCluster' | 'onTable' | 'tables' | 'tableSegments' | 'parts' | 'body'>;

function checkedTables(
  rule: ActionRule,
  { onCluster, onTable }: Pick<EngineCall, 'onCluster' | 'onTable'>,
  segments: readonly string[],
  parameter: (name: string) => string | undefined,
): CheckedTables {
  const tableSegments = [...rule.segments.keys()].filter((index) => rule.segments[index] === '{table}');
  const tables = [
    ...tableSegments.map((index) => segments[index] as string),
    ...TABLE_PARAMETERS.map(parameter).filter((name) => name !== undefined && name !== ''),
  ] as string[];
  const parts = rule.tableIn === undefined ? partsOfParameters(parameter) : [];
  const named = { onCluster, onTable, tables, tableSegments, parts };
  switch (rule.tableIn) {
    case undefined:
      return { ...named, body: rule.tablesInBody ? 'cluster' : 'nothing' };
    case 'body':
      return { ...named, body: 'tables' };
    case 'path':
      return { ...named, body: 'more-tables' };
    case 'parameter':
      if (parameter(rule.parameter as string)) return { ...named, body: 'nothing' };
      // The engine reads the table name from the uploaded file, so it is unknown here.
      return { ...named, onCluster: [...onCluster, ...onTable], body: 'nothing' };
  }
}

function partsOfParameters(parameter: (name: string) => string | undefined): string[] {
  return PARTS_PARAMETERS.flatMap((name) => parameter(name)?.split(/[/,]/) ?? []).filter((part) => part !== '');
}

function ruleFor(method: string, segments: readonly string[]): ActionRule | undefined {
  let best: ActionRule | undefined;
  for (const rule of RULES.get(`${method} ${segments.length}`) ?? []) {
    if (best !== undefined && rule.literal <= best.literal) continue;
    if (rule.segments.every((wanted, index) => isPlaceholder(wanted) || wanted === segments[index])) best = rule;
  }
  return best;
}

function isPlaceholder(segment: string): boolean {
  return segment === '*' || segment === '{table}' || segment === '{database}';
}

function compile(): ReadonlyMap<string, readonly ActionRule[]> {
  const rules = new Map<string, ActionRule[]>();
  for (const rule of [
    ...[...lines(ON_TABLE), ...lines(ON_TABLE_OF_BODY)].map(([method, target, actions]) =>
      ruleOf(method, target, { onTable: actions }),
    ),
    ...lines(ON_CLUSTER).map(([method, target, actions]) => ruleOf(method, target, { onCluster: actions })),
    ...lines(ON_CLUSTER_AND_TABLE).map(([method, target, onCluster, onTable]) =>
      ruleOf(method, target, { onCluster, onTable }),
    ),
  ]) {
    const key = `${rule.method} ${rule.segments.length}`;
    rules.set(key, [...(rules.get(key) ?? []), rule]);
  }
  return rules;
}

function ruleOf(
  method = '',
  target = '',
  actions: { readonly onCluster?: string | undefined; readonly onTable?: string | undefined },
): ActionRule & { readonly method: string } {
  const [path = '', parameter] = target.split('?');
  const segments = path.split('/').slice(1);
  const onCluster = actions.onCluster?.split('+') ?? [];
  const onTable = actions.onTable?.split('+') ?? [];
  return {
    method,
    segments,
    parameter,
    onCluster,
    onTable,
    tablesInBody: TABLES_IN_BODY_CALLS.has(`${method} ${path}`),
    repeatsName: NAME_REPEATED_CALLS.has(`${method} ${path}`),
    tableIn: onTable.length === 0 ? undefined : placeOfTable(segments, parameter),
    literal: segments.filter((segment) => !isPlaceholder(segment)).join('').length,
  };
}

function placeOfTable(segments: readonly string[], parameter: string | undefined): ActionRule['tableIn'] {
  if (segments.includes('{table}')) return 'path';
  return parameter === undefined ? 'body' : 'parameter';
}

function callSet(text: string): ReadonlySet<string> {
  return new Set(lines(text).map(([method, path]) => `${method} ${path}`));
}

function lines(text: string): string[][] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/));
}
