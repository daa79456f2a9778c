import type { ResourceByKind, ResourceKind } from '../resources/kinds.ts';
import { LABELS } from '../resources/meta.ts';
import { StoreError } from './resource-store.ts';

/** Value of the label `olapwarden.io/part` on Secrets with the hash of a service token, which version 0.1 wrote. */
export const LEGACY_HASH_PART = 'service-token';
/** Value of that label on Secrets with a service token (spec.secretName). */
export const SERVICE_TOKEN_SECRET_PART = 'service-token-secret';
/** Value of that label on the Secret with the keys of the dashboard sessions. */
export const SESSION_KEY_PART = 'session-key';

const SECRET_PARTS = [LEGACY_HASH_PART, SERVICE_TOKEN_SECRET_PART, SESSION_KEY_PART] as const;

/** Whether the Secret is one of olap-warden's. */
export function hasPartLabel({ metadata }: ResourceByKind['Secret']): boolean {
  return SECRET_PARTS.some((part) => metadata.labels?.[LABELS.part] === part);
}

/**
 * Checks the label of a Secret to be written. Other kinds have none.
 * @throws {StoreError} invalid
 */
export function requirePartLabel<K extends ResourceKind>(kind: K, object: ResourceByKind[K]): void {
  if (kind !== 'Secret' || hasPartLabel(object as ResourceByKind['Secret'])) return;
  const right = SECRET_PARTS.map((part) => `\`${part}\``).join(' or ');
  const found = object.metadata.labels?.[LABELS.part];
  throw new StoreError(
    'invalid',
    `Secret \`${object.metadata.name}\`: the label \`${LABELS.part}\` is ${found === undefined ? 'missing' : `\`${found}\``}; it must be ${right}`,
  );
}
