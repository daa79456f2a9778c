import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { WallClock } from '../../../platform/clock.ts';
import { LruCache } from '../../../platform/lru.ts';
import type { SessionKeys } from './session-keys.ts';

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
  readonly clock: WallClock;
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

/** Sessions that were ended by a sign-out. Of more, the oldest are forgotten. */
const MAX_ENDED = 10_000;

const INVALID = 'the session is invalid, or the gateway has other session keys: sign in again';

/**
 * Sessions of the dashboard: the token, compressed and sealed with a key of the gateways. Nothing is stored, except which were ended. The token is verified at each request,
 * like that of any other client, so that the end of the token ends its sessions. A key alone gives no access, because a session requires a valid token.
 *
 * A session is `v1:<id of the key>:<nonce, sealed content, tag>`, base64url. The content is the time of the opening, and the token with DEFLATE, without
 * which a JSON Web Token would not fit into a cookie after two encodings.
 */
export class Sessions {
  readonly #options: SessionOptions;

  /** Sessions that were ended before their time, at this gateway: a copy of the cookie is no longer accepted. */
  readonly #ended = new LruCache<string, true>({ maxWeight: MAX_ENDED });

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Ends a session, which must be valid: otherwise anybody could fill the list. */
  async end(value: string): Promise<void> {
    if ('token' in (await this.open(value))) this.#ended.set(digestOf(value), true);
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
    const [, id = '', text = ''] = FORM.exec(value) ?? [];
    const key = id === '' ? undefined : await this.#options.keys.find(id);
    if (key === undefined) return { problem: INVALID };
    if (this.#ended.get(digestOf(value)) !== undefined)
      return { problem: 'the session was ended by a sign-out: sign in again' };
    const content = unseal(Buffer.from(text, 'base64url'), key.secret, authenticated(id));
    if (content === undefined) return { problem: INVALID };
    const { maxAgeMs, clock } = this.#options;
    const openedAt = Number(content.readBigUInt64BE());
    if (clock.now() - openedAt >= maxAgeMs) return { problem: 'the session has expired: sign in again' };
    const token = inflateRawSync(content.subarray(TIME_BYTES), { maxOutputLength: MAX_TOKEN_BYTES });
    return { token: token.toString('utf8') };
  }
}

function digestOf(value: string): string {
  return hash('sha256', value);
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
