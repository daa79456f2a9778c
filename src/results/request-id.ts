import { createHash } from 'node:crypto';

const RANDOM_BYTES = 15;
const HOLDER_LENGTH = 8;
/** An `n` marks a result whose rows an earlier build left in Pinot. Such ids stay valid, so that what is left of the result is listed and expires. */
const REQUEST_ID = /^[0-9a-f]{8}-n?[0-9a-f]{30}$/;

/** Identifies a gateway in an id: a short hash, so that ids do not reveal pod names. */
export function holderTag(gatewayId: string): string {
  return createHash('sha256').update(gatewayId).digest('hex').slice(0, HOLDER_LENGTH);
}

/**
 * Creates an id that contains the tag of the storing gateway and cannot be guessed.
 * @param random returns that many cryptographically secure bytes
 */
export function newRequestId(gatewayId: string, random: (bytes: number) => Uint8Array): string {
  return `${holderTag(gatewayId)}-${Buffer.from(random(RANDOM_BYTES)).toString('hex')}`;
}

/** Whether the text has the form of an id. Valid ids are safe as file names. */
export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text);
}

/** @param requestId must satisfy `isRequestId` */
export function holderOf(requestId: string): string {
  return requestId.slice(0, HOLDER_LENGTH);
}
