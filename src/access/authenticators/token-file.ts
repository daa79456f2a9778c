import { hash } from 'node:crypto';
import { errorMessage } from '../../platform/plain-error.ts';
import type { Clock } from '../../platform/clock.ts';
import { endOf, isTime } from '../../resources/time.ts';
import type { AuthenticationResult, Authenticator, Credential } from './authenticator.ts';
import type { Principal } from '../principal.ts';
import { srnText } from '../policy/srn.ts';
import { problemOfName } from './claims.ts';
import { emailDomain } from '../subjects.ts';

/** A line of the token file. It contains the hash, not the token. */
export interface TokenFileEntry {
  /** SHA-256 of the token, in hex. Tokens are long and random, so that a slow hash would not protect them better. */
  readonly sha256: string;
  /** User name or e-mail address. */
  readonly user: string;
  readonly groups?: readonly string[];
  /** RFC 3339; never expires where absent. */
  readonly expiresAt?: string;
}

export interface TokenFileOptions {
  /** Reads the file. Called again on use, at most every `reloadMs`. */
  readonly read: () => Promise<string>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Called when a changed file is rejected; the current tokens stay in effect. The message does not contain content of the file. */
  readonly onProblem?: (message: string) => void;
  readonly reloadMs?: number;
}

const RELOAD_MS = 2000;

export function hashToken(token: string): string {
  return hash('sha256', token);
}

/**
 * The entries of a token file, by hash.
 * @throws {Error} names the line, not its content
 */
export function parseTokenFile(content: string): Map<string, TokenFileEntry> {
  const entries = new Map<string, TokenFileEntry>();
  const lines = new Map<string, number>();
  for (const [index, line] of content.split('\n').entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const entry = parseEntry(trimmed);
    if (typeof entry === 'string') throw new Error(`line ${index + 1} of the token file ${entry}`);
    const first = lines.get(entry.sha256);
    // Otherwise the order of the lines would decide whose token it is.
    if (first !== undefined)
      throw new Error(`line ${index + 1} of the token file has the \`sha256\` of line ${first}: each may occur once`);
    lines.set(entry.sha256, index + 1);
    entries.set(entry.sha256, entry);
  }
  return entries;
}

function parseEntry(line: string): TokenFileEntry | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'is not JSON, such as {"sha256": "…", "user": "you@example.com", "groups": []}';
  }
  const fields: Readonly<Record<string, unknown>> = { ...(value as object) };
  // A misspelt `groups` would be a user without groups, to whom their denies do not apply.
  if (Object.keys(fields).some((field) => !Object.hasOwn(FIELDS, field)))
    return `has an unknown field: only ${Object.keys(FIELDS).join(', ')} are known`;
  for (const [field, problemOf] of Object.entries(FIELDS)) {
    const problem = problemOf(fields[field]);
    if (problem !== undefined) return problem;
  }
  return fields as unknown as TokenFileEntry;
}

/** What is wrong with each field of an entry; undefined for nothing. */
const FIELDS: Readonly<Record<keyof TokenFileEntry, (value: unknown) => string | undefined>> = {
  sha256: (value) =>
    typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
      ? undefined
      : 'has no `sha256`: the SHA-256 of the token as 64 hex digits',
  user: (value) =>
    typeof value === 'string' && /^\S+$/.test(value) ? undefined : 'has no `user`: a name without spaces',
  groups: (value) =>
    value === undefined || (Array.isArray(value) && value.every((group) => problemOfName(group) === undefined))
      ? undefined
      : 'has invalid `groups`: they must be a list of names',
  expiresAt: (value) =>
    value === undefined || (typeof value === 'string' && isTime(value))
      ? undefined
      : 'has an invalid `expiresAt`: it must be a time such as 2030-12-31T23:59:59Z',
};

/** Authenticates tokens by their hashes in a file. For use without a Kubernetes API. */
export class TokenFileAuthenticator implements Authenticator {
  readonly name = 'token-file';
  readonly #options: TokenFileOptions;
  #entries: ReadonlyMap<string, TokenFileEntry>;
  #readAt: number;
  #reading: Promise<void> | undefined;
  #problem: string | undefined;

  private constructor(options: TokenFileOptions, entries: ReadonlyMap<string, TokenFileEntry>) {
    this.#options = options;
    this.#entries = entries;
    this.#readAt = options.clock.monotonic();
  }

  /** @throws {Error} when the file cannot be read or is invalid */
  static async open(options: TokenFileOptions): Promise<TokenFileAuthenticator> {
    return new TokenFileAuthenticator(options, parseTokenFile(await options.read()));
  }

  async authenticate(credential: Credential): Promise<AuthenticationResult> {
    await this.#refresh();
    return this.#check(credential);
  }

  #check(credential: Credential): AuthenticationResult {
    if (credential.scheme !== 'bearer') return { outcome: 'not-mine' };
    const entry = this.#entries.get(hashToken(credential.token));
    if (!entry) return { outcome: 'not-mine' };
    if (endOf(entry.expiresAt) <= this.#options.clock.now())
      return { outcome: 'rejected', message: `the token of \`${entry.user}\` expired at ${entry.expiresAt}` };
    return { outcome: 'authenticated', principal: principalOf(entry) };
  }

  get #fresh(): boolean {
    const { clock, reloadMs = RELOAD_MS } = this.#options;
    return clock.monotonic() - this.#readAt < reloadMs;
  }

  async #refresh(): Promise<void> {
    if (this.#fresh) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    try {
      this.#entries = parseTokenFile(await this.#options.read());
      this.#problem = undefined;
    } catch (error) {
      const message = errorMessage(error);
      // Report each problem once: the file is read again and again.
      if (message !== this.#problem) this.#options.onProblem?.(message);
      this.#problem = message;
    }
    this.#readAt = this.#options.clock.monotonic();
  }
}

function principalOf({ user, groups = [] }: TokenFileEntry): Principal {
  return {
    kind: 'user',
    srn: srnText('user', user),
    id: user,
    groups,
    // The author of the file is trusted for the address.
    domain: emailDomain(user),
    authenticator: 'token-file',
  };
}
