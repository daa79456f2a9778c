import type { Slices } from '../../platform/long-work.ts';
import type { ServiceToken } from '../../resources/kinds.ts';
import { API_VERSION } from '../../resources/meta.ts';
import { endOf } from '../../resources/time.ts';
import type { Directory } from '../directory.ts';
import type { Principal } from '../principal.ts';
import {
  acceptedPrevious,
  formatBearerToken,
  generateTokenKeys,
  hashesOf,
  hashFields,
  hashSecretKey,
  type TokenHashes,
  type TokenKeys,
} from '../service-token.ts';
import { serviceTokenResource, srnText } from '../policy/srn.ts';
import { compileGlob, globMatches } from '../../platform/glob.ts';
import type { AssignmentManager } from './assignments.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { IfMatch } from './content-versions.ts';
import { keepsChanging, notFound, type ResourceEditor } from './editor.ts';
import { isStoreError, ManagerError } from '../errors.ts';
import { requireFuture } from './expiry.ts';
import { type ListPart, type ListRange, nameOf, NOTHING, readablePart } from './list-part.ts';
import { rotated } from './token-rotation.ts';
import {
  createdAt,
  createdBy,
  managedBy,
  reference,
  versionOf,
  type TokenStatus,
  type TokenView,
  type Versioned,
} from './views.ts';

export interface NewServiceToken {
  readonly description?: string;
  /** RFC 3339. */
  readonly expiresAt?: string | null;
}

/** Response to creating or rotating a token; the only time that the secret is returned. */
export interface IssuedToken extends Versioned, Rotation {
  readonly srn: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly bearerToken: string;
  readonly description: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string | null;
}

type Rotation = Pick<TokenView, 'rotatedAt' | 'formerSecrets'>;

/** Which tokens are listed. `*` in these texts matches any characters. */
export interface TokenFilter extends ListRange {
  /** Without regard to case. */
  readonly description?: string | undefined;
  /** SRN of the creator. */
  readonly createdBy?: string | undefined;
}

/** Expiry of a token that is being deleted: it has passed by the clock of every gateway. */
export const DELETED_AT = '1970-01-01T00:00:00Z';

export class ServiceTokenManager {
  readonly #editor: ResourceEditor;
  readonly #directory: Directory;
  readonly #assignments: AssignmentManager;

  constructor(editor: ResourceEditor, directory: Directory, assignments: AssignmentManager) {
    this.#editor = editor;
    this.#directory = directory;
    this.#assignments = assignments;
  }

  /** The object name is the access key. @throws {StoreError} invalid, unavailable */
  async create(caller: Principal, { description, expiresAt }: NewServiceToken): Promise<IssuedToken> {
    requireFuture(expiresAt, this.#editor.now());
    const keys = generateTokenKeys();
    const created = await this.#editor.store.create('ServiceToken', {
      apiVersion: API_VERSION,
      kind: 'ServiceToken',
      metadata: this.#editor.newMetadata(keys.accessKey, caller),
      spec: { ...(description === undefined ? {} : { description }), ...(expiresAt ? { expiresAt } : {}) },
    });
    const hashes = { accessKey: keys.accessKey, secretHash: hashSecretKey(keys.secretKey), previousHashes: [] };
    let token: ServiceToken;
    try {
      token = await this.#storeHashes(created, hashes);
    } catch (error) {
      await this.#removeIfThere(created);
      throw error;
    }
    return this.#issued(token, keys);
  }

  /**
   * Replaces the secret key. The former one, and those before it, are accepted for no longer than `graceMs`: 0 ends all of them.
   *
   * A caller that gets the secret has what the token has, so it must hold that, or be the token itself. Ends are times in the status, so that every
   * gateway ends a former secret key at the same moment.
   * @throws {StoreError} not-found, forbidden; conflict where the token cannot be rotated, or has too many former secrets
   */
  async rotate(caller: Principal, nameOrKey: string, graceMs: number): Promise<IssuedToken> {
    const name = this.objectName(nameOrKey);
    const { store } = this.#editor;
    const found = await store.read('ServiceToken', name);
    if (found === undefined) throw notFound('ServiceToken', name);
    const { uid } = found.metadata;
    const isSelf = caller.kind === 'service-token' && caller.id === name && caller.uid === uid;
    if (!isSelf) await this.#assignments.requireMayTakeOver(caller, found);
    const { secretKey } = generateTokenKeys();
    const by = isSelf ? undefined : caller.srn;
    const token = await this.#editor.inTurn('ServiceToken', name, () =>
      this.#editor.retryConflicts(keepsChanging('ServiceToken', name), async (attempt) => {
        const current = attempt === 1 ? found : await store.read('ServiceToken', name);
        if (current === undefined || current.metadata.uid !== uid) throw notFound('ServiceToken', name);
        return store.updateStatus(
          'ServiceToken',
          rotated(current, secretKey, { now: this.#editor.now(), graceMs, by }),
        );
      }),
    );
    return this.#issued(token, { accessKey: hashesOf(token)?.accessKey ?? name, secretKey });
  }

  #issued(token: ServiceToken, keys: TokenKeys): IssuedToken {
    const { metadata, spec } = token;
    return {
      version: versionOf(metadata),
      srn: srnText('service-token', metadata.name),
      ...keys,
      bearerToken: formatBearerToken(keys),
      description: spec.description ?? '',
      createdAt: createdAt(metadata),
      createdBy: createdBy(metadata),
      expiresAt: spec.expiresAt ?? null,
      ...this.#rotation(token),
    };
  }

  /** Tokens that the caller may read, by name. */
  *list(caller: Principal, filter: TokenFilter = {}): Slices<ListPart<ServiceToken>> {
    if (!this.#directory.grantsOf(caller).mayAllow('GetServiceToken', 'service-token')) return NOTHING;
    const isWanted = wanted(filter);
    const mayRead = (token: ServiceToken): boolean =>
      isWanted(token) &&
      this.#directory.isAllowed(caller, 'GetServiceToken', serviceTokenResource(token.metadata.name));
    return yield* readablePart(this.#editor.store.list('ServiceToken'), { keyOf: nameOf, mayRead }, filter);
  }

  /** @param name object name or access key. @throws {StoreError} not-found */
  get(name: string): TokenView {
    return this.view(this.#editor.mustGet('ServiceToken', this.objectName(name)));
  }

  /**
   * Revokes the token immediately and removes it from all assignments, so that a new token with this name does not inherit its roles.
   *
   * The token expires before the first assignment is removed, because a role may contain a deny: without it the token would have more access
   * until the end. When the deletion is interrupted, the token stays expired, and the operator ends it.
   * @throws {StoreError} not-found, conflict
   * @throws {PreconditionFailed}
   */
  async remove(caller: Principal, nameOrKey: string, ifMatch?: IfMatch): Promise<void> {
    const name = this.objectName(nameOrKey);
    this.#editor.versions.require('ServiceToken', this.#editor.mustGet('ServiceToken', name), ifMatch);
    const subject: Subject = { type: 'service-token', name };
    // May be refused, and an expired token would not count as an administrator. This role has no deny.
    await this.#assignments.takeAdministration(caller, subject);
    await this.#expire(caller, name, ifMatch);
    // Before the token is deleted, because its access key must still resolve to its name.
    await this.#assignments.deleteAll(caller, subject);
    await this.#editor.remove('ServiceToken', name, () => undefined);
    // Those that were created meanwhile. One that is written after this read finds the token missing, and is undone by its writer.
    await this.#assignments.deleteAll(caller, subject, await this.#editor.store.readAll('RoleAssignment'));
  }

  async #expire(caller: Principal, name: string, ifMatch: IfMatch | undefined): Promise<void> {
    const expire = (spec: ServiceToken['spec']): ServiceToken['spec'] =>
      spec.expiresAt === DELETED_AT ? spec : { ...spec, expiresAt: DELETED_AT };
    try {
      await this.#editor.edit('ServiceToken', name, caller, expire, { replaces: 'nothing', ifMatch });
    } catch (error) {
      // Manifests of an earlier version do not grant `update`. Revoking the token is more important than the order.
      if (!isStoreError(error, 'forbidden')) throw error;
    }
  }

  /** The object name for a name or an access key. */
  objectName(nameOrKey: string): string {
    return this.#directory.tokenNameOf(nameOrKey) ?? nameOrKey;
  }

  view(token: ServiceToken): TokenView {
    const { name } = token.metadata;
    const accessKey = this.#directory.tokenByName(name)?.accessKey;
    const roles = this.#directory.rolesOfToken(name);
    return {
      version: versionOf(token.metadata),
      srn: srnText('service-token', name),
      ...(accessKey === undefined ? {} : { accessKey }),
      description: token.spec.description ?? '',
      createdAt: createdAt(token.metadata),
      createdBy: createdBy(token.metadata),
      expiresAt: token.spec.expiresAt ?? null,
      roles: roles.map((role) => reference('role', role)),
      status: this.#status(token, roles.length),
      ...this.#rotation(token),
      ...managedBy(token.metadata),
    };
  }

  #rotation(token: ServiceToken): Rotation {
    const former = acceptedPrevious(hashesOf(token), this.#editor.now());
    const rotatedAt = token.status?.rotatedAt;
    return {
      ...(rotatedAt === undefined ? {} : { rotatedAt }),
      ...(former.length === 0 ? {} : { formerSecrets: former.map(({ validUntil }) => ({ validUntil })) }),
    };
  }

  #status({ spec }: ServiceToken, roleCount: number): TokenStatus {
    if (endOf(spec.expiresAt) <= this.#editor.now()) return 'EXPIRED';
    return roleCount === 0 ? 'UNASSIGNED' : 'ACTIVE';
  }

  /** The status cannot be written with the object. The operator may write it at the same time, without hashes. */
  #storeHashes(created: ServiceToken, hashes: TokenHashes): Promise<ServiceToken> {
    const { store } = this.#editor;
    const { name, uid } = created.metadata;
    const changing = new ManagerError('conflict', `service token \`${name}\` keeps changing: try again`);
    return this.#editor.retryConflicts(changing, async (attempt) => {
      const current = attempt === 1 ? created : await store.read('ServiceToken', name);
      if (current?.metadata.uid !== uid || current === undefined)
        throw new ManagerError('not-found', `service token \`${name}\` was deleted while it was created`);
      return store.updateStatus('ServiceToken', { ...current, status: { ...current.status, ...hashFields(hashes) } });
    });
  }

  async #removeIfThere({ metadata: { name, uid } }: ServiceToken): Promise<void> {
    try {
      await this.#editor.store.delete('ServiceToken', name, uid === undefined ? {} : { uid });
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
    }
  }
}

/** Whether a token passes the filter; its name is filtered by readablePart(). */
function wanted({ description, createdBy: author }: TokenFilter): (token: ServiceToken) => boolean {
  const described = description === undefined ? undefined : compileGlob(description.toLowerCase());
  const created = author === undefined ? undefined : compileGlob(author);
  return ({ metadata, spec }) =>
    (described === undefined || globMatches(described, (spec.description ?? '').toLowerCase())) &&
    (created === undefined || globMatches(created, createdBy(metadata)));
}
