import type { AuthenticationResult, Authenticator, Credential } from '../authenticator.ts';
import { tokenPrincipal, type Directory } from '../directory.ts';
import type { Principal } from '../principal.ts';
import {
  ACCESS_KEY_LENGTH,
  DUMMY_HASH,
  hashSecretKey,
  looksLikeServiceToken,
  parseBearerToken,
  SECRET_KEY_LENGTH,
  secretHashMatches,
  type TokenKeys,
} from '../service-token.ts';
import type { KnownToken } from '../token-index.ts';

/** One text for an unknown key and for a wrong secret: an answer must not tell which access keys exist. */
const NO_SUCH_TOKEN = 'the service token is unknown, was revoked, or its secret is wrong';

const MAX_PRINCIPALS = 10_000;

const ACCESS_KEY_FORM = new RegExp(`^[a-z0-9]{${ACCESS_KEY_LENGTH}}$`);
const SECRET_KEY_FORM = new RegExp(`^[a-z0-9]{${SECRET_KEY_LENGTH}}$`);

/** `Bearer svc-<accessKey>-<secretKey>`, and Basic with the access key as user and the secret key as password. */
export class ServiceTokenAuthenticator implements Authenticator {
  readonly name = 'service-token';
  readonly #directory: Directory;
  readonly #now: () => Date;
  /** What is worked out for a principal is kept with it, so that the next request finds it. */
  readonly #principals = new Map<string, Principal>();

  constructor(directory: Directory, now: () => Date) {
    this.#directory = directory;
    this.#now = now;
  }

  authenticate(credential: Credential): Promise<AuthenticationResult> {
    return Promise.resolve(this.authenticateNow(credential));
  }

  authenticateNow(credential: Credential): AuthenticationResult {
    if (credential.scheme === 'bearer' && !looksLikeServiceToken(credential.token)) return { outcome: 'not-mine' };
    const keys = keysOf(credential);
    // A Basic credential of another form may be somebody else's; a bearer token that begins with `svc-` is not.
    if (!keys && credential.scheme === 'basic') return { outcome: 'not-mine' };
    if (!keys) {
      return rejected(
        `the service token is malformed: it must be \`svc-\`, ${ACCESS_KEY_LENGTH} letters or digits, \`-\` and ${SECRET_KEY_LENGTH} letters or digits`,
      );
    }
    const token = this.#directory.tokenByAccessKey(keys.accessKey);
    if (!this.#secretHolds(keys.secretKey, token) || !token) return rejected(NO_SUCH_TOKEN);
    const { expiresAt } = token.token.spec;
    // Only who knows the secret learns that the token has expired or lacks a role.
    if (expiresAt !== undefined && !(Date.parse(expiresAt) > this.#now().getTime())) {
      return rejected(`the service token \`${token.name}\` expired at ${expiresAt}`);
    }
    if (!this.#directory.hasRole(token.name)) {
      return rejected(`the service token \`${token.name}\` has no role: assign one to it before it can be used`);
    }
    return { outcome: 'authenticated', principal: this.#principal(token.name) };
  }

  #principal(name: string): Principal {
    const known = this.#principals.get(name);
    if (known !== undefined) return known;
    if (this.#principals.size >= MAX_PRINCIPALS) this.#principals.clear();
    const principal = tokenPrincipal(name);
    this.#principals.set(name, principal);
    return principal;
  }

  /** Two comparisons in every case, so that neither the access key's existence nor a rotation shows in the time. */
  #secretHolds(secretKey: string, token: KnownToken | undefined): boolean {
    const hashes = token?.hashes;
    const secretHash = hashSecretKey(secretKey);
    const current = secretHashMatches(secretHash, hashes?.secretHash ?? DUMMY_HASH);
    const previous = secretHashMatches(secretHash, hashes?.previousHash ?? DUMMY_HASH);
    const graceEnd = hashes?.previousExpiresAt === undefined ? Number.NaN : Date.parse(hashes.previousExpiresAt);
    return current || (previous && graceEnd > this.#now().getTime());
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
