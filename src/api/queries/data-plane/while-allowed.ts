import type { ResultRecord } from '../../../results/result-store.ts';
import { HttpError } from '../../server/errors.ts';
import { requireRead } from '../access.ts';
import type { Exchange } from './exchange.ts';

/** Interval at which the rights of a caller are checked while it downloads, as of one with asynchronous queries. */
const CHECK_MS = 5_000;

/**
 * The pieces of a download for as long as its caller may read the result: one that reads slowly must not read on for hours after its rights were revoked.
 * @throws {HttpError} 403 in the middle, after at most one more piece
 */
export async function* whileAllowed(
  exchange: Exchange,
  record: ResultRecord,
  pieces: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  let checkedAt = exchange.monotonic();
  for await (const piece of pieces) {
    const now = exchange.monotonic();
    if (now - checkedAt >= CHECK_MS) {
      checkedAt = now;
      const { principal, server } = exchange;
      if (!server.authorizer.isActive(principal))
        throw new HttpError(403, 'the service token was deleted or has expired during the download');
      requireRead(exchange, record);
    }
    yield piece;
  }
}
