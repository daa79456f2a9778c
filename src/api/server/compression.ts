import { promisify } from 'node:util';
import { constants, gzip, zstdCompress } from 'node:zlib';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { acceptedCoding, type Coding, MIN_COMPRESSED_BYTES } from './content-coding.ts';

/** Fast levels, because the client waits for the response. Both run outside of the event loop. */
const COMPRESS: Readonly<Record<Coding, (text: string) => Promise<Buffer>>> = {
  gzip: (text) => promisify(gzip)(text, { level: constants.Z_BEST_SPEED }),
  zstd: (text) => promisify(zstdCompress)(text, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
};

/**
 * Compresses long texts that a GET returns, such as the health report and lists, as `Accept-Encoding` allows. Responses to writes stay as they are,
 * because they can contain a credential, and so do those with an ETag, which names the exact bytes. Streams are not compressed here.
 */
export function registerCompression(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.method !== 'GET' || typeof payload !== 'string' || !isCompressible(reply, payload)) return payload;
    reply.header('vary', 'accept-encoding');
    const accepted = request.headers['accept-encoding'];
    const coding = accepted === undefined || request.headers.range !== undefined ? undefined : acceptedCoding(accepted);
    if (coding === undefined) return payload;
    const compressed = await COMPRESS[coding](payload);
    reply.header('content-encoding', coding).removeHeader('content-length');
    return compressed;
  });
}

function isCompressible(reply: FastifyReply, text: string): boolean {
  // The number of characters is at most that of bytes.
  if (reply.statusCode !== 200 || text.length < MIN_COMPRESSED_BYTES) return false;
  if (['etag', 'content-encoding', 'vary'].some((name) => reply.hasHeader(name))) return false;
  return /^(?:application\/json|text\/)/.test(String(reply.getHeader('content-type') ?? ''));
}
