import type { SharedDocument } from '../store/shared-document.ts';
import type { KubernetesTransport } from './transport.ts';

const TIMEOUT_MS = 10_000;

interface ConfigMap {
  readonly metadata: { readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

/**
 * A key of an existing ConfigMap in the transport's namespace. Only this key is written, so labels and other keys stay. Needs the verbs `get`
 * and `patch` on this ConfigMap. The API server accepts about 1 MiB.
 */
export function configMapDocument(
  transport: Pick<KubernetesTransport, 'request' | 'namespace'>,
  name: string,
  key: string,
): SharedDocument {
  const path = `/api/v1/namespaces/${encodeURIComponent(transport.namespace)}/configmaps/${encodeURIComponent(name)}`;
  return {
    async read(signal) {
      const { body } = await transport.request<ConfigMap>('GET', path, { signal, timeoutMs: TIMEOUT_MS });
      return { text: body.data?.[key] ?? '', version: body.metadata.resourceVersion };
    },
    async write(text, version, signal) {
      await transport.request('PATCH', path, {
        body: { metadata: { resourceVersion: version }, data: { [key]: text } },
        contentType: 'application/merge-patch+json',
        signal,
        timeoutMs: TIMEOUT_MS,
      });
    },
  };
}
