import type { Secret, ServiceToken } from '../../resources/kinds.ts';
import { readHashSecret, type OwnedHashes, type TokenHashes } from '../service-token.ts';

/** A service token in the index. */
export interface KnownToken {
  readonly name: string;
  readonly accessKey: string;
  readonly token: ServiceToken;
  readonly hashes: TokenHashes;
}

/**
 * Joins ServiceTokens with the Secrets that hold their hashes, which arrive in any order. A hash is valid only for the object it was created for:
 * if a token is deleted and created again with the same name, the old secret is invalid.
 */
export class TokenIndex {
  readonly #ownersByName: boolean;
  readonly #tokens = new Map<string, ServiceToken>();
  readonly #hashesByToken = new Map<string, { readonly secretName: string; readonly hashes: OwnedHashes }>();
  readonly #nameByAccessKey = new Map<string, string>();
  readonly #tokenBySecret = new Map<string, string>();

  /** @param ownersByName compare only names: with a folder of manifests, objects get new uids if its state is lost */
  constructor(ownersByName: boolean) {
    this.#ownersByName = ownersByName;
  }

  setToken(token: ServiceToken): void {
    this.#tokens.set(token.metadata.name, token);
  }

  removeToken(name: string): void {
    this.#tokens.delete(name);
  }

  setSecret(secret: Secret): void {
    this.removeSecret(secret.metadata.name);
    const read = readHashSecret(secret);
    if (!read) return;
    const { tokenName } = read;
    const before = this.#hashesByToken.get(tokenName);
    if (before) this.removeSecret(before.secretName);
    this.#hashesByToken.set(tokenName, { secretName: secret.metadata.name, hashes: read });
    this.#tokenBySecret.set(secret.metadata.name, tokenName);
    this.#nameByAccessKey.set(read.accessKey, tokenName);
  }

  removeSecret(secretName: string): void {
    const tokenName = this.#tokenBySecret.get(secretName);
    if (tokenName === undefined) return;
    this.#tokenBySecret.delete(secretName);
    const accessKey = this.#hashesByToken.get(tokenName)?.hashes.accessKey;
    this.#hashesByToken.delete(tokenName);
    if (accessKey !== undefined && this.#nameByAccessKey.get(accessKey) === tokenName) {
      this.#nameByAccessKey.delete(accessKey);
    }
  }

  exists(name: string): boolean {
    return this.#tokens.has(name);
  }

  byAccessKey(accessKey: string): KnownToken | undefined {
    const name = this.#nameByAccessKey.get(accessKey);
    return name === undefined ? undefined : this.byName(name);
  }

  /** Undefined if the token does not exist or its Secret was not created yet. */
  byName(name: string): KnownToken | undefined {
    const token = this.#tokens.get(name);
    const hashes = this.#hashesByToken.get(name)?.hashes;
    if (token === undefined || hashes === undefined) return undefined;
    if (!this.#ownersByName && hashes.tokenUid !== token.metadata.uid) return undefined;
    return { name, accessKey: hashes.accessKey, token, hashes };
  }
}
