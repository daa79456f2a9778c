import '../../src/platform/fetch.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

// Set-up of all tests: a request without a signal of its own is aborted after two minutes, with its address, instead of when its test times out.

type Fetch = typeof globalThis.fetch & { readonly isBounded?: true };

const original: Fetch = globalThis.fetch;

/** @param request to bound @param limitMs until the whole response is read */
export function bounded(request: typeof globalThis.fetch, limitMs: number = WAIT_LIMIT_MS): Fetch {
  const limited: typeof globalThis.fetch = async (input, init) => {
    if (input instanceof Request || init?.signal instanceof AbortSignal) return request(input, init);
    const signal = AbortSignal.timeout(limitMs);
    try {
      return await request(input, { ...init, signal });
    } catch (error) {
      if (!signal.aborted) throw error;
      const message = `not within ${limitMs / 1000} s: the response to ${init?.method ?? 'GET'} ${String(input)}`;
      throw new Error(message, { cause: error });
    }
  };
  return Object.assign(limited, { isBounded: true as const });
}

// Files of one worker may share it.
if (original.isBounded !== true) globalThis.fetch = bounded(original);
