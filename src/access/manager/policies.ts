import { isDeepStrictEqual } from 'node:util';
import type { Slices } from '../../platform/long-work.ts';
import { sorted } from '../../platform/sorted.ts';
import type { Policy, Role } from '../../resources/kinds.ts';
import { API_VERSION } from '../../resources/meta.ts';
import type { PolicySpec } from '../../resources/policy.ts';
import { visibleText } from '../../platform/visible.ts';
import type { Directory } from '../directory.ts';
import { fitText, type LimitedStatement, type SchemaFit } from '../policy/conditions/schema-fit.ts';
import { parsePolicyDocument } from '../policy/policy-document.ts';
import { unmatchable } from '../policy/unmatchable.ts';
import type { Principal } from '../principal.ts';
import { policyResource, roleResource } from '../policy/srn.ts';
import type { IfMatch } from './content-versions.ts';
import { requireName, type ResourceEditor } from './editor.ts';
import { type ListPart, type ListRange, nameOf, NOTHING, readablePart } from './list-part.ts';
import { removeUnreferenced } from './references.ts';
import { ManagerError } from '../errors.ts';
import { readableText, readRight } from '../readable-text.ts';
import type { EscalationGuard } from './escalation.ts';
import type { Guards } from './guards.ts';
import { requireNotPredefined, requireNotReserved, requireSameName } from './roles.ts';
import { policyView, versionOf, type PolicyView } from './views.ts';

/** The document is either a JSON string or an object, never both. */
export interface DocumentFields {
  readonly policyDocumentJson?: string;
  readonly policyDocument?: unknown;
}

export interface NewPolicy extends DocumentFields {
  readonly name: string;
  readonly description?: string;
}

export interface PolicyChanges extends DocumentFields {
  readonly name?: string;
  readonly description?: string;
}

/** What the manager of policies asks before a write. */
interface PolicyGuards extends Pick<Guards, 'escalation'> {
  /** How conditions fit the tables that the caller may read. @param stored statements that may be written again as they are */
  readonly fit: (
    caller: Principal,
    statements: readonly LimitedStatement[],
    stored: readonly LimitedStatement[],
  ) => Promise<SchemaFit>;
}

export class PolicyManager {
  readonly #editor: ResourceEditor;
  readonly #directory: Directory;
  readonly #escalation: EscalationGuard;
  readonly #fit: PolicyGuards['fit'];

  constructor(editor: ResourceEditor, directory: Directory, { escalation, fit }: PolicyGuards) {
    this.#editor = editor;
    this.#directory = directory;
    this.#escalation = escalation;
    this.#fit = fit;
  }

  /**
   * @param options.likeUpdate the body may have the document twice, as that of update()
   * @throws {StoreError} invalid, already-exists, forbidden
   */
  async create(
    caller: Principal,
    body: NewPolicy,
    options: { readonly likeUpdate?: boolean } = {},
  ): Promise<PolicyView> {
    const { name, description } = body;
    requireName(name);
    requireNotReserved('Policy', name);
    const { statements } = options.likeUpdate === true ? changedDocument(body, undefined) : requireDocument(body);
    if (this.#editor.store.get('Policy', name)) {
      throw new ManagerError('already-exists', `policy \`${name}\` exists already`);
    }
    const spec = { ...(description === undefined ? {} : { description }), statements };
    await this.#requireFit(caller, statements, []);
    this.#escalation.requireMayWritePolicy(caller, name, undefined, spec);
    const policy: Policy = {
      apiVersion: API_VERSION,
      kind: 'Policy',
      metadata: this.#editor.newMetadata(name, caller),
      spec,
    };
    return policyView(await this.#editor.store.create('Policy', policy));
  }

  /** In the local view; undefined if there is no such policy. */
  version(name: string): string | undefined {
    const policy = this.#editor.store.get('Policy', name);
    return policy && versionOf(policy.metadata);
  }

  /** @throws {StoreError} not-found */
  get(name: string): PolicyView {
    return policyView(this.#editor.mustGet('Policy', name));
  }

  /** The stored spec, even if the policy is invalid; undefined if it does not exist. */
  specOf(name: string): PolicySpec | undefined {
    return this.#editor.store.get('Policy', name)?.spec;
  }

  /** Policies that the caller may read, by name. */
  *list(caller: Principal, range: ListRange = {}): Slices<ListPart<Policy>> {
    if (!this.#directory.grantsOf(caller).mayAllow('GetPolicy', 'policy')) return NOTHING;
    const mayRead = ({ metadata }: Policy): boolean =>
      this.#directory.isAllowed(caller, 'GetPolicy', policyResource(metadata.name));
    return yield* readablePart(this.#editor.store.list('Policy'), { keyOf: nameOf, mayRead }, range);
  }

  /** The roles with a policy that the caller may read, by name. @throws {StoreError} not-found */
  *roles(caller: Principal, name: string, range: ListRange = {}): Slices<ListPart<Role>> {
    this.#editor.mustGet('Policy', name);
    if (!this.#directory.grantsOf(caller).mayAllow('GetRole', 'role')) return NOTHING;
    const mayRead = (role: string): boolean => this.#directory.isAllowed(caller, 'GetRole', roleResource(role));
    const names = yield* sorted(this.#directory.engine.rolesHolding(name), (role) => role);
    const { items, hasMore } = yield* readablePart(names, { keyOf: (role) => role, mayRead }, range);
    const roles = items.map((role) => this.#editor.store.get('Role', role));
    return { items: roles.filter((role) => role !== undefined), hasMore };
  }

  /** @throws {ManagerError} invalid, for conditions that name columns which no table of their statement has */
  async #requireFit(
    caller: Principal,
    statements: readonly LimitedStatement[],
    stored: readonly LimitedStatement[],
  ): Promise<void> {
    const { errors } = await this.#fit(caller, statements, stored);
    if (errors.length > 0) throw new ManagerError('invalid', errors.map(fitText).map(visibleText).join('; '));
  }

  /** Absent fields stay unchanged. @throws {StoreError} not-found, invalid, conflict, forbidden */
  async update(caller: Principal, name: string, changes: PolicyChanges, ifMatch?: IfMatch): Promise<PolicyView> {
    const current = await this.#editor.find('Policy', name);
    requireSameName('Policy', name, changes.name);
    requireNotPredefined('Policy', name);
    const { description = current.spec.description } = changes;
    // What is stored already may be sent again. A caller that may not read it would find out by this what is stored.
    const known = this.#escalation.mayRead(caller, name) ? current.spec : undefined;
    const { statements } = hasDocument(changes) ? changedDocument(changes, known) : current.spec;
    const spec: PolicySpec = { ...(description === undefined ? {} : { description }), statements };
    if (hasDocument(changes)) await this.#requireFit(caller, statements, known?.statements ?? []);
    this.#escalation.requireMayWritePolicy(caller, name, current.spec, spec);
    const change = (stored: PolicySpec): PolicySpec => (isDeepStrictEqual(stored, spec) ? stored : spec);
    return policyView(await this.#editor.edit('Policy', name, caller, change, { replaces: current, ifMatch }));
  }

  /** @throws {StoreError} not-found; conflict while a role has the policy; forbidden */
  async remove(name: string, ifMatch?: IfMatch): Promise<void> {
    this.#editor.mustGet('Policy', name);
    requireNotPredefined('Policy', name);
    const holder = async (): Promise<ManagerError | undefined> => {
      const role = (await this.#editor.store.readAll('Role')).find(({ spec }) => spec.policies?.includes(name));
      if (role === undefined) return undefined;
      const holding = role.metadata.name;
      const by = {
        rights: [readRight('Role', holding), readRight('Policy', name)],
        text: `role \`${holding}\``,
        otherwise: 'a role, which you may not read',
      };
      return new ManagerError('conflict', readableText`policy \`${name}\` is attached to ${by}: detach it first`);
    };
    await removeUnreferenced(this.#editor, 'Policy', name, { holder, ifMatch });
  }
}

function hasDocument(fields: DocumentFields): boolean {
  return fields.policyDocumentJson !== undefined || fields.policyDocument !== undefined;
}

/**
 * The document of a new policy or of a change. A body that GET returned has it twice; then the one that was changed counts.
 * @param current the stored spec; undefined for a new policy, and for a caller that may not read it
 * @throws {ManagerError} invalid
 */
function changedDocument(
  { policyDocumentJson, policyDocument }: DocumentFields,
  current: PolicySpec | undefined,
): PolicySpec {
  const statements = current?.statements;
  if (policyDocumentJson === undefined) return requireDocument({ policyDocument }, statements);
  const byText = requireDocument({ policyDocumentJson }, statements);
  if (policyDocument === undefined) return byText;
  const byObject = requireDocument({ policyDocument }, statements);
  const same = (a: PolicySpec, b: PolicySpec | undefined): boolean => isDeepStrictEqual(a.statements, b?.statements);
  if (same(byText, byObject) || same(byObject, current)) return byText;
  if (same(byText, current)) return byObject;
  throw new ManagerError(
    'invalid',
    '`policyDocumentJson` and `policyDocument` are both changed, and differently: send one of them',
  );
}

/**
 * Parses the policy document of a request.
 * @param stored statements that the policy has already: they may be such that never match
 * @throws {ManagerError} invalid, with the path in the document
 */
export function requireDocument(fields: DocumentFields, stored: PolicySpec['statements'] = []): PolicySpec {
  const { policyDocumentJson, policyDocument } = fields;
  if (policyDocumentJson !== undefined && policyDocument !== undefined) {
    throw new ManagerError('invalid', 'send either `policyDocumentJson` or `policyDocument`, not both');
  }
  if (!hasDocument(fields)) {
    throw new ManagerError('invalid', '`policyDocumentJson` is missing: the policy document as JSON in a string');
  }
  const parsed = parsePolicyDocument(policyDocumentJson ?? policyDocument);
  const errors = parsed.ok ? unmatchable(parsed.spec.statements, stored).errors : parsed.errors;
  if (parsed.ok && errors.length === 0) return parsed.spec;
  const field = policyDocumentJson === undefined ? 'policyDocument' : 'policyDocumentJson';
  const problems = errors.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ');
  throw new ManagerError('invalid', `\`${field}\`: ${problems}`);
}
