import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Clock } from '../../../platform/clock.ts';
import { EndedSessions } from './ended-sessions.ts';
import type { SessionKey, SessionKeys } from './session-keys.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Seals and opens the sessions of the dashboard. */
    sessions: Sessions;
  }
}

export interface SessionOptions {
  readonly keys: SessionKeys;
  /** Time after its opening at which a session ends, in milliseconds. */
  readonly maxAgeMs: number;
  readonly clock: Clock;
  /** The sessions that a sign-out has ended; by default, those of this process. */
  readonly ended?: EndedSessions;
}

/** The content of a session cookie: the token, or why there is none. */
export type OpenedSession = { readonly token: string } | { readonly problem: string };

/** The colons keep a session from having the form of any bearer token, so that none is sent to an authority. */
const FORM = /^v1:([\w-]{8}):([\w-]{48,})$/u;
const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Of the time at which the session was opened, in milliseconds since the epoch. */
const TIME_BYTES = 8;
/** Longer than any token that is accepted. A session of a longer one could not be opened. */
export const MAX_TOKEN_BYTES = 16_384;

const INVALID = 'the session is invalid, or the gateway has other session keys: sign in again';

/** Characters of base64url; 96 bits are not found by chance. */
const DIGEST_LENGTH = 22;
const OWNER_LENGTH = 8;

/** A session that this process can open. */
interface Unsealed {
  readonly key: SessionKey;
  readonly digest: string;
  readonly content: Buffer;
}

/**
 * Sessions of the dashboard: the token, compressed and sealed with a key of the gateways. Nothing is stored, except which were ended. The token is verified at each request,
 * like that of any other client, so that the end of the token ends its sessions. A key alone gives no access, because a session requires a valid token.
 *
 * A session is `v1:<id of the key>:<nonce, sealed content, tag>`, base64url. The content is the time of the opening, and the token with DEFLATE, without
 * which a JSON Web Token would not fit into a cookie after two encodings.
 */
export class Sessions {
  readonly #options: Required<SessionOptions>;

  constructor(options: SessionOptions) {
    this.#options = { ended: new EndedSessions(options), ...options };
  }

  /**
   * Ends a session before its time: a copy of the cookie is no longer accepted. It must be valid, because otherwise anybody could fill the list.
   * @param owner SRN of whose session it is; empty where its token cannot be verified
   */
  async end(value: string, owner: string): Promise<void> {
    const unsealed = await this.#unseal(value);
    const opened = unsealed && (await this.#read(unsealed));
    if (unsealed === undefined || opened === undefined || !('token' in opened)) return;
    const { digest, key, content } = unsealed;
    // The token where nobody knows whose it is: a list of its own, so that the sessions of one expired token do not push out those of others.
    const whose = owner === '' ? opened.token : owner;
    this.#options.ended.add({
      digest,
      // With the key, because the list of names is not secret and readers of the document could try them.
      owner: createHmac('sha256', key.secret).update(whose).digest('base64url').slice(0, OWNER_LENGTH),
      end: Math.ceil((openedAt(content) + this.#options.maxAgeMs) / 1000),
    });
  }

  /** The value of the session cookie for a token that has been verified. */
  async seal(token: string): Promise<string> {
    const { keys, clock } = this.#options;
    const { id, secret } = await keys.sealing();
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, secret, nonce).setAAD(authenticated(id));
    const time = Buffer.alloc(TIME_BYTES);
    time.writeBigUInt64BE(BigInt(clock.now()));
    const sealed = [cipher.update(time), cipher.update(deflateRawSync(token)), cipher.final()];
    return `v1:${id}:${Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]).toString('base64url')}`;
  }

  /** The token of a session cookie. It is not verified yet. */
  async open(value: string): Promise<OpenedSession> {
    const unsealed = await this.#unseal(value);
    return unsealed === undefined ? { problem: INVALID } : this.#read(unsealed);
  }

  async #unseal(value: string): Promise<Unsealed | undefined> {
    const [, id = '', text = ''] = FORM.exec(value) ?? [];
    const key = id === '' ? undefined : await this.#options.keys.find(id);
    if (key === undefined) return undefined;
    const bytes = Buffer.from(text, 'base64url');
    const content = unseal(bytes, key.secret, authenticated(id));
    // Of the bytes: several texts have the same bytes, because the last character has bits without meaning.
    const digest = hash('sha256', bytes, 'base64url').slice(0, DIGEST_LENGTH);
    return content && { key, digest, content };
  }

  async #read({ digest, content }: Unsealed): Promise<OpenedSession> {
    const { maxAgeMs, clock, ended } = this.#options;
    if (clock.now() - openedAt(content) >= maxAgeMs) return { problem: 'the session has expired: sign in again' };
    if (await ended.has(digest)) return { problem: 'the session was ended by a sign-out: sign in again' };
    const token = inflateRawSync(content.subarray(TIME_BYTES), { maxOutputLength: MAX_TOKEN_BYTES });
    return { token: token.toString('utf8') };
  }
}

function openedAt(content: Buffer): number {
  return Number(content.readBigUInt64BE());
}

function authenticated(id: string): Buffer {
  return Buffer.from(`olap-warden-session v1 ${id}`);
}

/** The content; undefined unless this key has sealed it. */
function unseal(bytes: Buffer, secret: Buffer, additional: Buffer): Buffer | undefined {
  if (bytes.length < NONCE_BYTES + TIME_BYTES + TAG_BYTES) return undefined;
  const tag = bytes.subarray(bytes.length - TAG_BYTES);
  const decipher = createDecipheriv(ALGORITHM, secret, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(additional).setAuthTag(tag);
  const opened = decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES));
  try {
    return Buffer.concat([opened, decipher.final()]);
  } catch {
    return undefined;
  }
}
