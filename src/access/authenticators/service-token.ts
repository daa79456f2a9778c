import type { WallClock } from '../../platform/clock.ts';
import { LruCache } from '../../platform/lru.ts';
import type { AuthenticationResult, Authenticator, Credential } from './authenticator.ts';
import { tokenPrincipal, type Directory } from '../directory.ts';
import { MAX_PREVIOUS_HASHES } from '../../resources/service-token.ts';
import { endOf } from '../../resources/time.ts';
import type { Principal } from '../principal.ts';
import {
  ACCESS_KEY_LENGTH,
  bytesOfHash,
  DUMMY_HASH,
  hashesEqual,
  hashSecretKey,
  looksLikeServiceToken,
  parseBearerToken,
  SECRET_KEY_LENGTH,
  type TokenKeys,
} from '../service-token.ts';
import type { KnownToken } from './token-index.ts';

/** The same message for an unknown key and a wrong secret, so that it does not reveal which access keys exist. */
const NO_SUCH_TOKEN = 'the service token is unknown, was revoked, or its secret is wrong';

const MAX_PRINCIPALS = 10_000;

const DUMMY = bytesOfHash(DUMMY_HASH);

const ACCESS_KEY_FORM = new RegExp(`^[a-z0-9]{${ACCESS_KEY_LENGTH}}$`);
const SECRET_KEY_FORM = new RegExp(`^[a-z0-9]{${SECRET_KEY_LENGTH}}$`);

/** Authenticates `Bearer svc-<accessKey>-<secretKey>`, and Basic with the access key as user and the secret key as password. */
export class ServiceTokenAuthenticator implements Authenticator {
  readonly name = 'service-token';
  readonly #directory: Directory;
  readonly #clock: WallClock;
  /** The same object for each request of a token, because decisions are cached by principal. */
  readonly #principals = new LruCache<string, Principal>({ maxWeight: MAX_PRINCIPALS });

  constructor(directory: Directory, clock: WallClock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  authenticate(credential: Credential): Promise<AuthenticationResult> {
    return Promise.resolve(this.#check(credential));
  }

  #check(credential: Credential): AuthenticationResult {
    if (credential.scheme === 'bearer' && !looksLikeServiceToken(credential.token)) return { outcome: 'not-mine' };
    const keys = keysOf(credential);
    // A Basic credential of another form may be for another authenticator; a bearer token that begins with `svc-` is not.
    if (!keys && credential.scheme === 'basic') return { outcome: 'not-mine' };
    if (!keys) {
      return rejected(
        `the service token is malformed: it must be \`svc-\`, ${ACCESS_KEY_LENGTH} letters or digits, \`-\` and ${SECRET_KEY_LENGTH} letters or digits`,
      );
    }
    const token = this.#directory.tokenByAccessKey(keys.accessKey);
    if (!this.#secretMatches(keys.secretKey, token) || !token) return rejected(NO_SUCH_TOKEN);
    const { expiresAt } = token.token.spec;
    // Checked after the secret, so that only a caller with the secret gets the information that the token has expired or has no role.
    if (endOf(expiresAt) <= this.#clock.now()) {
      return rejected(`the service token \`${token.name}\` expired at ${expiresAt}`);
    }
    if (!this.#directory.hasRole(token.name)) {
      return rejected(`the service token \`${token.name}\` has no role: assign one to it before it can be used`);
    }
    return { outcome: 'authenticated', principal: this.#principal(token) };
  }

  #principal({ name, token }: KnownToken): Principal {
    const { uid } = token.metadata;
    const known = this.#principals.get(name);
    if (known !== undefined && known.uid === uid) return known;
    const principal = tokenPrincipal(name, uid);
    this.#principals.set(name, principal);
    return principal;
  }

  /** Always makes the same number of comparisons, so that the time reveals neither the existence of an access key nor a rotation. */
  #secretMatches(secretKey: string, token: KnownToken | undefined): boolean {
    const asked = bytesOfHash(hashSecretKey(secretKey));
    const now = this.#clock.now();
    let matches = false;
    for (let index = 0; index <= MAX_PREVIOUS_HASHES; index++) {
      const secret = token?.secrets[index];
      const equal = hashesEqual(asked, secret?.hash ?? DUMMY);
      matches ||= equal && secret !== undefined && secret.validUntil > now;
    }
    return matches;
  }
}

function keysOf(credential: Credential): TokenKeys | undefined {
  if (credential.scheme === 'bearer') return parseBearerToken(credential.token);
  const { username, password } = credential;
  if (!ACCESS_KEY_FORM.test(username) || !SECRET_KEY_FORM.test(password)) return undefined;
  return { accessKey: username, secretKey: password };
}

function rejected(message: string): AuthenticationResult {
  return { outcome: 'rejected', message };
}
