import type { Transform } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import type { PaginationSettings } from '../../../results/settings.ts';
import { acceptedCoding, type Coding, MIN_COMPRESSED_BYTES } from '../../server/content-coding.ts';
import type { Exchange } from './exchange.ts';

/** Memory of a compression: its window, tables and buffers. */
export const CODING_BYTES = 2 * 1024 * 1024;

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
