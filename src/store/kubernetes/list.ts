import { KubernetesApiError } from './api-error.ts';
import type { RawObject } from './objects.ts';
import type { KubernetesTransport } from './transport.ts';

interface ListPage {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly RawObject[] | null;
}

export interface ListOptions<T> {
  readonly labelSelector?: string | undefined;
  readonly pageSize: number;
  /** For each page, milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly convert: (raw: RawObject) => T;
}

/**
 * Everything in a collection, as of one moment, by pages.
 *
 * A page token lives for about five minutes. Where one has ended, the pages before it cannot be completed: the list starts anew, and this time
 * asks for everything at once, so that it cannot happen again.
 *
 * @returns `version`: from where a watch goes on
 */
export async function listAll<T>(
  transport: Pick<KubernetesTransport, 'request'>,
  path: string,
  options: ListOptions<T>,
): Promise<{ items: T[]; version: string }> {
  try {
    return await listPages(transport, path, options, options.pageSize);
  } catch (error) {
    if (!(error instanceof PageTokenExpired)) throw error;
    return listPages(transport, path, options, undefined);
  }
}

class PageTokenExpired extends Error {}

async function listPages<T>(
  transport: Pick<KubernetesTransport, 'request'>,
  path: string,
  options: ListOptions<T>,
  limit: number | undefined,
): Promise<{ items: T[]; version: string }> {
  const { labelSelector, timeoutMs, signal } = options;
  const items: T[] = [];
  let token: string | undefined;
  for (;;) {
    const query = { labelSelector, limit, continue: token };
    const page = await requestPage(transport, path, query, { timeoutMs, signal });
    for (const raw of page.items ?? []) items.push(options.convert(raw));
    const version = page.metadata?.resourceVersion;
    if (version === undefined || version === '')
      throw new KubernetesApiError('unavailable', `the list of ${path} has no resource version`);
    token = page.metadata?.continue;
    // The version of every page is that of the first: all of them show one moment.
    if (token === undefined || token === '') return { items, version };
  }
}

async function requestPage(
  transport: Pick<KubernetesTransport, 'request'>,
  path: string,
  query: { continue: string | undefined; limit: number | undefined; labelSelector: string | undefined },
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<ListPage> {
  try {
    // No retries of its own: the reflector waits, with jitter, and starts anew.
    const { body } = await transport.request<ListPage>('GET', path, { query, retries: 0, ...options });
    return body;
  } catch (error) {
    if (query.continue !== undefined && error instanceof KubernetesApiError && error.expired)
      throw new PageTokenExpired('a page token has ended', { cause: error });
    throw error;
  }
}
