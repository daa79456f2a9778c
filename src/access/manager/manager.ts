import type { Clock } from '../../platform/clock.ts';
import { Deadline } from '../../platform/deadline.ts';
import type { Slices } from '../../platform/long-work.ts';
import type { Directory } from '../directory.ts';
import { Administrators } from './administrators.ts';
import { AssignedSubjects } from './assigned-subjects.ts';
import { AssignmentList } from './assignment-list.ts';
import { AssignmentSet } from './assignment-set.ts';
import { AssignmentManager } from './assignments.ts';
import { recordingStore } from './changes.ts';
import { ResourceEditor, type EditorOptions } from './editor.ts';
import { EscalationGuard } from './escalation.ts';
import { PolicyManager } from './policies.ts';
import { RoleManager } from './roles.ts';
import { ServiceTokenManager } from './service-tokens.ts';
import { reference, type Reference } from './views.ts';
import type { Principal } from '../principal.ts';
import {
  namedTables,
  policyWarnings,
  storedNames,
  type KnownNames,
  type Statements,
} from '../policy/policy-warnings.ts';
import { TABLE_VISIBILITY_ACTIONS } from '../policy/actions.ts';
import { callerValues, shownValues } from '../policy/conditions/caller-values.ts';
import { fitText, schemaFit, type LimitedStatement, type SchemaFit } from '../policy/conditions/schema-fit.ts';
import { tableResource, type SrnKind } from '../policy/srn.ts';
import { tableNameOf, type TableName } from '../../pinot/table-name.ts';
import { visibleText } from '../../platform/visible.ts';
import { simulate, type SimulatedCaller, type SimulatedRequest, type Simulation } from '../policy/simulate.ts';
import { userSubjects } from '../subjects.ts';
import { reviewPorts, type ReviewPorts } from '../usage/access-review.ts';
import type { UsageTracker } from '../usage/usage-tracker.ts';
import type { Subject } from '../../resources/role-assignment.ts';

export interface ManagerOptions extends EditorOptions {
  readonly directory: Directory;
  /** For warnings about names that do not exist; absent: tables are not looked up. */
  readonly tables?: TableLookup;
  /** Names of the other clusters of the environment, whose tables are not known. */
  readonly otherClusters?: readonly string[];
  /** For the comparison of conditions with the columns of tables; absent: they are not compared. */
  readonly schemas?: ColumnLookup;
  /** Record of the statements, roles and tokens that determine decisions; absent: nothing is recorded. */
  readonly usage?: UsageTracker | undefined;
}

/** The existing tables of the engine. */
export interface TableLookup {
  /** Looks for tables; lists them again where one is missing. @throws {Error} if the engine is unavailable */
  actualTables(names: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  /** Names of all tables as last listed; undefined if they were never listed. */
  tableNames(): readonly string[] | undefined;
}

/** The columns of the tables of the engine. */
export interface ColumnLookup {
  /** Undefined for a table without a schema. @throws {Error} if they cannot be read */
  columnsOf(table: TableName, signal: AbortSignal): Promise<ReadonlySet<string> | undefined>;
}

/** An assignment of the caller. */
export interface OwnAssignment {
  readonly role: string;
  readonly subject: Subject;
  /** RFC 3339; null for no end. */
  readonly expiresAt: string | null;
}

export interface WhoAmI {
  readonly srn: string;
  readonly kind: Principal['kind'];
  readonly authenticator: string;
  readonly subjects: readonly Subject[];
  readonly roles: readonly Reference[];
  /** The assignments by which the caller has these roles, by role. */
  readonly assignments: readonly OwnAssignment[];
  readonly policies: readonly Reference[];
  /** The values of the caller for row filters, by name such as `subject.email`. */
  readonly values: Readonly<Record<string, readonly string[]>>;
}

/** Each of these actions on a resource makes its name visible. */
const READ_ACTIONS: Readonly<Partial<Record<SrnKind, readonly string[]>>> = {
  role: ['GetRole'],
  policy: ['GetPolicy'],
  'service-token': ['GetServiceToken'],
};

/** A write of a policy is not delayed by more than this. */
const TABLES_TIMEOUT_MS = 2000;

const NO_CONDITIONS: SchemaFit = { errors: [], warnings: [], unchecked: [] };

/** The RBAC manager: implements the REST operations without HTTP. */
export class RbacManager {
  readonly directory: Directory;
  readonly roles: RoleManager;
  readonly policies: PolicyManager;
  readonly assignments: AssignmentManager;
  readonly assignmentList: AssignmentList;
  readonly assignmentSet: AssignmentSet;
  readonly serviceTokens: ServiceTokenManager;

  readonly usage: UsageTracker | undefined;
  /** For access reviews. */
  readonly reviewPorts: Omit<ReviewPorts, 'usage' | 'mayRead' | 'mayReadAny'>;
  readonly #tables: TableLookup | undefined;
  readonly #otherClusters: readonly string[];
  readonly #schemas: ColumnLookup | undefined;
  readonly #clock: Pick<Clock, 'monotonic' | 'schedule'>;
  readonly #namesOf: KnownNames['namesOf'];

  constructor(options: ManagerOptions) {
    const { directory } = options;
    this.usage = options.usage;
    this.reviewPorts = reviewPorts(options.store, directory);
    this.#tables = options.tables;
    this.#otherClusters = options.otherClusters ?? [];
    this.#schemas = options.schemas;
    const { clock } = options;
    this.#clock = { monotonic: () => clock.now(), schedule: (callback, ms) => clock.schedule(callback, ms) };
    this.#namesOf = storedNames(options.store);
    const editor = new ResourceEditor({ ...options, store: recordingStore(options.store) });
    const escalation = new EscalationGuard(directory, options.store);
    this.directory = directory;
    const guards = { escalation, administrators: new Administrators(editor, directory) };
    this.roles = new RoleManager(editor, directory, guards);
    this.policies = new PolicyManager(editor, directory, {
      ...guards,
      fit: (caller, statements, stored) => this.#schemaFit(caller, statements, stored),
    });
    this.assignmentList = new AssignmentList(editor, directory, new AssignedSubjects(directory));
    this.assignments = new AssignmentManager(editor, directory, this.assignmentList, guards);
    this.assignmentSet = new AssignmentSet(editor, directory, this.assignments, this.assignmentList);
    this.serviceTokens = new ServiceTokenManager(editor, directory, this.assignments);
  }

  /** Like `simulate` in `simulate.ts`, for this directory. */
  simulate(caller: SimulatedCaller, unsaved: unknown, requests: readonly SimulatedRequest[]): Slices<Simulation> {
    return simulate(this.directory, caller, unsaved, requests);
  }

  /** The view with the day of its last use, where that is recorded. @param key from `usage-keys.ts` */
  withLastUse<T extends object>(view: T, key: string): T & { lastUsedAt?: string | null } {
    return this.usage ? { ...view, lastUsedAt: this.usage.lastUsedAt(key) } : view;
  }

  /**
   * Names in a valid policy that do not exist, or that the caller may not read: the warning is the same for both. Tables count as existing while
   * the engine cannot be asked within two seconds.
   */
  async policyWarnings(caller: Principal, spec: Statements): Promise<string[]> {
    const { deployment } = this.directory;
    const named = namedTables(spec, deployment);
    const tables = named.length === 0 ? undefined : await this.#tableNames(named);
    const { warnings, unchecked } = await this.#schemaFit(caller, spec.statements, spec.statements);
    const readable = (kind: SrnKind, names: readonly string[]): readonly string[] =>
      names.filter((id) =>
        READ_ACTIONS[kind]?.some((action) => this.directory.isAllowed(caller, action, { levels: [{ kind, id }] })),
      );
    const names = policyWarnings(spec, {
      deployment,
      otherClusters: this.#otherClusters.map((cluster) => ({ cluster, tables: undefined })),
      tables: tables?.filter((table) => this.#maySee(caller, table)),
      namesOf: (kind) => readable(kind, this.#namesOf(kind)),
      filtered: true,
    });
    return [...names, ...[...warnings, ...unchecked].map(fitText).map(visibleText)];
  }

  /** Of the tables and columns that the caller may read: others are the same as those that do not exist, or are not compared. */
  async #schemaFit(
    caller: Principal,
    statements: readonly LimitedStatement[],
    stored: readonly LimitedStatement[],
  ): Promise<SchemaFit> {
    const schemas = this.#schemas;
    if (schemas === undefined || statements.every(({ conditions }) => conditions === undefined)) return NO_CONDITIONS;
    const { deployment } = this.directory;
    const deadline = new Deadline(this.#clock, TABLES_TIMEOUT_MS);
    try {
      const named = namedTables({ statements }, deployment);
      const isKnown = await this.#lookUp((tables, signal) => tables.actualTables(named, signal));
      const may = (action: string, table: string): boolean =>
        this.directory.wouldAllow(caller, action, tableResource(tableNameOf(table)));
      const tables = isKnown ? this.#tables?.tableNames() : undefined;
      return await schemaFit(
        statements,
        {
          deployment,
          otherClusters: this.#otherClusters,
          tables: tables?.filter((table) => this.#maySee(caller, table)),
          columnsOf: async (table) => {
            if (!may('GetSchema', table) && !may('Query', table)) throw new Error('you may not read its schema');
            return schemas.columnsOf(tableNameOf(table), deadline.signal);
          },
        },
        stored,
      );
    } finally {
      deadline.clear();
    }
  }

  /** Also a table of which the caller may read a part. */
  #maySee(caller: Principal, table: string): boolean {
    const resource = tableResource(tableNameOf(table));
    if (TABLE_VISIBILITY_ACTIONS.some((action) => this.directory.wouldAllow(caller, action, resource))) return true;
    if (!this.directory.hasConditions(caller)) return false;
    const grants = this.directory.grantsOf(caller);
    return this.directory.engine.decideWith(grants, 'Query', resource).reason === 'conditional';
  }

  /**
   * The tables to which the engine may resolve names, as for requests, by name. A name is left out while the engine cannot be asked within two
   * seconds.
   */
  async tablesMeantBy(names: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const meant = new Map<string, readonly string[]>();
    await this.#lookUp(async (tables, signal) => {
      // All at once, so that the lists are read again at most once for names that do not exist.
      await tables.actualTables(names, signal);
      for (const name of names) meant.set(name, await tables.actualTables([name], signal));
    });
    return meant;
  }

  async #tableNames(named: readonly string[]): Promise<readonly string[] | undefined> {
    const found = await this.#lookUp((tables, signal) => tables.actualTables(named, signal));
    return found ? this.#tables?.tableNames() : undefined;
  }

  /** @returns whether the tables are known in time */
  async #lookUp(find: (tables: TableLookup, signal: AbortSignal) => Promise<unknown>): Promise<boolean> {
    if (!this.#tables) return false;
    const deadline = new Deadline(this.#clock, TABLES_TIMEOUT_MS);
    try {
      await find(this.#tables, deadline.signal);
      return true;
    } catch {
      return false;
    } finally {
      deadline.clear();
    }
  }

  whoAmI(caller: Principal): WhoAmI {
    const { srn, kind, authenticator } = caller;
    const subjects: Subject[] =
      kind === 'service-token' ? [{ type: 'service-token', name: caller.id }] : userSubjects(caller);
    const roles = this.directory.existingRolesOf(caller).map((name) => reference('role', name));
    const assignments = this.directory.assignmentsOf(caller).map(({ role, subject: { type, name }, expiry }) => ({
      role,
      subject: { type, name },
      expiresAt: expiry === Infinity ? null : new Date(expiry).toISOString(),
    }));
    const policies = this.directory
      .grantsOf(caller)
      .policies.flatMap(({ policy }) => (policy.name === undefined ? [] : [reference('policy', policy.name)]));
    const values = shownValues(callerValues(caller));
    return { srn, kind, authenticator, subjects, roles, assignments, policies, values };
  }
}
