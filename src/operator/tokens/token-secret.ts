import { formatBearerToken, parseBearerToken, type TokenKeys } from '../../access/service-token.ts';
import type { Secret, ServiceToken } from '../../resources/kinds.ts';
import { API_VERSION, GROUP, LABELS } from '../../resources/meta.ts';
import { SERVICE_TOKEN_SECRET_PART } from '../../store/secret-label.ts';
import type { Outcome } from '../controller/outcome.ts';

/** Whether the Secret belongs to this ServiceToken, and not to an earlier one of the same name. */
export function isOwnedBy(secret: Secret, token: ServiceToken): boolean {
  return (secret.metadata.ownerReferences ?? []).some(
    ({ kind, uid }) => kind === 'ServiceToken' && uid === token.metadata.uid,
  );
}

/**
 * Whether the Secret belongs to a ServiceToken of this name: for a folder of manifests, whose objects get new uids if its state is lost. Secrets of
 * deleted tokens are removed by the operator, at its start at the latest.
 */
export function isOwnedByName(secret: Secret, token: ServiceToken): boolean {
  return ownerName(secret) === token.metadata.name;
}

/** Name of the ServiceToken that owns the Secret; undefined for any other Secret. */
export function ownerName(secret: Secret): string | undefined {
  return secret.metadata.ownerReferences?.find(({ kind, apiVersion }) => {
    return kind === 'ServiceToken' && apiVersion.startsWith(`${GROUP}/`);
  })?.name;
}

/** The Secret with the token, named by `spec.secretName`, for Pods to mount. */
export function buildTokenSecret(owner: ServiceToken, name: string, keys: TokenKeys): Secret {
  const { name: ownerName, uid = '' } = owner.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      labels: { [LABELS.part]: SERVICE_TOKEN_SECRET_PART, [LABELS.managedBy]: 'olap-warden' },
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'ServiceToken', name: ownerName, uid, controller: true }],
    },
    type: 'Opaque',
    data: encode(keys),
  };
}

/** The token in the Secret; undefined if it is invalid. */
export function readTokenSecret(secret: Secret): TokenKeys | undefined {
  const decode = (key: string): string => Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
  return parseBearerToken(formatBearerToken({ accessKey: decode('accessKey'), secretKey: decode('secretKey') }));
}

/** Also used for a Secret that exists although the operator, which cannot read it, has not created it. */
export function secretNotOwned(name: string): Outcome {
  return {
    class: 'stalled',
    reason: 'SecretNotOwned',
    message: `Secret \`${name}\` exists and does not belong to this ServiceToken, so it is not replaced: delete that Secret, or create a ServiceToken with another spec.secretName`,
  };
}

function encode(keys: TokenKeys): Record<string, string> {
  const values = { ...keys, bearerToken: formatBearerToken(keys) };
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
}
