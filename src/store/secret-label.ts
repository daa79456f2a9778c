import type { ResourceByKind, ResourceKind } from '../resources/kinds.ts';
import { LABELS } from '../resources/meta.ts';
import { StoreError } from './resource-store.ts';

/** Value of the label `olapwarden.io/part` of every Secret in a store: a store sees no other Secret. */
export const SERVICE_TOKEN_PART = 'service-token';

/** The object with the label that keeps a Secret in the store's sight; objects of other kinds as they are. @throws {StoreError} invalid */
export function withPartLabel<K extends ResourceKind>(kind: K, object: ResourceByKind[K]): ResourceByKind[K] {
  if (kind !== 'Secret') return object;
  const part = object.metadata.labels?.[LABELS.part];
  if (part === SERVICE_TOKEN_PART) return object;
  if (part !== undefined)
    throw new StoreError(
      'invalid',
      `Secret \`${object.metadata.name}\`: the label \`${LABELS.part}\` is \`${part}\`; it must be \`${SERVICE_TOKEN_PART}\` or missing`,
    );
  const labels = { ...object.metadata.labels, [LABELS.part]: SERVICE_TOKEN_PART };
  return { ...object, metadata: { ...object.metadata, labels } };
}
