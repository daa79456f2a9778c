import type { ObjectMeta } from '../resources/meta.ts';
import type { KubernetesTransport } from './transport.ts';
import { StoreError } from '../store/resource-store.ts';

const API_VERSION = 'openreports.io/v1alpha1';
const TIMEOUT_MS = 10_000;

/** A Report of openreports.io as the API server sends it. */
export interface StoredOpenReport {
  readonly metadata: Readonly<ObjectMeta>;
  readonly [field: string]: unknown;
}

/** Reports of openreports.io in the transport's namespace. Each call ends within ten seconds. @throws {StoreError} */
export interface OpenReports {
  /** @returns undefined if the Report does not exist, or its API is not installed */
  read(name: string, signal: AbortSignal): Promise<StoredOpenReport | undefined>;
  /** @throws {StoreError} `not-found` if the API is not installed */
  create(metadata: ObjectMeta, content: object, signal: AbortSignal): Promise<void>;
  /** Replaces the version that the metadata names. */
  replace(metadata: ObjectMeta, content: object, signal: AbortSignal): Promise<void>;
}

export function kubernetesOpenReports(transport: KubernetesTransport): OpenReports {
  const { namespace } = transport;
  const collection = `/apis/${API_VERSION}/namespaces/${encodeURIComponent(namespace)}/reports`;
  const path = (name: string) => `${collection}/${encodeURIComponent(name)}`;
  const options = (signal: AbortSignal) => ({ timeoutMs: TIMEOUT_MS, signal });
  const object = (metadata: ObjectMeta, content: object) => ({
    ...content,
    apiVersion: API_VERSION,
    kind: 'Report',
    metadata: { ...metadata, namespace },
  });
  return {
    async read(name, signal) {
      try {
        return (await transport.request<StoredOpenReport>('GET', path(name), options(signal))).body;
      } catch (error) {
        if (error instanceof StoreError && error.code === 'not-found') return undefined;
        throw error;
      }
    },
    async create(metadata, content, signal) {
      await transport.request('POST', collection, { body: object(metadata, content), ...options(signal) });
    },
    async replace(metadata, content, signal) {
      await transport.request('PUT', path(metadata.name), { body: object(metadata, content), ...options(signal) });
    },
  };
}
