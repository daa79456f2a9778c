import { createHash } from 'node:crypto';

const RANDOM_BYTES = 15;
const HOLDER_LENGTH = 8;
const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{30}$/;

/** What an id says of the gateway that made it: a short hash, so that the id does not tell the names of pods. */
export function holderTag(gatewayId: string): string {
  return createHash('sha256').update(gatewayId).digest('hex').slice(0, HOLDER_LENGTH);
}

/**
 * An id that tells which gateway holds the result, and that nobody can guess.
 * @param random a cryptographically secure source of that many bytes
 */
export function newRequestId(gatewayId: string, random: (bytes: number) => Uint8Array): string {
  return `${holderTag(gatewayId)}-${Buffer.from(random(RANDOM_BYTES)).toString('hex')}`;
}

/** False for anything that no gateway ever gave out; what is true is safe in a file name. */
export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text);
}

/** @param requestId one that `isRequestId` accepts */
export function holderOf(requestId: string): string {
  return requestId.slice(0, HOLDER_LENGTH);
}
