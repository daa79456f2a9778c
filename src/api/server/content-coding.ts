import { qualityOf } from '../../platform/quality.ts';

/** A content coding of responses. */
export type Coding = 'zstd' | 'gzip';

/** Shorter responses are sent as they are: compressing them costs more than it saves. */
export const MIN_COMPRESSED_BYTES = 16 * 1024;

/** In the order of preference: zstd is several times as fast. */
const CODINGS: readonly Coding[] = ['zstd', 'gzip'];

export function acceptedCoding(header: string): Coding | undefined;
/**
 * @param header value of `Accept-Encoding`
 * @param codings in the order of preference
 */
export function acceptedCoding<T extends string>(header: string, codings: readonly T[]): T | undefined;
export function acceptedCoding(header: string, codings: readonly string[] = CODINGS): string | undefined {
  const qualities = new Map<string, number>();
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    qualities.set(name === 'x-gzip' ? 'gzip' : name, qualityOf(parameters));
  }
  const others = qualities.get('*') ?? 0;
  let best: string | undefined;
  // The client prefers an uncompressed response where that has a higher quality.
  let quality = qualities.get('identity') ?? 0;
  for (const coding of codings) {
    const own = qualities.get(coding) ?? others;
    if (own > 0 && (best === undefined ? own >= quality : own > quality)) {
      best = coding;
      quality = own;
    }
  }
  return best;
}
