import type { SignedLink } from '../../result-store.ts';

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  /** Epoch milliseconds; undefined if the bucket does not report it. */
  readonly modifiedMs: number | undefined;
}

/** A multipart upload that was neither completed nor aborted. Its parts use storage but are not listed. */
export interface UnfinishedUpload {
  readonly key: string;
  readonly uploadId: string;
  /** Start time in epoch milliseconds; undefined if the bucket does not report it. */
  readonly modifiedMs: number | undefined;
}

/** An object being uploaded; not visible before `complete`. */
export interface ObjectUpload {
  /** Resolves when more bytes are accepted: at most a few parts are buffered. */
  write(bytes: Uint8Array): Promise<void>;
  complete(): Promise<void>;
  /** Removes all uploaded parts, which would be billed. Does not undo `complete`. */
  abort(): Promise<void>;
}

/** Names of permissions, for messages to the administrator. */
export interface ObjectRights {
  /** The right that each kind of access needs. */
  readonly each: { readonly list: string; readonly put: string; readonly get: string; readonly delete: string };
  /** The rights that are needed to find and remove leftovers. */
  readonly objects: readonly string[];
  readonly uploads: readonly string[];
}

/** When a link may be used. */
export interface LinkValidity {
  readonly from: Date;
  /** Whole seconds, at least 1. */
  readonly seconds: number;
}

/**
 * Minimal bucket API. Keys are relative to the configured prefix. Absent objects are `undefined`;
 * every other failure is a QueryError with code store-unavailable.
 */
export interface ObjectClient {
  /** `s3://bucket/prefix` or `gs://bucket/prefix`, without a trailing slash. */
  readonly base: string;
  readonly rights: ObjectRights;
  upload(key: string, signal: AbortSignal): Promise<ObjectUpload>;
  put(key: string, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  get(key: string, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Size of the object in bytes. */
  size(key: string, signal: AbortSignal): Promise<number | undefined>;
  /** Bytes `from` to `to` (exclusive) as they arrive; `undefined` if the object does not exist. */
  range(key: string, from: number, to: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Objects whose keys begin with `start`, loaded page by page. */
  list(start: string, signal: AbortSignal): AsyncIterable<StoredObject>;
  delete(key: string, signal: AbortSignal): Promise<void>;
  /** Unfinished uploads of keys that begin with `start`; empty if the bucket cannot list them. */
  uploads(start: string, signal: AbortSignal): AsyncIterable<UnfinishedUpload>;
  /** No effect if the upload was completed or aborted meanwhile. */
  abortUpload(upload: UnfinishedUpload, signal: AbortSignal): Promise<void>;
  /** Signs a link that reads the object; it ends earlier than requested where the credentials do. */
  link(key: string, validity: LinkValidity, signal: AbortSignal): Promise<SignedLink>;
  close(): Promise<void>;
}

/** Objects that are read as a whole are records and notes: far below this size. */
export const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** The bytes of an object. @throws {RangeError} when there are more than `maxBytes` */
export async function readWhole(body: AsyncIterable<Uint8Array>, maxBytes = MAX_WHOLE_BYTES): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let left = maxBytes;
  for await (const piece of body) {
    left -= piece.length;
    if (left < 0) throw new RangeError(`the object has more than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** The token of the next page of a listing. @throws {RangeError} where it is that of this page, which would be requested forever */
export function nextPage(token: string | undefined, next: string | undefined): string | undefined {
  if (next !== undefined && next === token) throw new RangeError('the bucket repeats a page of its listing');
  return next;
}

/** Prefix of every object name: empty, or without a leading and with a trailing slash. @param text as configured */
export function objectPrefix(text: string): string {
  const path = text.replaceAll(/^\/+|\/+$/g, '');
  return path === '' ? '' : `${path}/`;
}

/** @param key of the property, for the message. @throws {TypeError} if the bucket is not set */
export function requireBucket(bucket: string | undefined, key: string): string {
  if (bucket === undefined || bucket === '') throw new TypeError(`\`${key}\` must be set`);
  return bucket;
}
