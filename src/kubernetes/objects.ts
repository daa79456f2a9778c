import { KINDS, type CustomKind, type ResourceByKind, type ResourceKind } from '../resources/kinds.ts';
import { API_VERSION, GROUP, VERSION, type ObjectMeta } from '../resources/meta.ts';

/** The path of a kind in the Kubernetes API. */
export interface ApiResource<K extends ResourceKind = ResourceKind> {
  readonly kind: K;
  readonly apiVersion: string;
  /** The name in messages and metrics, such as `roles.olapwarden.io`. */
  readonly name: string;
  /** Path of the collection in the namespace. */
  readonly path: string;
}

export function apiResource<K extends ResourceKind>(kind: K, namespace: string): ApiResource<K> {
  const within = `namespaces/${encodeURIComponent(namespace)}`;
  if (kind === 'Secret') {
    return { kind, apiVersion: 'v1', name: 'secrets', path: `/api/v1/${within}/secrets` };
  }
  const { plural } = KINDS[kind as CustomKind];
  return {
    kind,
    apiVersion: API_VERSION,
    name: `${plural}.${GROUP}`,
    path: `/apis/${GROUP}/${VERSION}/${within}/${plural}`,
  };
}

/** An object as the API sends it. Items of a list may lack `apiVersion` and `kind`. */
export interface RawObject {
  readonly metadata?: Readonly<ObjectMeta>;
  readonly [field: string]: unknown;
}

/**
 * The object as olap-warden stores it. `fieldsV1` of the managed fields is dropped: it is most of a small object and not used.
 * `apiVersion` and `kind` are set to shared constants, to save a copy of each in every object.
 */
export function fromApi<K extends ResourceKind>(raw: RawObject, resource: ApiResource<K>): ResourceByKind[K] {
  const metadata: Record<string, unknown> = { ...raw.metadata };
  if (raw.metadata?.managedFields !== undefined)
    metadata['managedFields'] = raw.metadata.managedFields.map(({ manager, operation, time, subresource }) => ({
      manager,
      operation,
      time,
      subresource,
    }));
  return { ...raw, apiVersion: resource.apiVersion, kind: resource.kind, metadata } as unknown as ResourceByKind[K];
}

/** The body of a create or an update, without the metadata that the server sets. */
export function toApi<K extends ResourceKind>(object: ResourceByKind[K], resource: ApiResource<K>): object {
  const { name, namespace, uid, resourceVersion, labels, annotations, finalizers, ownerReferences } = object.metadata;
  const metadata = { name, namespace, uid, resourceVersion, labels, annotations, finalizers, ownerReferences };
  return { ...object, apiVersion: resource.apiVersion, kind: resource.kind, metadata };
}
