import { createHash } from 'node:crypto';

const RANDOM_BYTES = 15;
const HOLDER_LENGTH = 8;
/** Marks ids of results that the engine keeps. */
const CURSOR_MARK = 'n';
const REQUEST_ID = /^[0-9a-f]{8}-n?[0-9a-f]{30}$/;

/** Format of the engine's query ids; other values are not inserted into a path. */
export const ENGINE_ID = /^\d{1,40}$/;

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

/** Creates an id for a result whose rows the engine keeps. */
export function newCursorId(gatewayId: string, random: (bytes: number) => Uint8Array): string {
  return `${holderTag(gatewayId)}-${CURSOR_MARK}${Buffer.from(random(RANDOM_BYTES)).toString('hex')}`;
}

/** Whether the engine keeps the rows. @param requestId must satisfy `isRequestId` */
export function isCursorId(requestId: string): boolean {
  return requestId[HOLDER_LENGTH + 1] === CURSOR_MARK;
}

/** Whether the text has the form of an id. Valid ids are safe as file names. */
export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text);
}

/** @param requestId must satisfy `isRequestId` */
export function holderOf(requestId: string): string {
  return requestId.slice(0, HOLDER_LENGTH);
}
