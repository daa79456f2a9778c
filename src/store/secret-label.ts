import type { ResourceByKind, ResourceKind } from '../resources/kinds.ts';
import { LABELS } from '../resources/meta.ts';
import { StoreError } from './resource-store.ts';

/** Value of the label `olapwarden.io/part` on Secrets with the hash of a service token. */
export const SERVICE_TOKEN_PART = 'service-token';
/** Value of that label on Secrets with a service token itself (spec.secretName). A process that only makes access decisions need not read them. */
export const SERVICE_TOKEN_SECRET_PART = 'service-token-secret';

/** Label values of the Secrets in a store. Other Secrets are not read. */
export const SECRET_PARTS = [SERVICE_TOKEN_PART, SERVICE_TOKEN_SECRET_PART] as const;
export type SecretPart = (typeof SECRET_PARTS)[number];

/**
 * Adds the label by which the store selects Secrets, `service-token` where the object has none. Objects of other kinds are returned unchanged.
 *
 * @param parts label values that the store selects
 * @throws {StoreError} invalid
 */
export function withPartLabel<K extends ResourceKind>(
  kind: K,
  object: ResourceByKind[K],
  parts: readonly SecretPart[] = SECRET_PARTS,
): ResourceByKind[K] {
  if (kind !== 'Secret') return object;
  const part = object.metadata.labels?.[LABELS.part];
  if (parts.some((seen) => seen === part)) return object;
  if (part !== undefined) {
    const right = parts.map((seen) => `\`${seen}\``).join(', ');
    throw new StoreError(
      'invalid',
      `Secret \`${object.metadata.name}\`: the label \`${LABELS.part}\` is \`${part}\`; it must be ${right} or absent`,
    );
  }
  const labels = { ...object.metadata.labels, [LABELS.part]: SERVICE_TOKEN_PART };
  return { ...object, metadata: { ...object.metadata, labels } };
}
