import { errorCode } from '../../../platform/plain-error.ts';
import { isTimeout } from '../../../platform/deadline.ts';
import { addressOfUrl, Upstream, type UpstreamCall, type UpstreamOutcome } from '../../../platform/upstreams.ts';
import type { StoreContext } from '../definition.ts';
import type { ObjectClient, ObjectUpload } from './object-client.ts';

/**
 * Counts the calls of a bucket by their outcome. One that the SDK repeats counts once.
 * @param url base URL of the bucket's API
 */
export function observedClient(client: ObjectClient, url: string, { clock, observer }: StoreContext): ObjectClient {
  if (observer === undefined) return client;
  const upstream = new Upstream({ role: 'store', address: addressOfUrl(url), clock, observer });
  const observed = async <T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const call = upstream.begin(() => name, '', undefined);
    try {
      const result = await work();
      call.end();
      return result;
    } catch (error) {
      endFailed(call, signal, error);
      throw error;
    }
  };
  const observedPieces = async function* <T>(
    name: string,
    signal: AbortSignal,
    open: () => AsyncIterable<T>,
  ): AsyncIterable<T> {
    const call = upstream.begin(() => name, '', undefined);
    try {
      for await (const piece of open()) {
        call.answered(200);
        yield piece;
      }
      call.end();
    } catch (error) {
      endFailed(call, signal, error);
      throw error;
    } finally {
      // The reader needs no further pieces.
      call.end();
    }
  };
  const upload = async (key: string, signal: AbortSignal): Promise<ObjectUpload> => {
    const begun = await client.upload(key, signal);
    return {
      write: (bytes) => observed('upload', signal, () => begun.write(bytes)),
      complete: () => observed('upload', signal, () => begun.complete()),
      abort: () => begun.abort(),
    };
  };
  return {
    base: client.base,
    rights: client.rights,
    upload,
    put: (key, bytes, signal) => observed('put', signal, () => client.put(key, bytes, signal)),
    get: (key, signal) => observed('get', signal, () => client.get(key, signal)),
    size: (key, signal) => observed('size', signal, () => client.size(key, signal)),
    // The time ends when the response begins, because its reader may never read it.
    range: (key, from, to, signal) => observed('range', signal, () => client.range(key, from, to, signal)),
    list: (start, signal) => observedPieces('list', signal, () => client.list(start, signal)),
    delete: (key, signal) => observed('delete', signal, () => client.delete(key, signal)),
    uploads: (start, signal) => observedPieces('uploads', signal, () => client.uploads(start, signal)),
    abortUpload: (one, signal) => observed('abort upload', signal, () => client.abortUpload(one, signal)),
    link: (key, validity, signal) => client.link(key, validity, signal),
    close: () => client.close(),
  };
}

const CONNECTION: Readonly<Record<string, UpstreamOutcome>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'refused',
  EAI_AGAIN: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  ETIMEDOUT: 'timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
};

function endFailed(call: UpstreamCall, signal: AbortSignal, error: unknown): void {
  const { cause = error } = error as { cause?: unknown };
  if (isTimeout(signal.reason) || isTimeout(cause)) return call.end('timeout');
  if (signal.aborted) return call.end('aborted');
  const status = statusOf(cause);
  if (status === undefined) return call.end(CONNECTION[String(connectionCode(cause))] ?? 'bad-response');
  call.answered(status);
  call.end(status < 400 ? 'bad-response' : undefined);
}

/** Both SDKs report the status of the last response, in different fields. */
function statusOf(error: unknown): number | undefined {
  const { $metadata, status, code } = error as {
    $metadata?: { httpStatusCode?: unknown };
    status?: unknown;
    code?: unknown;
  };
  return [$metadata?.httpStatusCode, status, Number(code)].find(
    (value): value is number => typeof value === 'number' && value >= 100 && value <= 599,
  );
}

/** The code of the error; that of the first address where a host has several. */
function connectionCode(error: unknown): string | number | undefined {
  const { errors, cause } = error as { errors?: readonly unknown[]; cause?: unknown };
  return errorCode(error) ?? errorCode(errors?.[0]) ?? errorCode(cause);
}
