import type { ResourceStore } from '../store/resource-store.ts';
import { createdBy, isManagedByRest } from './manager/views.ts';
import { parseSrnOf } from './policy/srn.ts';

/** A longer chain of tokens that create tokens counts as one whose beginning is gone. */
const MAX_CHAIN = 16;

/** Tokens whose creator is a token that was deleted: together, so that a caller does not get more by creating and deleting tokens. */
const ORPHANS = 'service tokens whose creators were deleted';

/**
 * Who is responsible for what a caller does: of a service token that REST created, who got its secret last, by rotating or creating it, also through
 * tokens in between; of any other caller, itself.
 * @param srn of the caller
 */
export function responsibleFor(store: Pick<ResourceStore, 'get'>, srn: string): string {
  let responsible = srn;
  for (let length = 0; length < MAX_CHAIN; length++) {
    const name = parseSrnOf('service-token', responsible);
    if (!name.ok) return responsible;
    const token = store.get('ServiceToken', name.value);
    if (token === undefined) return length === 0 ? responsible : ORPHANS;
    if (!isManagedByRest(token.metadata)) return responsible;
    responsible = token.status?.rotatedBy ?? createdBy(token.metadata);
  }
  return ORPHANS;
}
