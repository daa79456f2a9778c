import type { Transform } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import type { PaginationSettings } from '../../../results/settings.ts';
import type { Exchange } from './exchange.ts';

/** A content coding of responses. */
export type Coding = 'zstd' | 'gzip';

/** Shorter responses are sent as they are: compressing them costs more than it saves. */
export const MIN_COMPRESSED_BYTES = 16 * 1024;
/** Memory of a compression: its window, tables and buffers. */
export const CODING_BYTES = 2 * 1024 * 1024;

/** In the order of preference: zstd is several times as fast. */
const CODINGS: readonly Coding[] = ['zstd', 'gzip'];

/** Fast levels, because the client waits for the response. */
const COMPRESSORS: Readonly<Record<Coding, () => Transform>> = {
  gzip: () => createGzip({ level: constants.Z_BEST_SPEED }),
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
};

export function compressor(coding: Coding): Transform {
  return COMPRESSORS[coding]();
}

/**
 * The coding of a response by `Accept-Encoding` (RFC 9110 section 12.5.3). A part that is requested by `Range` is a part of the uncompressed response. HTTP/1.0 has no
 * chunks, so its clients could not detect an incomplete response.
 * @param length bytes of the response; undefined if it is not known yet
 * @returns undefined for an uncompressed response
 */
export function codingFor(
  exchange: Exchange,
  length: number | undefined,
  { compression }: Pick<PaginationSettings, 'compression'>,
): Coding | undefined {
  if (!compression) return undefined;
  const { 'accept-encoding': accepted, range } = exchange.headers;
  if (accepted === undefined || range !== undefined || exchange.request.httpVersion === '1.0') return undefined;
  return length !== undefined && length < MIN_COMPRESSED_BYTES ? undefined : acceptedCoding(accepted);
}

/** @param header value of `Accept-Encoding` */
export function acceptedCoding(header: string): Coding | undefined {
  const qualities = new Map<string, number>();
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    qualities.set(name === 'x-gzip' ? 'gzip' : name, qualityOf(parameters));
  }
  const others = qualities.get('*') ?? 0;
  let best: Coding | undefined;
  // The client prefers an uncompressed response where that has a higher quality.
  let quality = qualities.get('identity') ?? 0;
  for (const coding of CODINGS) {
    const own = qualities.get(coding) ?? others;
    if (own > 0 && (best === undefined ? own >= quality : own > quality)) {
      best = coding;
      quality = own;
    }
  }
  return best;
}

const QUALITY = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** 1 without a quality; 0, not accepted, for one that is not valid. */
function qualityOf(parameters: readonly string[]): number {
  const written = parameters.find((parameter) => parameter.startsWith('q'));
  return written === undefined ? 1 : Number(QUALITY.exec(written)?.[1] ?? 0);
}
