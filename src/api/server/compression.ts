import { pipeline, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import { constants, createGzip, createZstdCompress, gzip, zstdCompress } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptedCoding, type Coding, MIN_COMPRESSED_BYTES } from './content-coding.ts';

/** Fast levels, because the client waits for the response. All of them run outside of the event loop. */
const GZIP = { level: constants.Z_BEST_SPEED } as const;
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } } as const;

const COMPRESS: Readonly<Record<Coding, (text: string) => Promise<Buffer>>> = {
  gzip: (text) => promisify(gzip)(text, GZIP),
  zstd: (text) => promisify(zstdCompress)(text, ZSTD),
};

/**
 * Compresses long texts that a GET returns, such as the health report and lists, as `Accept-Encoding` allows. Responses to writes stay as they are,
 * because they can contain a credential, and so do those with an ETag, which names the exact bytes. Streams are compressed only by `compressedStream`.
 */
export function registerCompression(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (!isRead(request) || typeof payload !== 'string' || !isCompressible(reply, payload)) return payload;
    const coding = chosenCoding(request, reply);
    if (coding === undefined) return payload;
    const compressed = await COMPRESS[coding](payload);
    reply.header('content-encoding', coding).removeHeader('content-length');
    return compressed;
  });
}

/** The same for a long text that a GET returns as a stream. */
export function compressedStream(request: FastifyRequest, reply: FastifyReply, text: Readable): Readable {
  if (!isRead(request) || !isCompressibleType(reply)) return text;
  const coding = chosenCoding(request, reply);
  if (coding === undefined) return text;
  void reply.header('content-encoding', coding);
  // An error of one of them ends both, and Fastify hears of it by the stream that it sends.
  return pipeline(text, coding === 'gzip' ? createGzip(GZIP) : createZstdCompress(ZSTD), () => undefined);
}

/** A HEAD has the head of the GET. */
function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

function chosenCoding({ headers }: FastifyRequest, reply: FastifyReply): Coding | undefined {
  void reply.header('vary', 'accept-encoding');
  const accepted = headers['accept-encoding'];
  return accepted === undefined || headers.range !== undefined ? undefined : acceptedCoding(accepted);
}

function isCompressible(reply: FastifyReply, text: string): boolean {
  // The number of characters is at most that of bytes.
  if (reply.statusCode !== 200 || text.length < MIN_COMPRESSED_BYTES) return false;
  return isCompressibleType(reply);
}

function isCompressibleType(reply: FastifyReply): boolean {
  if (['etag', 'content-encoding', 'vary'].some((name) => reply.hasHeader(name))) return false;
  return /^(?:application\/json|text\/)/.test(String(reply.getHeader('content-type') ?? ''));
}
