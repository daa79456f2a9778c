import { KubernetesApiError } from './api-error.ts';
import type { RawObject } from './objects.ts';
import type { KubernetesTransport } from './transport.ts';

interface ListPage {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly RawObject[] | null;
}

export interface ApiListOptions<T> {
  readonly pageSize: number;
  /** Milliseconds for each page. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly convert: (raw: RawObject) => T;
}

/**
 * Reads a whole collection, page by page, as of one resource version.
 *
 * A continue token is valid for about five minutes. When one has expired, the list starts again and requests all objects in one page.
 *
 * @returns `version`: the resource version to watch from
 */
export async function listAll<T>(
  transport: Pick<KubernetesTransport, 'request'>,
  path: string,
  options: ApiListOptions<T>,
): Promise<{ items: T[]; version: string }> {
  try {
    return await listPages(transport, path, options, options.pageSize);
  } catch (error) {
    if (!(error instanceof ContinueTokenExpired)) throw error;
    return listPages(transport, path, options, undefined);
  }
}

class ContinueTokenExpired extends Error {}

async function listPages<T>(
  transport: Pick<KubernetesTransport, 'request'>,
  path: string,
  options: ApiListOptions<T>,
  limit: number | undefined,
): Promise<{ items: T[]; version: string }> {
  const { timeoutMs, signal } = options;
  const items: T[] = [];
  let token: string | undefined;
  for (;;) {
    const query = { limit, continue: token };
    const page = await requestPage(transport, path, query, { timeoutMs, signal });
    for (const raw of page.items ?? []) items.push(options.convert(raw));
    const version = page.metadata?.resourceVersion;
    if (version === undefined || version === '')
      throw new KubernetesApiError('unavailable', `the list of ${path} has no resource version`);
    token = page.metadata?.continue;
    // All pages have the version of the first one.
    if (token === undefined || token === '') return { items, version };
  }
}

async function requestPage(
  transport: Pick<KubernetesTransport, 'request'>,
  path: string,
  query: { continue: string | undefined; limit: number | undefined },
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<ListPage> {
  try {
    // No retries here: the reflector starts again after a backoff with jitter.
    const { body } = await transport.request<ListPage>('GET', path, { query, retries: 0, ...options });
    return body;
  } catch (error) {
    if (query.continue !== undefined && error instanceof KubernetesApiError && error.expired)
      throw new ContinueTokenExpired('the continue token has expired', { cause: error });
    throw error;
  }
}
