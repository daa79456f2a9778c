import type { ResourceByKind, ResourceKind } from '../resources/kinds.ts';
import { LABELS } from '../resources/meta.ts';
import { StoreError } from './resource-store.ts';

/** Value of the label `olapwarden.io/part` on Secrets with the hash of a service token. */
export const SERVICE_TOKEN_PART = 'service-token';
/** Value of that label on Secrets with a service token itself, as spec.secretName names them: what only decides does not need to see them. */
export const SERVICE_TOKEN_SECRET_PART = 'service-token-secret';

/** The Secrets that a store may see, by their label; it sees no other Secret. */
export const SECRET_PARTS = [SERVICE_TOKEN_PART, SERVICE_TOKEN_SECRET_PART] as const;
export type SecretPart = (typeof SECRET_PARTS)[number];

/**
 * The object with the label that keeps a Secret in the store's sight (that of a hash where it has none); objects of other kinds as they are.
 *
 * @param parts the Secrets that the store sees
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
      `Secret \`${object.metadata.name}\`: the label \`${LABELS.part}\` is \`${part}\`; it must be ${right} or missing`,
    );
  }
  const labels = { ...object.metadata.labels, [LABELS.part]: SERVICE_TOKEN_PART };
  return { ...object, metadata: { ...object.metadata, labels } };
}
