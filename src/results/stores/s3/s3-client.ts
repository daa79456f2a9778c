import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { withErrorListener } from '../../../platform/stream-errors.ts';
import { asError } from '../../../platform/plain-error.ts';
import { untilCallerAborts } from '../aborted.ts';
import { QueryError } from '../../errors.ts';
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
import { BucketErrors } from '../object/bucket-errors.ts';
import { PartBuffer } from '../object/part-buffer.ts';

/** S3 limits: parts of at least 5 MB, at most 10,000 parts. Results up to 80 GB; two parts in memory per submission. */
const PART_BYTES = 8 * 1024 * 1024;
const ATTEMPTS = 4;
const CONNECTION_TIMEOUT_MS = 5_000;
/** Idle time, not the time of the whole transfer. */
const SOCKET_TIMEOUT_MS = 30_000;
/** Options of Node's agents: the proxies of the environment. */
const PROXIES = { proxyEnv: process.env };
const DEFAULT_REGION = 'us-east-1';
const ABORT_TIMEOUT_MS = 30_000;
const ABSENT: ReadonlySet<string> = new Set(['NoSuchKey', 'NotFound', 'NoSuchUpload']);
const errors = new BucketErrors('S3', (error) => ABSENT.has(asError(error).name));

/** Limits the wait for credentials that the SDK requests from the cloud. */
const SIGN_TIMEOUT_MS = 10_000;

/** Bucket location and access. Credentials come from the SDK's default chain unless both keys are set. */
export interface S3Settings {
  readonly bucket: string;
  /** The prefix that `objectPrefix` returns. */
  readonly prefix: string;
  /** Base URL of the API; default: the SDK's. */
  readonly endpoint: string | undefined;
  /** Base URL in links; default: `endpoint`. */
  readonly publicEndpoint?: string | undefined;
  readonly region: string | undefined;
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  readonly pathStyle: boolean;
  readonly accessKeyId: string | undefined;
  readonly secretAccessKey: string | undefined;
}

/** A bucket of S3 or a compatible server. */
export class S3ObjectClient implements ObjectClient {
  readonly base: string;
  readonly rights = {
    each: { list: 's3:ListBucket', put: 's3:PutObject', get: 's3:GetObject', delete: 's3:DeleteObject' },
    objects: ['s3:ListBucket', 's3:DeleteObject'],
    uploads: ['s3:ListBucketMultipartUploads', 's3:AbortMultipartUpload'],
  };
  readonly #s3: S3Client;
  /** Signs links; sends nothing to the bucket. */
  readonly #signing: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(settings: S3Settings) {
    const { bucket, prefix, endpoint, publicEndpoint, region, pathStyle, accessKeyId, secretAccessKey } = settings;
    this.base = `s3://${bucket}/${prefix}`.replace(/\/$/, '');
    this.#bucket = bucket;
    this.#prefix = prefix;
    const config: S3ClientConfig = {
      region: region ?? process.env['AWS_REGION'] ?? DEFAULT_REGION,
      forcePathStyle: pathStyle,
      maxAttempts: ATTEMPTS,
      // Only the newest servers support these checksums; TLS and the ETags of the parts detect corruption.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: CONNECTION_TIMEOUT_MS,
        socketTimeout: SOCKET_TIMEOUT_MS,
        httpAgent: PROXIES,
        httpsAgent: PROXIES,
      },
      ...(accessKeyId === undefined || secretAccessKey === undefined
        ? {}
        : { credentials: { accessKeyId, secretAccessKey } }),
    };
    const at = (url: string | undefined): S3Client =>
      new S3Client({ ...config, ...(url !== undefined && { endpoint: url }) });
    this.#s3 = at(endpoint);
    this.#signing = publicEndpoint === undefined ? this.#s3 : at(publicEndpoint);
  }

  async upload(key: string, signal: AbortSignal): Promise<ObjectUpload> {
    return new S3Upload(this.#s3, { Bucket: this.#bucket, Key: this.#prefix + key }, signal);
  }

  async put(key: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    await errors.mapped(
      this.#s3.send(new PutObjectCommand({ ...this.#object(key), Body: bytes }), { abortSignal: signal }),
    );
  }

  async get(key: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const read = async (): Promise<Uint8Array | undefined> => {
      const { Body } = await this.#s3.send(new GetObjectCommand(this.#object(key)), { abortSignal: signal });
      return Body && readWhole(withErrorListener(Body as Readable));
    };
    return errors.mappedIfPresent(read());
  }

  async size(key: string, signal: AbortSignal): Promise<number | undefined> {
    const command = new HeadObjectCommand(this.#object(key));
    const response = await errors.mappedIfPresent(this.#s3.send(command, { abortSignal: signal }));
    return response === undefined ? undefined : (response.ContentLength ?? 0);
  }

  async range(
    key: string,
    from: number,
    to: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const command = new GetObjectCommand({ ...this.#object(key), Range: `bytes=${from}-${to - 1}` });
    const response = await errors.mappedIfPresent(this.#s3.send(command, { abortSignal: signal }));
    return response?.Body === undefined ? undefined : readAll(withErrorListener(response.Body as Readable));
  }

  async *list(start: string, signal: AbortSignal): AsyncIterable<StoredObject> {
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: this.#bucket,
        Prefix: this.#prefix + start,
        Delimiter: '/',
        ...(token === undefined ? {} : { ContinuationToken: token }),
      });
      const page = await errors.mapped(this.#s3.send(command, { abortSignal: signal }));
      for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
        yield { key: Key.slice(this.#prefix.length), bytes: Size, modifiedMs: LastModified?.getTime() };
      }
      token = next(token, page.IsTruncated === true ? page.NextContinuationToken : undefined);
    } while (token !== undefined);
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    await errors.mapped(this.#s3.send(new DeleteObjectCommand(this.#object(key)), { abortSignal: signal }));
  }

  async *uploads(start: string, signal: AbortSignal): AsyncIterable<UnfinishedUpload> {
    const all = { Bucket: this.#bucket, Prefix: this.#prefix + start };
    let marker: { KeyMarker: string; UploadIdMarker?: string } | undefined;
    let lastPlace: string | undefined;
    do {
      const page = await errors.mapped(
        this.#s3.send(new ListMultipartUploadsCommand({ ...all, ...marker }), { abortSignal: signal }),
      );
      for (const { Key = '', UploadId = '', Initiated } of page.Uploads ?? []) {
        yield { key: Key.slice(this.#prefix.length), uploadId: UploadId, modifiedMs: Initiated?.getTime() };
      }
      const { IsTruncated, NextKeyMarker, NextUploadIdMarker } = page;
      const place = JSON.stringify([NextKeyMarker, NextUploadIdMarker]);
      if (IsTruncated === true) lastPlace = next(lastPlace, place);
      // Without a next marker, a truncated listing would request the same page forever.
      marker =
        IsTruncated === true && NextKeyMarker
          ? { KeyMarker: NextKeyMarker, ...(NextUploadIdMarker ? { UploadIdMarker: NextUploadIdMarker } : {}) }
          : undefined;
    } while (marker !== undefined);
  }

  async abortUpload({ key, uploadId }: UnfinishedUpload, signal: AbortSignal): Promise<void> {
    const command = new AbortMultipartUploadCommand({ ...this.#object(key), UploadId: uploadId });
    await errors.mappedIfPresent(this.#s3.send(command, { abortSignal: signal }));
  }

  async link(key: string, { from, seconds }: LinkValidity, signal: AbortSignal): Promise<SignedLink> {
    const sign = async (): Promise<SignedLink> => {
      // Temporary credentials end, and with them what they signed.
      const { expiration } = await this.#signing.config.credentials();
      const left = expiration === undefined ? seconds : Math.floor((expiration.getTime() - from.getTime()) / 1000);
      const expiresIn = Math.max(1, Math.min(seconds, left));
      const command = new GetObjectCommand(this.#object(key));
      const url = await getSignedUrl(this.#signing, command, { expiresIn, signingDate: from });
      return { url, expirationTimeMs: from.getTime() + expiresIn * 1000 };
    };
    try {
      return await untilCallerAborts(sign(), AbortSignal.any([signal, AbortSignal.timeout(SIGN_TIMEOUT_MS)]));
    } catch (error) {
      throw new QueryError(
        'store-unavailable',
        'the gateway has no credentials of S3 that sign links; see the log of the gateway',
        { cause: error },
      );
    }
  }

  async close(): Promise<void> {
    this.#signing.destroy();
    this.#s3.destroy();
  }

  #object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + key };
  }
}

/** Sends one part while the next one is filled. Content that fits into one part is sent as a single object. */
class S3Upload implements ObjectUpload {
  readonly #s3: S3Client;
  readonly #object: { readonly Bucket: string; readonly Key: string };
  readonly #signal: AbortSignal;
  readonly #buffer = new PartBuffer(PART_BYTES);
  readonly #parts: { PartNumber: number; ETag: string | undefined }[] = [];
  #uploadId: string | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(s3: S3Client, object: { readonly Bucket: string; readonly Key: string }, signal: AbortSignal) {
    this.#s3 = s3;
    this.#object = object;
    this.#signal = signal;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (const part of this.#buffer.push(bytes)) {
      await this.#sending;
      this.#sending = this.#send(part).then(() => this.#buffer.give(part));
      // The next call throws the error; without this handler it would be an unhandled rejection.
      this.#sending.catch(() => undefined);
    }
  }

  async complete(): Promise<void> {
    await this.#sending;
    const last = this.#buffer.take();
    const options = { abortSignal: this.#signal };
    if (this.#uploadId === undefined) {
      await errors.mapped(this.#s3.send(new PutObjectCommand({ ...this.#object, Body: last }), options));
      return;
    }
    if (last.length > 0) await this.#send(last);
    const command = new CompleteMultipartUploadCommand({
      ...this.#object,
      UploadId: this.#uploadId,
      MultipartUpload: { Parts: this.#parts },
    });
    await errors.mapped(this.#s3.send(command, options));
  }

  async abort(): Promise<void> {
    await this.#sending.catch(() => undefined);
    if (this.#uploadId === undefined) return;
    const command = new AbortMultipartUploadCommand({ ...this.#object, UploadId: this.#uploadId });
    const options = { abortSignal: AbortSignal.timeout(ABORT_TIMEOUT_MS) };
    // Absent if it was completed after all, or if another process of this gateway has aborted it after a restart.
    await errors.mappedIfPresent(this.#s3.send(command, options));
  }

  async #send(part: Uint8Array): Promise<void> {
    const options = { abortSignal: this.#signal };
    if (this.#uploadId === undefined) {
      // The caller's signal is not passed: an upload whose id never arrived could not be aborted.
      const created = await errors.mapped(
        this.#s3.send(new CreateMultipartUploadCommand(this.#object), {
          abortSignal: AbortSignal.timeout(ABORT_TIMEOUT_MS),
        }),
      );
      this.#uploadId = created.UploadId;
    }
    const PartNumber = this.#parts.length + 1;
    const command = new UploadPartCommand({ ...this.#object, UploadId: this.#uploadId, PartNumber, Body: part });
    const { ETag } = await errors.mapped(this.#s3.send(command, options));
    this.#parts.push({ PartNumber, ETag });
  }
}

/** @throws {QueryError} where the bucket repeats a page */
function next(token: string | undefined, following: string | undefined): string | undefined {
  try {
    return nextPage(token, following);
  } catch (error) {
    throw errors.unavailable(error);
  }
}

async function* readAll(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw errors.unavailable(error);
  }
}
