import { EventEmitter } from 'node:events';
import { type Bucket, Storage } from '@google-cloud/storage';
import { EnvHttpProxyAgent } from 'undici';
import { errorCode } from '../../../platform/plain-error.ts';
import type { Clock } from '../../../platform/clock.ts';
import { QueryError } from '../../errors.ts';
import { GcsUpload } from './gcs-upload.ts';
import { listedObjects } from './listed-objects.ts';
import { readObject } from './read-stream.ts';
import type { SignedLink } from '../../result-store.ts';
import {
  type LinkValidity,
  nextPage,
  type ObjectClient,
  type ObjectUpload,
  readWhole,
  type StoredObject,
  type UnfinishedUpload,
} from '../object/object-client.ts';
import { untilCallerAborts } from '../aborted.ts';
import { BucketErrors } from '../object/bucket-errors.ts';

/** The SDK adds more listeners to its read streams than Node's default limit before a warning. */
const SDK_LISTENERS = 16;
const TIMEOUT_MS = 30_000;
const ATTEMPTS = 3;
const CONNECT_TIMEOUT_MS = 5_000;
/** Timeout for one attempt to open an upload. */
const SESSION_TIMEOUT_MS = 15_000;
/** Timeout for one part of an upload. */
const PART_TIMEOUT_MS = 120_000;
const errors = new BucketErrors('GCS', (error) => errorCode(error) === 404);

/** Google's API signs if there is no private key. */
const SIGN_TIMEOUT_MS = 10_000;

type SentOptions = ReturnType<Bucket['interceptors'][number]['request']>;

export interface GcsSettings {
  readonly bucket: string;
  /** The prefix that `objectPrefix` returns. */
  readonly prefix: string;
  /** Base URL of the API; default: the SDK's. */
  readonly endpoint: string | undefined;
  /** Base URL in links; default: `endpoint`. */
  readonly publicEndpoint?: string | undefined;
  readonly clock: Clock;
}

/** A bucket of Google Cloud Storage. Credentials come by Google's usual chain (workload identity, `GOOGLE_APPLICATION_CREDENTIALS`). */
export class GcsObjectClient implements ObjectClient {
  readonly base: string;
  readonly rights = {
    each: {
      list: 'storage.objects.list',
      put: 'storage.objects.create',
      get: 'storage.objects.get',
      delete: 'storage.objects.delete',
    },
    objects: ['storage.objects.list', 'storage.objects.delete'],
    uploads: [],
  };
  readonly #bucket: Bucket;
  /** Used only to open uploads: that changes the retries of all requests of its Storage, and has no time-out of the Storage. */
  readonly #sessions: Bucket;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #publicEndpoint: string | undefined;
  /** Used only for uploads; the SDK has its own connections for other calls. Both use the proxies from the environment. */
  readonly #uploads = new EnvHttpProxyAgent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: PART_TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  });

  constructor(settings: GcsSettings) {
    const { bucket, prefix, endpoint, clock } = settings;
    this.base = `gs://${bucket}/${prefix}`.replace(/\/$/, '');
    this.#prefix = prefix;
    this.#clock = clock;
    this.#publicEndpoint = settings.publicEndpoint;
    EventEmitter.defaultMaxListeners = Math.max(EventEmitter.defaultMaxListeners, SDK_LISTENERS);
    const api = endpoint === undefined ? {} : { apiEndpoint: endpoint };
    const retryOptions = { autoRetry: true, maxRetries: ATTEMPTS };
    this.#bucket = new Storage({ retryOptions, timeout: TIMEOUT_MS, ...api }).bucket(bucket);
    this.#sessions = new Storage({ retryOptions: { autoRetry: false }, ...api }).bucket(bucket);
    this.#sessions.interceptors.push({
      request: (options) => ({ ...options, timeout: SESSION_TIMEOUT_MS }) as SentOptions,
    });
  }

  async upload(key: string, signal: AbortSignal): Promise<ObjectUpload> {
    const file = this.#sessions.file(this.#prefix + key);
    const upload = new GcsUpload({
      start: async () => {
        const metadata = { contentType: 'application/octet-stream' };
        const [session] = await file.createResumableUpload({ metadata });
        return session;
      },
      dispatcher: this.#uploads,
      clock: this.#clock,
      signal,
    });
    return withStoreErrors(upload);
  }

  async put(key: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const file = this.#bucket.file(this.#prefix + key);
    await errors.mapped(
      untilCallerAborts(file.save(Buffer.from(bytes), { resumable: false, contentType: 'application/json' }), signal),
    );
  }

  async get(key: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const { stream, stop } = readObject(this.#bucket.file(this.#prefix + key), {});
    try {
      return await errors.mappedIfPresent(untilCallerAborts(readWhole(stream), signal));
    } finally {
      stop();
    }
  }

  async size(key: string, signal: AbortSignal): Promise<number | undefined> {
    const file = this.#bucket.file(this.#prefix + key);
    const found = await errors.mappedIfPresent(untilCallerAborts(file.getMetadata(), signal));
    if (found === undefined) return undefined;
    // Undefined for a response without a body.
    const metadata = found[0] as { size?: unknown } | undefined;
    if (typeof metadata !== 'object' || metadata === null)
      throw errors.unavailable(new Error('metadata without a body'));
    return Number(metadata.size ?? 0);
  }

  async range(
    key: string,
    from: number,
    to: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    // The SDK reports an absent object only when the stream is read.
    const file = this.#bucket.file(this.#prefix + key);
    const { stream, stop } = readObject(file, { start: from, end: to - 1, validation: false });
    signal.addEventListener('abort', stop, { once: true });
    // A download can take many ranges, each with a stream of its own.
    stream.once('close', () => signal.removeEventListener('abort', stop));
    const iterator = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    const first = await errors.mappedIfPresent(untilCallerAborts(iterator.next(), signal));
    return first === undefined ? undefined : continued(first, iterator);
  }

  async *list(start: string, signal: AbortSignal): AsyncIterable<StoredObject> {
    let pageToken: string | undefined;
    do {
      const query = {
        prefix: this.#prefix + start,
        delimiter: '/',
        ...(pageToken === undefined ? {} : { pageToken }),
      };
      const body = await errors.mapped(untilCallerAborts(this.#listing(query), signal));
      const { objects, nextPageToken } = await errors.mapped(Promise.try(listedObjects, body));
      for (const { name, bytes, modifiedMs } of objects) {
        yield { key: name.slice(this.#prefix.length), bytes, modifiedMs };
      }
      pageToken = await errors.mapped(Promise.try(nextPage, pageToken, nextPageToken));
    } while (pageToken !== undefined);
  }

  /** One page. `getFiles` of the SDK throws where nothing can catch it, which ends the process, for a response of another form. */
  #listing(qs: object): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#bucket.request({ uri: '/o', qs }, (error, body: unknown) => {
        if (error) reject(error);
        else resolve(body);
      });
    });
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    const file = this.#bucket.file(this.#prefix + key);
    await errors.mapped(untilCallerAborts(file.delete({ ignoreNotFound: true }), signal));
  }

  /** Empty: GCS cannot list resumable uploads. It deletes incomplete ones after a week. */
  async *uploads(): AsyncIterable<UnfinishedUpload> {}

  async abortUpload(): Promise<void> {}

  async link(key: string, { from, seconds }: LinkValidity, signal: AbortSignal): Promise<SignedLink> {
    const expirationTimeMs = from.getTime() + seconds * 1000;
    const signing = this.#bucket.file(this.#prefix + key).getSignedUrl({
      version: 'v4',
      action: 'read',
      accessibleAt: from,
      expires: expirationTimeMs,
      ...(this.#publicEndpoint !== undefined && { host: this.#publicEndpoint }),
    });
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(SIGN_TIMEOUT_MS)]);
      const [url] = await untilCallerAborts(signing, limit);
      return { url, expirationTimeMs };
    } catch (error) {
      throw new QueryError(
        'store-unavailable',
        'the Google credentials of the gateway cannot sign links: they need a private key, or `iam.serviceAccounts.signBlob` on their service account; see the log of the gateway',
        { cause: error },
      );
    }
  }

  close(): Promise<void> {
    return this.#uploads.destroy();
  }
}

/** Wraps an upload so that its errors become store errors. */
function withStoreErrors(upload: ObjectUpload): ObjectUpload {
  return {
    write: (bytes) => errors.mapped(upload.write(bytes)),
    complete: () => errors.mapped(upload.complete()),
    abort: () => errors.mapped(upload.abort()),
  };
}

async function* continued(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncIterable<Uint8Array> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } catch (error) {
    throw errors.unavailable(error);
  } finally {
    await rest.return?.();
  }
}
