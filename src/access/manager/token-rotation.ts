import type { ServiceToken } from '../../resources/kinds.ts';
import { MAX_PREVIOUS_HASHES } from '../../resources/service-token.ts';
import { kubernetesTime } from '../../resources/time.ts';
import { ManagerError } from '../errors.ts';
import { acceptedPrevious, hashesOf, hashFields, type TokenHashes, withSecretKey } from '../service-token.ts';
import { expiryOf } from '../subjects.ts';

/** The token with another secret key in its status. @param options.by who gets it; undefined for the token itself @throws {ManagerError} conflict */
export function rotated(
  token: ServiceToken,
  secretKey: string,
  { now, graceMs, by }: { readonly now: number; readonly graceMs: number; readonly by: string | undefined },
): ServiceToken {
  const hashes = requireRotatable(token, now);
  const end = now + graceMs;
  const former = graceMs > 0 ? kubernetesTime(end) : undefined;
  const previousHashes = acceptedPrevious(former === undefined ? undefined : hashes, now).map((previous) =>
    former !== undefined && Date.parse(previous.validUntil) > end
      ? { hash: previous.hash, validUntil: former }
      : previous,
  );
  const [first] = previousHashes;
  if (first !== undefined && previousHashes.length >= MAX_PREVIOUS_HASHES) {
    throw new ManagerError(
      'conflict',
      `service token \`${token.metadata.name}\` has ${previousHashes.length} former secrets that are accepted, which is the maximum: rotate it after ${first.validUntil}, or with \`graceSeconds\` 0, which ends them`,
    );
  }
  const next = withSecretKey({ ...hashes, previousHashes }, secretKey, { now, formerUntil: former });
  const { previousHashes: _former, ...status } = token.status ?? {};
  return {
    ...token,
    status: {
      ...status,
      ...hashFields(next),
      rotatedAt: kubernetesTime(now),
      ...(by !== undefined && { rotatedBy: by }),
    },
  };
}

/** @throws {ManagerError} conflict */
function requireRotatable(token: ServiceToken, now: number): TokenHashes {
  const { metadata, spec } = token;
  const refuse = (why: string): ManagerError =>
    new ManagerError('conflict', `service token \`${metadata.name}\` cannot be rotated here: ${why}`);
  if (spec.secretName !== undefined) {
    throw refuse(
      'the operator writes it to a Kubernetes Secret, and rotates it when the annotation `olapwarden.io/rotate-at` of the ServiceToken changes',
    );
  }
  if (!(expiryOf(spec) > now)) throw refuse(`it expired at ${spec.expiresAt}: create another one`);
  const hashes = hashesOf(token);
  if (hashes === undefined) throw refuse('it has no secret yet: try again');
  return hashes;
}
