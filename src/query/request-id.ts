import { createHash } from 'node:crypto';

const RANDOM_BYTES = 15;
const HOLDER_LENGTH = 8;
/** Marks the ids of results that the engine itself keeps. */
const CURSOR_MARK = 'n';
const REQUEST_ID = /^[0-9a-f]{8}-n?[0-9a-f]{30}$/;

/** The engine's own ids of queries are numbers; nothing else is put into a path. */
export const ENGINE_ID = /^\d{1,40}$/;

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

/** The same for a result whose rows the engine keeps in a cursor of its own. */
export function newCursorId(gatewayId: string, random: (bytes: number) => Uint8Array): string {
  return `${holderTag(gatewayId)}-${CURSOR_MARK}${Buffer.from(random(RANDOM_BYTES)).toString('hex')}`;
}

/** Whether the rows lie at the engine. @param requestId one that `isRequestId` accepts */
export function isCursorId(requestId: string): boolean {
  return requestId[HOLDER_LENGTH + 1] === CURSOR_MARK;
}

/** False for anything that no gateway ever gave out; what is true is safe in a file name. */
export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text);
}

/** @param requestId one that `isRequestId` accepts */
export function holderOf(requestId: string): string {
  return requestId.slice(0, HOLDER_LENGTH);
}
