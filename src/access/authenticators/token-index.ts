import type { ServiceToken } from '../../resources/kinds.ts';
import { bytesOfHash, hashesOf, type TokenHashes } from '../service-token.ts';

/** A service token in the index. */
export interface KnownToken {
  readonly name: string;
  readonly accessKey: string;
  readonly token: ServiceToken;
  /** The hash of the secret key, then those that rotations replaced. */
  readonly secrets: readonly KnownSecret[];
}

export interface KnownSecret {
  /** Of the hash, as `bytesOfHash` returns them. */
  readonly hash: Buffer;
  /** Milliseconds since the epoch, exclusive; Infinity for the current secret key. */
  readonly validUntil: number;
}

/** ServiceTokens by object name and by access key. */
export class TokenIndex {
  readonly #tokens = new Map<string, ServiceToken>();
  readonly #known = new Map<string, KnownToken>();
  readonly #nameByAccessKey = new Map<string, string>();

  setToken(token: ServiceToken): void {
    const { name } = token.metadata;
    this.removeToken(name);
    this.#tokens.set(name, token);
    const hashes = hashesOf(token);
    if (hashes === undefined) return;
    const { accessKey } = hashes;
    this.#known.set(name, { name, accessKey, token, secrets: secretsOf(hashes) });
    // Access keys are random. A second token with the same one is not accepted, so that it cannot take the place of the first.
    if (!this.#nameByAccessKey.has(accessKey)) this.#nameByAccessKey.set(accessKey, name);
  }

  removeToken(name: string): void {
    const accessKey = this.#known.get(name)?.accessKey;
    this.#tokens.delete(name);
    this.#known.delete(name);
    if (accessKey !== undefined && this.#nameByAccessKey.get(accessKey) === name)
      this.#nameByAccessKey.delete(accessKey);
  }

  exists(name: string): boolean {
    return this.#tokens.has(name);
  }

  byAccessKey(accessKey: string): KnownToken | undefined {
    const name = this.#nameByAccessKey.get(accessKey);
    return name === undefined ? undefined : this.#known.get(name);
  }

  /** Undefined if the token does not exist or has no hash yet. */
  byName(name: string): KnownToken | undefined {
    return this.#known.get(name);
  }
}

function secretsOf({ secretHash, previousHashes }: TokenHashes): readonly KnownSecret[] {
  const previous = previousHashes.map(({ hash, validUntil }) => ({
    hash: bytesOfHash(hash),
    validUntil: Date.parse(validUntil),
  }));
  return [{ hash: bytesOfHash(secretHash), validUntil: Infinity }, ...previous];
}
